// The plan of a target, page by page, so that memory does not grow with the source; and its items. Writes nothing.
import { createHash } from 'node:crypto';
import { isChangeLog, kindOfKey, parentKey } from '../../model/key.ts';
import type { IndexedEntry } from '../../model/ledger-entry.ts';
import type { PlanFile, PlanFileItem } from '../../model/plan-file.ts';
import type { Target } from '../../model/redis-keys.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { type Completeness, type Stated, unprovenRemark } from '../../sources/gather/dataset-wish.ts';
import type { Manifest } from '../../sources/manifest/schema.ts';
import type { WishList } from '../../sources/wish-list.ts';
import type { Ledger } from '../../state/ledger.ts';
import { ownersOf, withKnownNames, withKnownUuids } from './known-wish.ts';
import {
  applyRenames,
  findMissing,
  guardVerdict,
  linkOf,
  type Missing,
  type Removal,
  type Rename,
  type Sparing,
  sparing,
  spellingOf,
} from './missing.ts';
import { type KnownState, type Observed, type PlannedDataset, planDataset, withChanges } from './plan.ts';

const removalsPerPage = 1000;

export interface TargetPlanOptions {
  ledger: Pick<Ledger, 'index' | 'entriesOf' | 'sentOf'>;
  target: Target;
  wishes: WishList;
  /** Keys that are planned; null for all. */
  only: readonly string[] | null;
  /** True for a plan of some wishes only, which cannot tell what is missing. */
  isLimited: boolean;
  /** True: everything is one page, because items are compared with each other. */
  isWhole: boolean;
  rules: Pick<Manifest, 'onMissing' | 'missingForMs' | 'guard'>;
  isReleased?: boolean;
  /** What the source says about what it does not name. */
  stated: Stated;
  /** Items that count for the guard; all by default. */
  isCounted?: (key: string) => boolean;
  /** Unix milliseconds. */
  now: number;
  /** Observes the files of wishes; with `leavesNew` it may leave those of new ones to their jobs. */
  observe: (wishes: DatasetWish[], entries: KnownState['entries'], leavesNew: boolean) => Promise<Observed>;
}

export interface PlannedPage {
  /** The wishes with the uuids of their nodes; one for each of `datasets`. */
  wishes: DatasetWish[];
  datasets: PlannedDataset[];
  removals: Removal[];
  known: KnownState;
  /** Keys of all resources of each dataset in the order of the source, also of those that are not planned. */
  order: ReadonlyMap<string, string[]>;
}

const nothingMissing = { renames: [], newlyMissing: [], returned: [], removals: [], staying: [], unproven: null };

export type TargetPlan = Awaited<ReturnType<typeof openTargetPlan>>;

export const openTargetPlan = async (options: TargetPlanOptions) => {
  const { ledger, target, wishes, only, isWhole, rules, observe, isCounted = () => true } = options;
  /** What is known of every key of the target. */
  const index: ReadonlyMap<string, IndexedEntry> = await ledger.index(target);
  let updates = 0;
  const heldBy = ({ removals }: Missing): string | null => {
    const known = [...index.values()].filter(({ nid, removed }) => nid !== null && !removed).length;
    const counted = removals.filter(({ key }) => isCounted(key)).length;
    return guardVerdict({ known, removals: counted, updates, wished: wishes.length }, rules.guard);
  };
  const found: Missing = options.isLimited ? nothingMissing : await missingOf(options, index);
  // What the guard holds may be very much: it is asked about once somebody has released it.
  const isAsked = found.removals.length > 0 && (options.isReleased || heldBy(found) === null);
  const missing = isAsked ? await withoutOffered(options, found) : found;
  const owners = ownersOf(index.values());
  /** By their former and their new key. */
  const renames = new Map<string, Rename>();
  for (const rename of missing.renames) {
    owners.set(rename.from.uuid, rename.to);
    renames.set(rename.from.key, rename).set(rename.to, rename);
  }
  const isStray = ({ key, nid }: IndexedEntry): boolean =>
    nid !== null && !wishes.keys.has(key) && kindOfKey(key) === 'resource';
  /** Keys of resources with a node that the source does not name, by dataset. */
  const strays = Map.groupBy(
    [...index.values()].flatMap((entry) => (isStray(entry) ? [entry.key] : [])),
    (key) => parentKey(key),
  );

  const renamesOf = (keys: Iterable<string>): Set<Rename> =>
    new Set([...keys].flatMap((key) => renames.get(key) ?? []));

  /** Ledger entries of wishes and removals, and of everything below the same datasets. */
  const entriesOf = async (wanted: DatasetWish[], removals: Removal[]): Promise<KnownState['entries']> => {
    const own = [...keysOf(wanted), ...removals.map(({ key }) => key)];
    const parents = [...wanted, ...removals].map(({ key }) => datasetOf(key));
    const renamed = [...renamesOf(own)].map(({ from }) => from.key);
    const keys = new Set([...own, ...renamed, ...parents, ...parents.flatMap((key) => strays.get(key) ?? [])]);
    const known = [...keys].filter((key) => index.has(key));
    return mapOf(known, await ledger.entriesOf(target.portal, known));
  };

  /** What was sent last for items with work, which most runs have few of; for all items of a plan that is one page. */
  const sentOf = async (datasets: PlannedDataset[]): Promise<KnownState['sent']> => {
    const keys = flatten(datasets)
      .filter(({ nid, actions }) => nid !== null && (isWhole || actions.length > 0))
      .map(({ key }) => key);
    const stored = keys.map((key) => renames.get(key)?.from.key ?? key);
    return mapOf(keys, await ledger.sentOf(target.portal, stored));
  };

  const pageOf = async (page: DatasetWish[], removals: Removal[]): Promise<PlannedPage> => {
    const wanted = limitTo(page, only);
    const entries = await entriesOf(wanted, removals);
    const looked = await observe(wanted, entries, missing.renames.length === 0);
    const observed = applyRenames(looked, [...renamesOf([...entries.keys(), ...keysOf(wanted)])]);
    const named = withKnownUuids(withKnownNames(wanted, looked), observed.entries, owners);
    const plans = named.map((wish) => ({ wish, planned: planDataset(wish, observed) }));
    const known = { ...observed, sent: await sentOf(plans.map(({ planned }) => planned)) };
    const datasets = plans.map(({ wish, planned }) => withChanges(planned, wish, known));
    const isUpdate = ({ actions }: PlanFileItem) => actions.some((action) => action !== 'verify' && action !== 'fetch');
    updates += flatten(datasets).filter((item) => item.nid !== null && isCounted(item.key) && isUpdate(item)).length;
    const order = new Map(page.map(({ key, resources }) => [key, resources.map((each) => each.key)]));
    return { wishes: named, datasets, removals, known, order };
  };

  /** The parts of the plan: datasets in the order of the source, then removals in others. */
  async function* pages(): AsyncGenerator<PlannedPage> {
    const removals = Map.groupBy(missing.removals, ({ key }) => datasetOf(key));
    if (isWhole) {
      yield await pageOf(await wishes.all(), missing.removals);
      return;
    }
    for await (const page of wishes.pages()) {
      const own = page.flatMap(({ key }) => removals.get(key) ?? []);
      for (const { key } of page) removals.delete(key);
      const planned = await pageOf(page, own);
      if (planned.wishes.length > 0 || own.length > 0) yield planned;
    }
    let rest: Removal[] = [];
    for (const some of removals.values()) {
      rest.push(...some);
      if (rest.length < removalsPerPage) continue;
      yield await pageOf([], rest);
      rest = [];
    }
    if (rest.length > 0) yield await pageOf([], rest);
  }

  return {
    index,
    missing,
    pages,
    remarks: [...(missing.unproven === null ? [] : [unprovenRemark(missing.unproven)]), ...(missing.offered ?? [])],

    /** Why the guard holds the plan, or null; known after the last page. */
    held: () => heldBy(missing),
  };
};

export const flatten = (datasets: PlannedDataset[]): PlanFileItem[] =>
  datasets.flatMap(({ resources, ...dataset }) => [dataset, ...resources]);

/** Items of the plan file: those of the wishes, then removals. */
export const planFileItems = (datasets: PlannedDataset[], removals: readonly Removal[]): PlanFile['items'] => [
  ...flatten(datasets),
  ...removals.map(({ key, kind, how, entry: { title, uuid, nid, vid } }) => ({
    key,
    kind,
    title,
    uuid,
    nid,
    vid,
    actions: [how],
    why: 'the manifest no longer names it',
    bytes: 0,
    changes: [],
    metadata: null,
    sha256: null,
  })),
];

/** Totals of a plan whose items come in parts: actions by name, bytes to send, and a hash over what is wanted. */
export const planTotals = () => {
  const totals: PlanFile['totals'] = { actions: {}, bytes: 0 };
  const wanted = createHash('sha256');
  let count = 0;
  return {
    totals,
    count: (): number => count,

    add: (items: PlanFile['items']): void => {
      count += items.length;
      for (const item of items) {
        totals.bytes += item.bytes;
        for (const action of item.actions.length > 0 ? item.actions : ['none'])
          totals.actions[action] = (totals.actions[action] ?? 0) + 1;
        if (item.metadata !== null) wanted.update(`${item.key} ${item.metadata} ${item.sha256 ?? ''}\n`);
      }
    },

    /** sha256 over the metadata of all wishes and the bytes of all files; nothing can be added after it. */
    hash: (): string => wanted.digest('hex'),
  };
};

const keysOf = (wishes: readonly DatasetWish[]): string[] =>
  wishes.flatMap((wish) => [wish, ...wish.resources]).map(({ key }) => key);

/** What the ledger knows and the source no longer names, and what it names again. */
const missingOf = async (options: TargetPlanOptions, index: ReadonlyMap<string, IndexedEntry>): Promise<Missing> => {
  const { ledger, target, wishes, rules, now, stated } = options;
  const sparesBy = (complete: Completeness): Sparing => {
    const unnamed = sparing({ ...stated, complete }, (key) => index.has(key));
    return (key) => (wishes.keys.has(key) ? 'certain' : unnamed(key));
  };
  let { complete } = stated;
  let spares = sparesBy(complete);
  const isGone = ({ key, nid, removed }: IndexedEntry): boolean =>
    nid !== null && removed !== 'delete' && spares(key) !== 'certain';
  const isDue = (entry: IndexedEntry): boolean => isGone(entry) && !entry.removed && spares(entry.key) === 'none';
  if (rules.onMissing !== 'keep' && stated.confirm && index.values().some(isDue)) {
    complete = await stated.confirm();
    spares = sparesBy(complete);
  }
  const unproven = complete === true ? null : complete;
  const gone = [...index.values().filter(isGone)];
  const returned = index.values().filter(({ key, missingSince }) => missingSince !== null && spares(key) !== 'none');
  const keys = new Set([...gone, ...returned].map(({ key }) => key));
  if (keys.size === 0) return { ...nothingMissing, unproven };
  const around = gone.length === 0 ? [] : await aroundGone(options, index, gone);
  for (const key of keysOf(around)) keys.add(key);
  const knownKeys = [...keys].filter((key) => index.has(key));
  const goneKeys = gone.map(({ key }) => key);
  const entries = mapOf(knownKeys, await ledger.entriesOf(target.portal, knownKeys));
  const sent = mapOf(goneKeys, around.length === 0 ? [] : await ledger.sentOf(target.portal, goneKeys));
  const isFree = ({ key }: { key: string }): boolean => !index.get(key)?.nid;
  const free = around.map((wish) => ({ ...wish, resources: wish.resources.filter(isFree) }));
  const { sources } = await options.observe(free, entries, false);
  const { onMissing, missingForMs } = rules;
  const known = { entries, sources, sent };
  return { ...findMissing(withKnownNames(around, known), known, { onMissing, missingForMs, now, spares }), unproven };
};

/** Of how many datasets a server is asked at most: it may allow one request a second. */
const mostAsked = 30;

/** What is missing, without the removal of datasets that the server of their source still shows. */
const withoutOffered = async ({ ledger, target, stated }: TargetPlanOptions, missing: Missing): Promise<Missing> => {
  const [removals, staying, offered]: [Removal[], string[], string[]] = [[], [...missing.staying], []];
  const whyOffered = async ({ title, key, identifier, alias }: Removal['entry'], at: number) => {
    if (at >= mostAsked) return offered.length > 0 ? 'its server was not asked, and still shows others' : null;
    const [sent] = stated.offered ? await ledger.sentOf(target.portal, [key]) : [];
    const names = [identifier, alias, linkOf(sent?.fields.field_landing_page)].filter((name) => name !== null);
    return stated.offered?.(title, names);
  };
  let asked = 0;
  for (const [dataset, all] of Map.groupBy(missing.removals, ({ key }) => datasetOf(key))) {
    const own = all.find(({ key }) => key === dataset);
    const why = own && (await whyOffered(own.entry, asked++));
    if (why) offered.push(`${dataset} stays, although the source no longer names it: ${why}`);
    if (why) staying.push(...all.map(({ key }) => key));
    else removals.push(...all);
  }
  return { ...missing, removals, staying, offered };
};

/** Datasets, each with all its resources, in which something that is gone may continue under another key. */
const aroundGone = async (
  { wishes }: TargetPlanOptions,
  index: ReadonlyMap<string, IndexedEntry>,
  gone: readonly IndexedEntry[],
): Promise<DatasetWish[]> => {
  const uuids = new Set(gone.map(({ uuid }) => uuid));
  const parents = new Set(gone.map(({ key }) => datasetOf(key)));
  const spelt = new Set(gone.flatMap(spellingOf));
  const found: DatasetWish[] = [];
  for await (const page of wishes.pages())
    for (const wish of page) {
      const isNear = parents.has(wish.key) || spellingOf(wish).some((each) => spelt.has(each));
      const isFree = (item: { key: string; uuid: string }): boolean =>
        !index.get(item.key)?.nid && (isNear || uuids.has(item.uuid));
      if ([wish, ...wish.resources].some(isFree)) found.push(wish);
    }
  return found;
};

/** The wishes a limited run is for: named resources with the change log of their dataset, named datasets with all of theirs. */
const limitTo = (wishes: DatasetWish[], only: readonly string[] | null): DatasetWish[] => {
  if (only === null) return wishes;
  const keys = new Set(only);
  return wishes.flatMap((wish) => {
    if (keys.has(wish.key)) return [wish];
    const resources = wish.resources.filter(({ key }) => keys.has(key) || isChangeLog(key));
    return resources.some(({ key }) => keys.has(key)) ? [{ ...wish, resources }] : [];
  });
};

const datasetOf = (key: string): string => (kindOfKey(key) === 'resource' ? parentKey(key) : key);

const mapOf = <T>(keys: readonly string[], values: readonly (T | null)[]): Map<string, T> =>
  new Map(keys.flatMap((key, at) => (values[at] ? [[key, values[at]] as const] : [])));

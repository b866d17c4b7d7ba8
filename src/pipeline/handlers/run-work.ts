// The work of a run, made of its plan: one entry for each dataset and resource with something to do.
import { maxPageSize } from '../../dataset-api/paths.ts';
import { DiscardedError, reasonOf } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import { kindOfKey, parentKey, resourceKey } from '../../model/key.ts';
import { type LedgerEntry, newEntry, outcomeOf } from '../../model/ledger-entry.ts';
import type { OnDrift } from '../../model/policy.ts';
import type { Reason, ReportItem } from '../../model/report.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import { guardOf } from '../../sources/manifest/resource-keys.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { DatasetWork, RunWork } from '../../state/run-work.ts';
import { isLate, isRefusedFile } from '../plan/known-wish.ts';
import type { Removal } from '../plan/missing.ts';
import type { PlannedDataset } from '../plan/plan.ts';
import { withDecision } from '../plan/table-guard.ts';
import type { PlannedPage } from '../plan/target-plan.ts';
import type { Gathered } from './deps.ts';
import { itemOfEntry } from './item.ts';

interface WorkOptions {
  onDrift: OnDrift;
  createMissing: boolean;
  /** True for a run of a stored plan: a dataset without planned actions is not written, whatever is wanted now. */
  isPinned: boolean;
  /** Items that changed since that plan: they are reported as held. */
  moved: ReadonlyMap<string, Reason>;
}

const noWork = (): RunWork => ({ datasets: [], resources: [], settled: [], claims: [] });

export const workOfPage = (page: PlannedPage, how: WorkOptions): RunWork => {
  const work = noWork();
  const below = Map.groupBy(
    page.known.entries.values().filter(({ kind, nid }) => kind === 'resource' && nid !== null),
    ({ key }) => parentKey(key),
  );
  const removals = new Map(page.removals.map(({ key, how: removal }) => [key, removal]));
  const builder: Builder = { ...how, page, work, below, removals };
  for (const [at, wish] of page.wishes.entries()) {
    const planned = page.datasets[at];
    if (planned) addDataset(builder, wish, planned);
  }
  joinLookups(work.datasets);
  for (const removal of page.removals) remove(builder, removal);
  const handled = new Set([...work.settled.map(({ key }) => key), ...work.datasets.map(({ wish }) => wish.key)]);
  for (const key of how.moved.keys()) if (!handled.has(key)) settle(builder, { key, uuid: '', title: key });
  return work;
};

interface Builder extends WorkOptions {
  page: PlannedPage;
  work: RunWork;
  /** Entries of resources with a node, by dataset. */
  below: ReadonlyMap<string, LedgerEntry[]>;
  removals: ReadonlyMap<string, Removal['how']>;
}

const addDataset = (builder: Builder, wish: DatasetWish, planned: PlannedDataset): void => {
  const { page, work, isPinned, moved } = builder;
  const { resources: all, ...bare } = wish;
  const { entries, sources } = page.known;
  const busy: ResourceWish[] = [];
  for (const [at, resource] of all.entries()) {
    const { key } = resource;
    const why = planned.resources[at]?.why ?? null;
    settleClaim(builder, resource, why === null);
    if (why === null) settle(builder, resource);
    else {
      busy.push(resource);
      work.resources.push({ ...rulesOf(builder, key), wish: resource, why, source: sources.get(key) ?? null });
    }
  }
  if (planned.why === null && busy.length === 0) {
    settle(builder, wish);
    return;
  }
  const nid = entries.get(wish.key)?.nid ?? null;
  work.datasets.push({
    ...rulesOf(builder, wish.key),
    wish: bare,
    order: orderOf(builder, wish.key),
    nid,
    why: planned.why,
    resources: busy.map(({ key }) => key),
    next: [wish, ...busy].map(({ key, uuid }) => entries.get(key)?.uuid || uuid),
    // A node that is missing from the listing is checked as well.
    verify: planned.actions.includes('verify') || (nid !== null && planned.actions.includes('create')),
    frozen: isPinned && planned.actions.length === 0,
    refused: moved.get(wish.key) ?? null,
  });
};

const rulesOf = ({ onDrift, createMissing, removals }: Builder, key: string) => ({
  removal: removals.get(key) ?? null,
  onDrift,
  createMissing,
});

/** Settles a dropped file that needs no job, or that was discarded; a held one waits. */
const settleClaim = ({ page, work }: Builder, wish: ResourceWish, isSame: boolean): void => {
  const { key, source } = wish;
  if (source.kind !== 'file' || source.claim === undefined) return;
  const entry = page.known.entries.get(key);
  const isRefused = !!entry && isRefusedFile(entry, wish, page.known.sources.get(key)?.sha256 ?? '');
  const refused = isRefused ? entry.refused : null;
  if (refused?.guard === 'discarded') {
    const discarded = new DiscardedError(refused.reason.message, { hint: 'the previous version stays live' });
    work.claims.push({ claim: source.claim, reason: reasonOf(discarded) });
  } else if (isSame)
    work.claims.push({ claim: source.claim, reason: refused?.reason ?? null, fixes: entry?.fixes ?? [] });
};

/** Groups look-ups of datasets: the first of as many as one list request holds looks up the others as well. */
const joinLookups = (datasets: DatasetWork[]): void => {
  let first: DatasetWork | null = null;
  for (const dataset of datasets) {
    if (first && first.next.length + dataset.next.length <= maxPageSize) first.next.push(...dataset.next);
    else first = dataset;
  }
};

/** Adds a removal; that of a resource below the work on its dataset, whether that stays or goes. */
const remove = (builder: Builder, { key, kind, entry }: Removal): void => {
  const datasetKey = kind === 'dataset' ? key : parentKey(key);
  const dataset = removedFrom(builder, datasetKey);
  if (kind === 'dataset') return;
  const wish = { ...bareWish(entry), datasetKey, source: { kind: 'link', url: '' }, import: 'never' } as const;
  builder.work.resources.push({ ...rulesOf(builder, key), wish, source: null });
  dataset.resources.push(key);
};

/** The work on a dataset that goes, or of which resources go. */
const removedFrom = (builder: Builder, key: string): DatasetWork => {
  const { page, work } = builder;
  const there = work.datasets.find(({ wish }) => wish.key === key);
  if (there) return there;
  const entry = page.known.entries.get(key) ?? newEntry({ key, kind: 'dataset', uuid: '', title: key });
  const refused = work.settled.find((item) => item.key === key)?.reason ?? null;
  work.settled = work.settled.filter((item) => item.key !== key);
  const nothing = { nid: entry.nid, resources: [], next: [], verify: false, frozen: true, refused };
  const order = orderOf(builder, key);
  const going: DatasetWork = { ...rulesOf(builder, key), wish: bareWish(entry), order, ...nothing };
  work.datasets.push(going);
  return going;
};

/** Resources in the order for the list of their dataset: as in the source, then the others as listed. */
const orderOf = ({ page, below }: Builder, key: string): string[] => {
  const named = page.order.get(key) ?? [];
  const links = page.known.entries.get(key)?.links ?? [];
  const place = ({ nid }: LedgerEntry): number => (links.includes(nid ?? '') ? links.indexOf(nid ?? '') : links.length);
  const others = (below.get(key) ?? []).filter((entry) => !named.includes(entry.key));
  others.sort((a, b) => place(a) - place(b) || (a.key < b.key ? -1 : 1));
  return [...named, ...others.map((entry) => entry.key)];
};

const settle = ({ page, work, moved }: Builder, wish: Pick<DatasetWish, 'key' | 'uuid' | 'title'>): void => {
  const { key, uuid, title } = wish;
  const entry = page.known.entries.get(key) ?? newEntry({ key, kind: kindOfKey(key), uuid, title });
  work.settled.push(lineOf(entry, moved.get(key) ?? standingOf(entry), moved.has(key) ? 'held' : undefined));
};

/** Why the last good version is live: the file could not be imported, or is held, or late. */
const standingOf = (entry: LedgerEntry): Reason | null => {
  if (entry.refused?.isReplaced && !entry.live) return entry.refused.reason;
  return isLate(entry) ? entry.reason : null;
};

const lineOf = (entry: LedgerEntry, reason: Reason | null, outcome?: ReportItem['outcome']): ReportItem =>
  itemOfEntry(entry, { outcome: outcome ?? (reason ? outcomeOf(reason) : 'unchanged'), reason });

/** The wish for a node that is only removed, or that stays as it is. */
const bareWish = (entry: LedgerEntry): DatasetWork['wish'] => ({
  key: entry.key,
  uuid: entry.uuid,
  title: entry.title,
  published: entry.live,
  fields: {},
  metadataFingerprint: entry.metadataFingerprint ?? '',
});

/** Reports what of the source was set aside: dropped files that were replaced or refused, and faulty entries. */
export const sourceWork = async (
  ledger: Pick<Ledger, 'entriesOf'>,
  { manifest, portal, only }: Pick<RunData, 'manifest' | 'portal' | 'only'>,
  { superseded, refused, skipped }: Gathered,
): Promise<RunWork> => {
  const isAsked = (key: string): boolean => only?.some((each) => each === key || each === parentKey(key)) ?? true;
  const settled = refused.map(({ claim: { dataset, resource: title }, reason }) => {
    const key = resourceKey(manifest, dataset, title);
    return lineOf(newEntry({ key, kind: 'resource', uuid: '', title }), reason);
  });
  const asked = skipped.filter(({ key }) => isAsked(key));
  const keys = asked.map(({ key }) => key);
  const known = await ledger.entriesOf(portal, keys);
  for (const [at, { reason, ...names }] of asked.entries()) // what they published before stays
    settled.push(lineOf(known[at] ?? newEntry({ ...names, kind: kindOfKey(names.key) }), reason));
  const claims = [
    ...superseded.map(({ id }) => ({ claim: id, reason: null })),
    ...refused.map(({ claim, reason }) => ({ claim: claim.id, reason })),
  ];
  return { ...noWork(), settled, claims };
};

/** Published tables of a watched folder that got no new file for too long, by the defaults of the manifest. */
export const lateDrops = async (ledger: Ledger, request: RunData, { wishes, manifest }: Gathered): Promise<RunWork> => {
  const work = noWork();
  const guard = guardOf(manifest.defaults.resource.guard);
  if (guard?.sameMs === undefined) return work;
  for (const entry of (await ledger.entries(request)).values()) {
    if (wishes.keys.has(entry.key) || (request.only && !request.only.includes(entry.key))) continue;
    const learned = withDecision(entry, { key: entry.key, published: true, guard }, request, Date.now());
    if (learned !== entry) await ledger.put(request.portal, learned);
    if (isLate(learned) || learned !== entry)
      work.settled.push(lineOf(learned, learned.reason, learned.reason ? 'held' : undefined));
  }
  return work;
};

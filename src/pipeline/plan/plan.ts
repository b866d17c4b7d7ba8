// Compares wishes with the ledger (and, when asked, with the portal's own listing): what has to be done, and why. Pure.
import { hash } from 'node:crypto';
import { itemsOfField } from '../../dataset-api/fields.ts';
import { isChangeLog, kindOfKey } from '../../model/key.ts';
import type { LedgerEntry, SentNode, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { PlanFileItem, PlannedAction } from '../../model/plan-file.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import type { NodeRow } from '../../portal-client/client.ts';
import { metadataFingerprint } from '../../sources/gather/dataset-wish.ts';
import { howRead, isLate, isRefusedFile, isSent, wantsImport } from './known-wish.ts';

export type ListedNode = Pick<NodeRow, 'nid' | 'vid' | 'status' | 'title' | 'changed'>;

export interface PlannedDataset extends PlanFileItem {
  resources: PlanFileItem[];
}

/** What an address serves, where that is not known to be the published version. */
export interface AddressLook {
  /** True when it is certainly another version; false when only its bytes can decide. */
  isOther: boolean;
  /** 0 where unknown. */
  bytes: number;
  why: string;
  /** Version that its server reports now; null where that is unknown. */
  version: string | null;
}

/** How file or table of a resource differ on the portal. */
export interface FileDrift {
  why: string;
  /** What the ledger forgets, so that it is restored. */
  broken: Partial<Pick<LedgerEntry, 'file' | 'datastore'>>;
}

export interface KnownState {
  /** Addresses of published resources that may serve another version, by key. */
  addresses?: ReadonlyMap<string, AddressLook>;
  entries: ReadonlyMap<string, LedgerEntry>;
  /** The file of each resource as it is now, by key; null where it cannot be read (the job will report the reason). */
  sources: ReadonlyMap<string, SourceFingerprint | null>;
  sent: ReadonlyMap<string, SentNode>;
  /** The portal's published nodes by uuid in lower case; null when it was not asked. */
  listed: ReadonlyMap<string, ListedNode> | null;
  /** Files and tables that the portal holds otherwise than they were sent, by key, where it was asked. */
  drift?: ReadonlyMap<string, FileDrift>;
}

/** What a plan is made of. What was sent only explains its updates. */
export type Observed = Omit<KnownState, 'sent'>;

/** Plans one dataset with its resources, without the changes of updates, see {@link withChanges}. */
export const planDataset = (wish: DatasetWish, known: Observed): PlannedDataset => {
  const entry = known.entries.get(wish.key);
  const dataset = planned(wish, entry, datasetNeed(wish, entry, known), known);
  const resources = wish.resources.map((resource) => planResource(resource, known));
  const tables = resources.filter((_, at) => wish.resources[at]?.isLogged);
  return { ...dataset, resources: resources.map((item) => withChangeLog(item, tables, known)) };
};

/** Where tables of the dataset have new versions, or may get them, its change log is made anew and compared. */
const withChangeLog = (item: PlanFileItem, tables: readonly PlanFileItem[], { entries }: Observed): PlanFileItem => {
  if (!isChangeLog(item.key)) return item;
  const isChanging = tables.some(({ actions }) => actions.some((action) => /^(?:attach|import|fetch)$/.test(action)));
  const newest = tables.reduce((at, { key }) => Math.max(at, entries.get(key)?.version?.at ?? 0), 0);
  // Without tables there is none.
  if (item.nid === null && !isChanging && newest === 0) return { ...item, actions: [], why: null };
  if (item.actions.length > 0) return item;
  const isBehind = isChanging || newest > (entries.get(item.key)?.syncedAt ?? 0);
  return isBehind ? { ...item, actions: ['fetch'], why: 'a table of the dataset may have a new version' } : item;
};

/** The plan with the changes of each update, field by field. */
export const withChanges = (plan: PlannedDataset, wish: DatasetWish, { entries, sent }: KnownState): PlannedDataset => {
  const explained = <T extends PlanFileItem>(item: T, node: Wish | undefined): T =>
    node && item.actions.includes('update')
      ? { ...item, changes: updateChanges(sent.get(item.key) ?? null, node, entries.get(item.key)) }
      : item;
  const resources = plan.resources.map((item, index) => explained(item, wish.resources[index]));
  return { ...explained(plan, wish), resources };
};

/** What a dataset needs for its node, or else for its list of resources alone. */
const datasetNeed = (wish: DatasetWish, entry: LedgerEntry | undefined, known: Observed): Need => {
  const own = nodeNeed(wish, entry, known);
  const nids = wish.resources.flatMap(({ key }) => known.entries.get(key)?.nid ?? []);
  if (own.actions.length > 0 || !entry || nids.length === 0) return own;
  const { links } = entry;
  if (links === null) return needOf('its list of resources is not verified', 'verify');
  const wished = new Set(nids);
  const held = links.filter((nid) => wished.has(nid));
  // One that is missing from the ledger's list has work anyway, and the job of the dataset links it.
  if (held.join() === nids.filter((nid) => links.includes(nid)).join()) return own;
  return needOf('the order of its resources changed', 'update');
};

interface Need {
  actions: readonly PlannedAction[];
  why: readonly string[];
}

const noNeed: Need = { actions: [], why: [] };

const needOf = (why: string, ...actions: PlannedAction[]): Need => ({ actions, why: [why] });

export type Wish = DatasetWish | ResourceWish;

const planned = (
  { key, title, uuid, metadataFingerprint: metadata }: Wish,
  entry: LedgerEntry | undefined,
  { actions, why }: Need,
  known: Observed,
): PlanFileItem => ({
  key,
  kind: kindOfKey(key),
  title,
  uuid,
  metadata,
  actions: [...actions],
  nid: entry?.nid ?? null,
  vid: (entry && rowOf(known, entry)?.vid) || (entry?.vid ?? null),
  why: why.length > 0 ? why.join('; ') : null,
  bytes: 0,
  changes: [],
  sha256: null,
});

/** What was sent, with the groups by title, not by node id, where those of the wish are what was published. */
const asPublished = (sent: SentNode, { fields: { og_group_ref } }: Wish, entry: LedgerEntry | undefined): SentNode => {
  const node = { title: sent.title, published: sent.published, fields: { ...sent.fields, og_group_ref } };
  return og_group_ref && metadataFingerprint(node) === entry?.metadataFingerprint ? node : sent;
};

/** A removed item returns by its status. */
const updateChanges = (sent: SentNode | null, wish: Wish, entry: LedgerEntry | undefined): FieldChange[] => {
  const changes = nodeChanges(sent && asPublished(sent, wish, entry), wish);
  if (!entry?.removed) return changes;
  const status = wish.published ? [{ field: 'status', from: 0, to: 1 }] : [];
  const orphan = entry.removed === 'orphan' ? [{ field: 'field_orphan', from: '1', to: '0' }] : [];
  return [...orphan, ...status, ...changes.filter(({ field }) => field !== 'status')];
};

const nodeNeed = (wish: Wish, entry: LedgerEntry | undefined, known: Observed): Need => {
  if (!entry?.nid) return needOf('not on the portal yet', 'create');
  if (entry.removed) return needOf('it was removed and is in the manifest again', 'update');
  const row = rowOf(known, entry);
  if (known.listed && !row && wish.published && entry.live) return needOf('it is no longer on the portal', 'create');
  if (row && row.nid !== entry.nid) return needOf(`it is node ${row.nid} now`, 'verify');
  if (entry.metadataFingerprint !== wish.metadataFingerprint) return needOf('its metadata changed', 'update');
  if (row && row.status !== (wish.published ? '1' : '0'))
    return needOf(`it is ${wish.published ? 'unpublished' : 'published'} on the portal`, 'verify');
  if (row && entry.vid !== null && row.vid !== entry.vid)
    return needOf(`it was edited on the portal (revision ${row.vid}, ours was ${entry.vid})`, 'verify');
  return isProven(wish, entry) ? noNeed : needOf('not verified as live', 'verify');
};

const rowOf = ({ listed }: Observed, { uuid }: LedgerEntry): ListedNode | undefined => listed?.get(uuid.toLowerCase());

/** True for an entry that is live, or verified as an unpublished draft. */
export const isProven = (wish: { published: boolean }, entry: LedgerEntry): boolean =>
  entry.live || (!wish.published && entry.reason === null);

const planResource = (wish: ResourceWish, known: Observed): PlanFileItem => {
  const entry = known.entries.get(wish.key);
  const source = known.sources.get(wish.key) ?? null;
  const isRefused = !!entry && !!source && isRefusedFile(entry, wish, source.sha256);
  const isStanding = isRefused && entry.refused?.isReplaced === true;
  const seen = entry && (isStanding || isLate(entry)) ? { ...entry, live: true } : entry;
  const isUnfit = isStanding && entry.good === null && (entry.nid === null || entry.refused?.guard === undefined);
  const ofNode = isUnfit ? noNeed : nodeNeed(wish, seen, known);
  const isNew = ofNode.actions.includes('create');
  const look = known.addresses?.get(wish.key);
  const isUnreadable = known.sources.get(wish.key) === null;
  const own = isStanding ? noNeed : fileNeed(wish, entry, source ?? look ?? null, { isNew, isUnreadable });
  const drift = known.drift?.get(wish.key);
  const file = drift === undefined || isUnfit || own.actions.includes('attach') ? own : restored(wish, drift);
  const isSending = file.actions.includes('attach');
  const how = isSending ? howRead(wish, source?.kind) : [];
  const both = { actions: [...ofNode.actions, ...file.actions], why: [...ofNode.why, ...file.why].concat(how) };
  return {
    ...planned(wish, entry, both, known),
    bytes: isSending ? (source?.bytes ?? look?.bytes ?? 0) : 0,
    ...(look?.version ? { version: look.version } : {}),
    // The bytes of the source, and the recipe applied to them.
    sha256: source && (wish.recipe ? hash('sha256', `${source.sha256}@${wish.recipe.fingerprint}`) : source.sha256),
  };
};

const importsOf = (wish: ResourceWish): PlannedAction[] => (wantsImport(wish) ? ['import'] : []);

const restored = (wish: ResourceWish, { broken, why }: FileDrift): Need =>
  broken.file === null ? needOf(why, 'attach', ...importsOf(wish)) : needOf(why, 'import');

const whyAttach = (file: LedgerEntry['file'], sha256: string): string => {
  if (!file) return 'its file is not attached yet';
  return (file.from?.sha256 ?? file.sha256) === sha256 ? 'its transform steps changed' : 'its file changed';
};

const unread = ({ source }: ResourceWish, entry: LedgerEntry | undefined): string => {
  if (source.kind === 'file') return `its file ${source.path} cannot be read`;
  return entry?.file ? 'its file comes from an address now' : 'its file is not attached yet';
};

export const otherAddress = 'its address changed: fetched and compared';

/** What a resource needs for its file as it is now; `isUnreadable`: it was checked and cannot be read. */
const fileNeed = (
  wish: ResourceWish,
  entry: LedgerEntry | undefined,
  source: SourceFingerprint | AddressLook | null,
  { isNew, isUnreadable }: { isNew: boolean; isUnreadable: boolean },
): Need => {
  if (wish.source.kind === 'link' || wish.source.kind === 'api') return noNeed;
  const imports = importsOf(wish);
  // A run leaves new files to their jobs; one that was checked and is unreadable is reported in the plan.
  if (isNew) return { actions: ['attach', ...imports], why: isUnreadable ? [unread(wish, entry)] : [] };
  const isMoved =
    wish.source.kind === 'url' && !!entry?.file && (entry.fetched?.url ?? wish.source.url) !== wish.source.url;
  if (!source && isMoved) return needOf(otherAddress, 'fetch');
  if (!source) return needOf(unread(wish, entry), 'attach', ...imports);
  if ('why' in source) return source.isOther ? needOf(source.why, 'attach', ...imports) : needOf(source.why, 'fetch');
  if (!entry || !isSent(entry.file, source.sha256, wish))
    return needOf(whyAttach(entry?.file ?? null, source.sha256), 'attach', ...imports);
  const isUnverified = entry.datastore === 'pending' || entry.datastore === 'failed';
  return imports.length > 0 && isUnverified ? needOf('its import is not verified yet', 'import') : noNeed;
};

type FieldChange = PlanFileItem['changes'][number];

/** Changes from what was sent last (null: not known) to what is wanted. */
export const nodeChanges = (sent: SentNode | null, wish: SentNode): FieldChange[] => {
  const all = { title: wish.title, ...wish.fields };
  if (!sent) return Object.entries(all).map(([field, to]) => ({ field, to: plain(to) }));
  const changes: FieldChange[] = [];
  if (sent.title !== wish.title) changes.push({ field: 'title', from: sent.title, to: wish.title });
  if (sent.published !== wish.published)
    changes.push({ field: 'status', from: sent.published ? 1 : 0, to: wish.published ? 1 : 0 });
  for (const field of new Set([...Object.keys(sent.fields), ...Object.keys(wish.fields)])) {
    const [from, to] = [sent.fields[field], wish.fields[field]];
    if (field !== 'field_dataset_ref' && JSON.stringify(from) !== JSON.stringify(to))
      changes.push({ field, from: plain(from), to: plain(to) });
  }
  return changes;
};

/** `{und: [{value: "x"}]}` as "x", lists of several as a list, anything else as it is; undefined as null. */
const plain = (value: unknown): unknown => {
  const items = itemsOfField(value)?.map(
    (item) => item.value ?? item.name ?? item.url ?? item.target_id ?? item.wkt ?? item,
  );
  if (items === undefined) return value ?? null;
  return items.length === 1 ? items[0] : items;
};

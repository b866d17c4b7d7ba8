// Compares wishes with the ledger (and, when asked, with the portal's own listing): what has to be done, and why. Pure.
import { hash } from 'node:crypto';
import { itemsOfField } from '../../dataset-api/fields.ts';
import { isChangeLog, kindOfKey } from '../../model/key.ts';
import type { LedgerEntry, SentNode, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { PlanFileItem, PlannedAction } from '../../model/plan-file.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import type { NodeRow } from '../../portal-client/client.ts';
import { isLate, isRefusedFile, isSent, wantsImport } from './known-wish.ts';

/** A node as the portal's listing shows it. */
export type ListedNode = Pick<NodeRow, 'nid' | 'vid' | 'status' | 'title' | 'changed'>;

/** The plan for one dataset and its resources. */
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

/** What is known apart from the wishes. */
export interface KnownState {
  /** Addresses of published resources that may serve another version, by key. */
  addresses?: ReadonlyMap<string, AddressLook>;
  entries: ReadonlyMap<string, LedgerEntry>;
  /** The file of each resource as it is now, by key; null where it cannot be read (the job will report the reason). */
  sources: ReadonlyMap<string, SourceFingerprint | null>;
  /** What we sent last, by key. */
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
  const need = linkNeed(wish, entry, known) ?? nodeNeed(wish, entry, known);
  const dataset = planned(wish, entry, need, known);
  const resources = wish.resources.map((resource) => planResource(resource, known));
  return { ...dataset, resources: resources.map((item) => withChangeLog(item, resources, known)) };
};

const changing: PlannedAction[] = ['attach', 'import', 'fetch'];

/** Where tables of the dataset have new versions, or may get them, its change log is made anew and compared. */
const withChangeLog = (item: PlanFileItem, all: readonly PlanFileItem[], { entries }: Observed): PlanFileItem => {
  if (!isChangeLog(item.key) || item.actions.length > 0) return item;
  const madeAt = entries.get(item.key)?.syncedAt ?? 0;
  const isBehind = all.some(
    ({ key, actions }) =>
      changing.some((action) => actions.includes(action)) || (entries.get(key)?.version?.at ?? 0) > madeAt,
  );
  return isBehind ? { ...item, actions: ['fetch'], why: 'the tables of the dataset have new versions' } : item;
};

/** The plan with the changes of each update, field by field. */
export const withChanges = (
  planned: PlannedDataset,
  wish: DatasetWish,
  { entries, sent }: Pick<KnownState, 'entries' | 'sent'>,
): PlannedDataset => {
  const explained = <T extends PlanFileItem>(item: T, node: UpdatedNode | undefined): T =>
    node && item.actions.includes('update')
      ? { ...item, changes: updateChanges(sent.get(item.key) ?? null, node, entries.get(item.key)) }
      : item;
  const resources = planned.resources.map((item, index) => explained(item, wish.resources[index]));
  return { ...explained(planned, wish), resources };
};

/** What a dataset needs for its list of resources alone; null where that is fine, or its node has work anyway. */
const linkNeed = (wish: DatasetWish, entry: LedgerEntry | undefined, known: Observed): Need | null => {
  const own = nodeNeed(wish, entry, known);
  const nids = wish.resources.flatMap(({ key }) => known.entries.get(key)?.nid ?? []);
  if (own.actions.length > 0 || !entry || nids.length === 0) return null;
  const { links } = entry;
  if (links === null) return { actions: ['verify'], why: ['its list of resources is not verified'] };
  const wished = new Set(nids);
  const held = links.filter((nid) => wished.has(nid));
  // One that is missing from the ledger's list has work anyway, and the job of the dataset links it.
  if (held.join() === nids.filter((nid) => links.includes(nid)).join()) return null;
  return { actions: ['update'], why: ['the order of its resources changed'] };
};

interface Need {
  actions: PlannedAction[];
  why: string[];
}

type PlannedWish = Pick<ResourceWish, 'key' | 'title' | 'uuid' | 'published' | 'metadataFingerprint'>;

const planned = (
  { key, title, uuid, metadataFingerprint: metadata }: PlannedWish,
  entry: LedgerEntry | undefined,
  { actions, why }: Need,
  known: Observed,
): PlanFileItem => ({
  ...{ key, kind: kindOfKey(key), title, uuid, metadata, actions },
  nid: entry?.nid ?? null,
  vid: (entry && rowOf(known, entry)?.vid) || (entry?.vid ?? null),
  why: why.length > 0 ? why.join('; ') : null,
  ...{ bytes: 0, changes: [], sha256: null },
});

type UpdatedNode = Pick<DatasetWish, 'title' | 'published' | 'fields'>;

/** A removed item returns by its status. */
const updateChanges = (sent: SentNode | null, wish: UpdatedNode, entry: LedgerEntry | undefined): FieldChange[] => {
  const changes = nodeChanges(sent, wish);
  if (!entry?.removed) return changes;
  const status = wish.published ? [{ field: 'status', from: 0, to: 1 }] : [];
  const orphan = entry.removed === 'orphan' ? [{ field: 'field_orphan', from: '1', to: '0' }] : [];
  return [...orphan, ...status, ...changes.filter(({ field }) => field !== 'status')];
};

const nodeNeed = (wish: PlannedWish, entry: LedgerEntry | undefined, known: Observed): Need => {
  if (!entry?.nid) return { actions: ['create'], why: ['not on the portal yet'] };
  if (entry.removed) return { actions: ['update'], why: ['it was removed and is in the manifest again'] };
  const row = rowOf(known, entry);
  if (known.listed && !row && wish.published && entry.live) {
    return { actions: ['create'], why: ['it is no longer on the portal'] };
  }
  if (row && row.nid !== entry.nid) return { actions: ['verify'], why: [`it is node ${row.nid} now`] };
  if (entry.metadataFingerprint !== wish.metadataFingerprint)
    return { actions: ['update'], why: ['its metadata changed'] };
  if (row && row.status !== (wish.published ? '1' : '0'))
    return { actions: ['verify'], why: [`it is ${wish.published ? 'unpublished' : 'published'} on the portal`] };
  if (row && entry.vid !== null && row.vid !== entry.vid) {
    return { actions: ['verify'], why: [`it was edited on the portal (revision ${row.vid}, ours was ${entry.vid})`] };
  }
  return isProven(wish, entry) ? { actions: [], why: [] } : { actions: ['verify'], why: ['not verified as live'] };
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
  const need: Need = isUnfit ? { actions: [], why: [] } : nodeNeed(wish, seen, known);
  const isNew = need.actions.includes('create');
  const look = known.addresses?.get(wish.key);
  const isUnreadable = known.sources.get(wish.key) === null;
  const own: Need = isStanding
    ? { actions: [], why: [] }
    : fileNeed(wish, entry, source ?? look ?? null, { isNew, isUnreadable });
  const drift = known.drift?.get(wish.key);
  const file = drift === undefined || isUnfit || own.actions.includes('attach') ? own : restored(wish, drift);
  if (file.actions.includes('attach') && wish.recipe?.mend) file.why.push('fixed while publishing (mend: safe)');
  const both: Need = { actions: [...need.actions, ...file.actions], why: [...need.why, ...file.why] };
  const item = planned(wish, entry, both, known);
  return {
    ...item,
    bytes: file.actions.includes('attach') ? (source?.bytes ?? look?.bytes ?? 0) : 0,
    ...(look?.version ? { version: look.version } : {}),
    // The bytes of the source, and the recipe applied to them.
    sha256: source && (wish.recipe ? hash('sha256', `${source.sha256}@${wish.recipe.fingerprint}`) : source.sha256),
  };
};

const restored = (wish: ResourceWish, { broken, why }: FileDrift): Need => ({
  actions: broken.file === null ? ['attach', ...(wantsImport(wish) ? (['import'] as const) : [])] : ['import'],
  why: [why],
});

const whyAttach = (file: LedgerEntry['file'], sha256: string): string => {
  if (!file) return 'its file is not attached yet';
  return (file.from?.sha256 ?? file.sha256) === sha256 ? 'its transform steps changed' : 'its file changed';
};

const unread = ({ source }: ResourceWish, entry: LedgerEntry | undefined): string => {
  if (source.kind === 'file') return `its file ${source.path} cannot be read`;
  return entry?.file ? 'its file comes from an address now' : 'its file is not attached yet';
};

/** Why a file is fetched whose address changed. */
export const otherAddress = 'its address changed: fetched and compared';

/** What a resource needs for its file as it is now; `isUnreadable`: it was checked and cannot be read. */
const fileNeed = (
  wish: ResourceWish,
  entry: LedgerEntry | undefined,
  source: SourceFingerprint | AddressLook | null,
  { isNew, isUnreadable }: { isNew: boolean; isUnreadable: boolean },
): Need => {
  if (wish.source.kind === 'link' || wish.source.kind === 'api') return { actions: [], why: [] };
  const imports: PlannedAction[] = wantsImport(wish) ? ['import'] : [];
  // A run leaves new files to their jobs; one that was checked and is unreadable is reported in the plan.
  if (isNew) return { actions: ['attach', ...imports], why: isUnreadable ? [unread(wish, entry)] : [] };
  const isMoved =
    wish.source.kind === 'url' && !!entry?.file && (entry.fetched?.url ?? wish.source.url) !== wish.source.url;
  if (!source && isMoved) return { actions: ['fetch'], why: [otherAddress] };
  if (!source) return { actions: ['attach', ...imports], why: [unread(wish, entry)] };
  if ('why' in source) return { actions: source.isOther ? ['attach', ...imports] : ['fetch'], why: [source.why] };
  if (!entry || !isSent(entry.file, source.sha256, wish)) {
    return { actions: ['attach', ...imports], why: [whyAttach(entry?.file ?? null, source.sha256)] };
  }
  if (imports.length > 0 && (entry.datastore === 'pending' || entry.datastore === 'failed')) {
    return { actions: imports, why: ['its import is not verified yet'] };
  }
  return { actions: [], why: [] };
};

type FieldChange = PlanFileItem['changes'][number];

/** Changes from what was sent last (null: not known) to what is wanted. */
export const nodeChanges = (sent: SentNode | null, wish: UpdatedNode): FieldChange[] => {
  const all = { title: wish.title, ...wish.fields };
  if (!sent) return Object.entries(all).map(([field, to]) => ({ field, to: plain(to) }));
  const changes: FieldChange[] = [];
  if (sent.title !== wish.title) changes.push({ field: 'title', from: sent.title, to: wish.title });
  if (sent.published !== wish.published)
    changes.push({ field: 'status', from: sent.published ? 1 : 0, to: wish.published ? 1 : 0 });
  for (const field of new Set([...Object.keys(sent.fields), ...Object.keys(wish.fields)])) {
    const [from, to] = [sent.fields[field], wish.fields[field]];
    if (field !== 'field_dataset_ref' && JSON.stringify(from) !== JSON.stringify(to)) {
      changes.push({ field, from: plain(from), to: plain(to) });
    }
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

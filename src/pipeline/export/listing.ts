// Lists a portal, keeps that for the run, and compares it with the folder: datasets to export, and datasets that are gone.
import { hash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { maxPageSize } from '../../dataset-api/paths.ts';
import { NotFoundError } from '../../model/errors.ts';
import type { ExportOrder } from '../../model/report.ts';
import type { NodeRow, Portal } from '../../portal-client/client.ts';
import { parsedJson } from '../../util/json.ts';
import { uploadOf } from './describe.ts';
import {
  datasetFolders,
  datasetsName,
  type ListedState,
  records,
  sizeOf,
  slugName,
  stateSchema,
  takenNames,
  writeWhole,
} from './folder.ts';
import type { DatasetRecord, ExportedNode, ExportedResource } from './record.ts';

/** What of a node is listed; the portal changes one of the last two with every save. */
type ListedNode = Pick<NodeRow, 'nid' | 'uuid' | 'title' | 'status' | 'vid' | 'changed'>;

/** Everything that a portal lists, by node id. */
interface Listing {
  datasets: Map<string, ListedNode>;
  /** Those that were listed, or are known to be unchanged. */
  resources: Map<string, ListedNode>;
  /** False where resources are found through their datasets; then {@link unknownResources} tells whether there are others. */
  areResourcesListed: boolean;
  /** Titles by node id. */
  groups: Map<string, string>;
  /** Ids that are in no list and were not read one by one. */
  unread: number;
  /** False where a dataset may be missing, with the reason: then none is gone. */
  complete: true | string;
  /** What the next listing is compared with. */
  state: ListedState;
}

/**
 * Lists a portal, with the drafts that lists hide from their author. Resources are not listed for an empty folder, and not
 * again where `before`, and what is in the folder, shows that they are the same. @throws PortalReplyError when its pages do
 * not end
 */
export const listPortal = async (
  portal: Portal,
  { root, before }: { root: string; before: ListedState | null },
  signal: AbortSignal,
): Promise<Listing> => {
  const user = portal.isAnonymous ? '' : hash('sha256', (await portal.identity(signal)).name).slice(0, 12);
  const { rows: datasets, complete } = await listType(portal, 'dataset', signal);
  const known = before?.user === user ? await resourcesIn(root) : new Map<string, ListedNode>();
  const isSame = before !== null && (await areSame(portal, known, before.newest, signal));
  const areResourcesListed = isSame || (await datasetFolders(root)).length > 0;
  const resources = isSame || !areResourcesListed ? known : (await listType(portal, 'resource', signal)).rows;
  // Taken before any node is read, so that what changes meanwhile counts as changed.
  const newest = areResourcesListed
    ? highest(resources.values().map(({ changed }) => changed))
    : Number((await newestResources(portal, { page: 0, pageSize: 1 }, signal))[0]?.changed ?? 0);
  const { rows: groups } = await listType(portal, 'group', signal);
  const hidden = portal.isAnonymous ? { nodes: [], unread: 0 } : await portal.hiddenNodes(signal);
  for (const node of hidden.nodes) {
    if (node.type === 'dataset') datasets.set(node.nid, node);
    if (node.type === 'resource') resources.set(node.nid, node);
  }
  const titles = new Map([...groups].map(([nid, { title }]) => [nid, title]));
  const { unread } = hidden;
  const state = { user, newest };
  const isEmptied = datasets.size === 0 && areResourcesListed;
  const stated = isEmptied ? 'it lists no datasets' : complete;
  return { datasets, resources, areResourcesListed, groups: titles, unread, complete: stated, state };
};

/**
 * Ids of the resources that a portal lists beyond the known ones. They are listed only where their number differs.
 * @throws PortalReplyError when its pages do not end
 */
export const unknownResources = async (
  portal: Portal,
  known: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<string[]> => {
  const areAll = async (status: string): Promise<boolean> => {
    const count = known.values().reduce((sum, one) => sum + (one === status ? 1 : 0), 0);
    return hasExactly(portal, { type: 'resource', status }, { count, signal });
  };
  if ((await areAll('1')) && (await areAll('0'))) return [];
  const { rows } = await listType(portal, 'resource', signal);
  return [...rows.keys()].filter((nid) => !known.has(nid));
};

/** True when a list has so many rows. */
const hasExactly = async (
  portal: Portal,
  parameters: Record<string, string>,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<boolean> => {
  const hasRow = async (page: number): Promise<boolean> =>
    (await portal.nodes.list({ fields: ['nid'], parameters, page, pageSize: 1, orderBy: byNid }, signal)).length > 0;
  return (count === 0 || (await hasRow(count - 1))) && !(await hasRow(count));
};

const byNid = { column: 'nid', direction: 'ASC' } as const;

const newestResources = (
  portal: Portal,
  page: { page: number; pageSize: number },
  signal: AbortSignal,
): Promise<NodeRow[]> =>
  portal.nodes.list(
    { fields, parameters: { type: 'resource' }, ...page, orderBy: { column: 'changed', direction: 'DESC' } },
    signal,
  );

const highest = (numbers: Iterable<string>): number => {
  let found = 0;
  for (const number of numbers) found = Math.max(found, Number(number));
  return found;
};

/** The resources of all packages as they were listed. */
const resourcesIn = async (root: string): Promise<Map<string, ListedNode>> => {
  const known = new Map<string, ListedNode>();
  for await (const { record } of records(root)) {
    if (record.removed !== null) continue;
    for (const { node } of record.resources) {
      const { nid, vid, title, changed } = node;
      known.set(nid, { nid, vid, title, changed, uuid: String(node.uuid), status: String(node.status) });
    }
  }
  return known;
};

/** Listing fewer resources is as quick. */
const fewResources = 100;

const mostChangedPages = 20;

/**
 * True when the portal lists exactly these resources: as many, and those changed since the last export as they are known.
 */
const areSame = async (
  portal: Portal,
  known: ReadonlyMap<string, ListedNode>,
  newest: number,
  signal: AbortSignal,
): Promise<boolean> => {
  if (known.size < fewResources) return false;
  for (let page = 0; ; page++) {
    const rows = await newestResources(portal, { page, pageSize: maxPageSize }, signal);
    // A restored portal has lost the newest change.
    if (page === mostChangedPages || (page === 0 && !(Number(rows[0]?.changed) >= newest))) return false;
    if (rows.some((row) => !isSameNode(known.get(row.nid), row))) return false;
    if (rows.length < maxPageSize || Number(rows.at(-1)?.changed) < newest) break;
  }
  return hasExactly(portal, { type: 'resource' }, { count: known.size, signal });
};

const fields = ['nid', 'vid', 'uuid', 'title', 'status', 'changed'];

const listType = (portal: Portal, type: string, signal: AbortSignal): ReturnType<Portal['nodes']['all']> =>
  portal.nodes.all({ fields, parameters: { type } }, { signal });

const listingName = '.listing.json';
const listingSchema = z.object({
  runId: z.string(),
  datasets: z.array(z.string()),
  resources: z.array(z.string()),
  areResourcesListed: z.boolean(),
  groups: z.record(z.string(), z.string()),
  unread: z.int(),
  complete: z.union([z.literal(true), z.string()]),
  state: stateSchema,
});

/** What a run has to know of its listing until it ends. */
export type KeptListing = z.infer<typeof listingSchema>;

/** Keeps what was listed for the later attempts of a run. */
export const keepListing = async (root: string, runId: string, listing: Listing): Promise<void> => {
  const { datasets, resources, groups, ...more } = listing;
  const nids = { datasets: [...datasets.keys()], resources: [...resources.keys()] };
  const kept: KeptListing = { runId, ...nids, groups: Object.fromEntries(groups), ...more };
  await writeWhole(join(root, listingName), [JSON.stringify(kept)]);
};

/** What a run has listed; null where that was of another run. */
export const keptListing = async (root: string, runId: string): Promise<KeptListing | null> => {
  const path = join(root, listingName);
  const text = (await sizeOf(path)) === null ? '' : await readFile(path, 'utf8');
  const listing = listingSchema.safeParse(parsedJson(text)).data;
  return listing?.runId === runId ? listing : null;
};

/** Removes the listing, once the run has ended. */
export const forgetListing = (root: string): Promise<void> => rm(join(root, listingName), { force: true });

/** What is to be done with the folder of a dataset. */
export interface PlannedFolder {
  folder: string;
  /** Null for resources that are in no dataset. */
  nid: string | null;
  title: string;
  uuid: string;
  published: boolean;
  /** Why it is exported; null where it is unchanged, `gone` where the portal has it no more. */
  why: 'new' | 'changed' | 'gone' | null;
}

/** Compares what the portal lists with the folder. Names that folders have stay. Throws {@link NotFoundError}. */
export const planFolders = async (order: ExportOrder, listing: Listing): Promise<PlannedFolder[]> => {
  const planned: PlannedFolder[] = [];
  const taken = takenNames([]);
  const here = new Set<string>();
  const isWanted = wantedBy(order.only, listing.datasets);
  for await (const { folder, record } of records(order.folder)) {
    taken.set(folder.toLowerCase(), 2);
    if (record.node) here.add(record.node.nid);
    const row = record.node ? listing.datasets.get(record.node.nid) : undefined;
    if (order.only !== null && !(row && isWanted(row))) continue;
    // What is gone, and marked, stays so until it is listed again.
    if (record.removed === null || row) planned.push(await plannedAgain(order, { folder, record, row, listing }));
  }
  for (const row of listing.datasets.values()) {
    if (here.has(row.nid) || !isWanted(row)) continue;
    const { nid, title, uuid, status } = row;
    const folder = slugName(title, `dataset-${nid}`, taken);
    planned.push({ folder, nid, title, uuid, published: status === '1', why: 'new' });
  }
  return planned;
};

/** A dataset that is in the folder, with its present title on the portal. */
const plannedAgain = async (order: ExportOrder, known: Known): Promise<PlannedFolder> => {
  const { folder, record, row, listing } = known;
  const { node } = record;
  const isMissing = node !== null && row === undefined;
  const isGone = isMissing && listing.complete === true;
  const { title, uuid, status } = row ?? node ?? { title: folder, uuid: '', status: '1' };
  const why = isGone ? 'gone' : isMissing || (await isUnchanged(order, known)) ? null : 'changed';
  return { folder, nid: node?.nid ?? null, title, uuid: String(uuid), published: String(status) === '1', why };
};

type Wanted = (row: ListedNode) => boolean;

/** Which of the listed datasets were requested. @throws NotFoundError for a request that none of them meets */
const wantedBy = (only: readonly string[] | null, datasets: Listing['datasets']): Wanted => {
  if (only === null) return () => true;
  const all = only.map((text): Wanted => {
    const isWanted = wantedByText(text);
    if (datasets.values().some(isWanted)) return isWanted;
    throw new NotFoundError(`no dataset of the portal matches "${text}"`, {
      hint: 'give its uuid, its node id or its whole title, which may hold `*`',
    });
  });
  return (row) => all.some((isWanted) => isWanted(row));
};

const wantedByText = (text: string): Wanted => {
  const parts = text
    .toLowerCase()
    .split('*')
    .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const pattern = new RegExp(`^${parts.join('.*')}$`, 's');
  return ({ nid, uuid, title }) => text === nid || text === uuid || pattern.test(title.toLowerCase());
};

interface Known {
  folder: string;
  record: DatasetRecord;
  row: ListedNode | undefined;
  listing: Listing;
}

const isUnchanged = async (order: ExportOrder, { folder, record, row, listing }: Known): Promise<boolean> => {
  const { node, resources, removed } = record;
  if (order.files === 'all' || removed !== null || (node !== null && !isSameNode(node, row))) return false;
  for (const resource of resources) {
    if (!isSameNode(resource.node, listing.resources.get(resource.node.nid))) return false;
    if (!(await isFileHere(order, folder, resource))) return false;
  }
  return true;
};

/** True for a file that is here, and for one that is not wanted or was searched for without success. */
const isFileHere = async (
  { files, folder: root }: ExportOrder,
  folder: string,
  { node, file, findings }: ExportedResource,
): Promise<boolean> => {
  if (file !== null) return (await sizeOf(join(root, datasetsName, folder, file.path))) === file.bytes;
  return files === 'none' || uploadOf(node) === null || findings.some(({ code }) => code.startsWith('file-'));
};

const isSameNode = (node: ExportedNode | ListedNode | undefined, row: ListedNode | undefined): boolean =>
  node !== undefined &&
  row !== undefined &&
  node.vid === row.vid &&
  node.changed === row.changed &&
  String(node.status) === row.status &&
  node.title === row.title;

// Lists a portal, keeps that for the run, and compares it with the folder: datasets to export, and datasets that are gone.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { NotFoundError } from '../../model/errors.ts';
import type { ExportOrder } from '../../model/report.ts';
import type { NodeRow, Portal } from '../../portal-client/client.ts';
import { parsedJson } from '../../util/json.ts';
import { uploadOf } from './describe.ts';
import { datasetFolders, datasetsName, records, sizeOf, slugName, takenNames, writeWhole } from './folder.ts';
import type { DatasetRecord, ExportedNode, ExportedResource } from './record.ts';

/** What of a node is listed; the portal changes one of the last two with every save. */
type ListedNode = Pick<NodeRow, 'nid' | 'uuid' | 'title' | 'status' | 'vid' | 'changed'>;

interface Listing {
  datasets: Map<string, ListedNode>;
  resources: Map<string, ListedNode>;
  /** Titles by node id. */
  groups: Map<string, string>;
  /** Ids that are in no list and were not read one by one. */
  unread: number;
  /** False where a dataset may be missing, with the reason: then none is gone. */
  complete: true | string;
}

/**
 * Lists a portal, with the drafts that lists hide from their author. @throws PortalReplyError when its pages do not end
 */
export const listPortal = async (portal: Portal, root: string, signal: AbortSignal): Promise<Listing> => {
  const { rows: datasets, complete } = await listType(portal, 'dataset', signal);
  const { rows: resources } = await listType(portal, 'resource', signal);
  const { rows: groups } = await listType(portal, 'group', signal);
  const { nodes, unread } = portal.isAnonymous ? { nodes: [], unread: 0 } : await portal.hiddenNodes(signal);
  for (const node of nodes) {
    if (node.type === 'dataset') datasets.set(node.nid, node);
    if (node.type === 'resource') resources.set(node.nid, node);
  }
  const titles = new Map([...groups].map(([nid, { title }]) => [nid, title]));
  const isEmptied = datasets.size === 0 && (await datasetFolders(root)).length > 0;
  return { datasets, resources, groups: titles, unread, complete: isEmptied ? 'it lists no datasets' : complete };
};

const fields = ['nid', 'vid', 'uuid', 'title', 'status', 'changed'];

/** Pages of a list that are requested together. */
const pagesAtOnce = 4;

const listType = (portal: Portal, type: string, signal: AbortSignal): ReturnType<Portal['nodes']['all']> =>
  portal.nodes.all({ fields, parameters: { type } }, { signal, atOnce: pagesAtOnce });

const listingName = '.listing.json';
const listingSchema = z.object({
  runId: z.string(),
  datasets: z.array(z.string()),
  resources: z.array(z.string()),
  groups: z.record(z.string(), z.string()),
  unread: z.int(),
  complete: z.union([z.literal(true), z.string()]),
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

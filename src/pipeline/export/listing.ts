// Lists a portal, keeps that for the run, and compares it with the folder: datasets to export, and datasets that are gone.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { NotFoundError } from '../../model/errors.ts';
import type { ExportOrder } from '../../model/report.ts';
import type { Portal } from '../../portal-client/client.ts';
import { uploadOf } from './describe.ts';
import { datasetFolders, datasetsName, jsonIn, records, sizeOf, slugName, takenNames, writeWhole } from './folder.ts';
import type { DatasetRecord, ExportedNode, ExportedResource } from './record.ts';

const text = z.string();

/** What of a node is listed; the portal changes `vid` or `changed` with every save. */
const rowSchema = z.object({ nid: text, vid: text, uuid: text, title: text, status: text, changed: text });

type ListedNode = z.infer<typeof rowSchema>;

const listingSchema = z.object({
  datasets: z.record(text, rowSchema),
  resources: z.record(text, rowSchema),
  groups: z.record(text, text),
  /** Ids that are in no list and were not read one by one. */
  unread: z.int(),
  /** The reason where a dataset may be missing: then none is gone. */
  complete: z.union([z.literal(true), text]),
});

export type Listing = z.infer<typeof listingSchema>;

/** Lists a portal, with the drafts that lists hide from their author. @throws PortalReplyError when its pages do not end */
export const listPortal = async (portal: Portal, root: string, signal: AbortSignal): Promise<Listing> => {
  const fields = Object.keys(rowSchema.shape);
  const list = (type: string) => portal.nodes.all({ fields, parameters: { type } }, { signal, atOnce: 4 });
  const { rows: datasets, complete } = await list('dataset');
  const { rows: resources } = await list('resource');
  const { rows: groups } = await list('group');
  const { nodes, unread } = portal.isAnonymous ? { nodes: [], unread: 0 } : await portal.drafts.all(signal);
  for (const node of nodes) {
    if (node.type === 'dataset') datasets.set(node.nid, node);
    if (node.type === 'resource') resources.set(node.nid, node);
  }
  const isEmptied = datasets.size === 0 && (await datasetFolders(root)).length > 0;
  return listingSchema.parse({
    datasets: Object.fromEntries(datasets),
    resources: Object.fromEntries(resources),
    groups: Object.fromEntries([...groups].map(([nid, { title }]) => [nid, title])),
    unread,
    complete: isEmptied ? 'it lists no datasets' : complete,
  });
};

const listingName = '.listing.json';

/** Keeps what was listed for the later attempts of a run. */
export const keepListing = async (root: string, runId: string, listing: Listing): Promise<void> =>
  void (await writeWhole(join(root, listingName), [JSON.stringify({ runId, ...listing })]));

/** What a run has listed; null where that was of another run. */
export const keptListing = async (root: string, runId: string): Promise<Listing | null> =>
  listingSchema.extend({ runId: z.literal(runId) }).safeParse(await jsonIn(join(root, listingName))).data ?? null;

export const forgetListing = (root: string): Promise<void> => rm(join(root, listingName), { force: true });

interface PlannedFolder {
  folder: string;
  /** Null for resources that are in no dataset. */
  nid: string | null;
  title: string;
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
    const { node } = record;
    const row = node ? listing.datasets[node.nid] : undefined;
    if (order.only !== null && !(row && isWanted(row))) continue;
    // What is gone, and marked, stays so until it is listed again.
    if (record.removed !== null && !row) continue;
    const { nid = null, title = folder } = row ?? node ?? {};
    planned.push({ folder, nid, title, why: await whyAgain(order, { folder, record, listing }) });
  }
  for (const row of Object.values(listing.datasets)) {
    if (here.has(row.nid) || !isWanted(row)) continue;
    const { nid, title } = row;
    planned.push({ folder: slugName(title, `dataset-${nid}`, taken), nid, title, why: 'new' });
  }
  return planned;
};

type Wanted = (row: ListedNode) => boolean;

/** Which of the listed datasets were requested. @throws NotFoundError for a request that none of them meets */
const wantedBy = (only: readonly string[] | null, datasets: Listing['datasets']): Wanted => {
  if (only === null) return () => true;
  const all = only.map((text): Wanted => {
    const isWanted = wantedByText(text);
    if (Object.values(datasets).some(isWanted)) return isWanted;
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

const whyAgain = async (
  order: ExportOrder,
  { folder, record, listing }: { folder: string; record: DatasetRecord; listing: Listing },
): Promise<PlannedFolder['why']> => {
  const { node, resources, removed } = record;
  const row = node === null ? undefined : listing.datasets[node.nid];
  if (node !== null && !row) return listing.complete === true ? 'gone' : null;
  if (order.files === 'all' || removed !== null || (node !== null && !isSameNode(node, row))) return 'changed';
  for (const resource of resources) {
    if (!isSameNode(resource.node, listing.resources[resource.node.nid])) return 'changed';
    if (!(await isFileHere(order, folder, resource))) return 'changed';
  }
  return null;
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

const isSameNode = (node: ExportedNode, row: ListedNode | undefined): boolean =>
  row !== undefined && (['vid', 'changed', 'status', 'title'] as const).every((key) => String(node[key]) === row[key]);

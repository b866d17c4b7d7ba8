// Finds the nodes of a portal that wishes stand for: by uuid, by a mapping, by exact type and title.
import { missingFields } from '../dkan/compare.ts';
import type { NodeRow, Portal } from '../portal/client.ts';
import type { DatasetWish, ResourceWish } from '../wish.ts';

/** What the search for one wish found. */
export type Found =
  | { how: 'uuid' | 'mapping' | 'title' | 'content'; nid: string }
  | { how: 'ambiguous'; nids: string[] }
  /** Its only candidate belongs to another key. */
  | { how: 'taken'; node: string; by: string }
  | { how: 'none' };

/** How to search. */
export interface FindOptions {
  /** Node ids by key, from a mapping file. */
  mapping: ReadonlyMap<string, string>;
  /** True: nodes of the same type and exact title count as well. */
  byTitle: boolean;
  /** True: a resource node of the same dataset with the same bytes, which no wish names, counts as a renamed one. */
  byContent: boolean;
}

/** Finds the node of a dataset. */
export const findDataset = async (
  portal: Portal,
  wish: Pick<DatasetWish, 'key' | 'uuid' | 'title'>,
  options: FindOptions,
  signal: AbortSignal,
): Promise<Found> => {
  const known = await byIdentity(portal, wish, options, signal);
  if (known || !options.byTitle) return known ?? { how: 'none' };
  return oneOf(await titled(portal, 'dataset', wish.title, signal));
};

/** Finds the node of a resource; by title only among those that belong to the dataset node. */
export const findResource = async (
  portal: Portal,
  wish: Pick<ResourceWish, 'key' | 'uuid' | 'title'>,
  datasetNid: string | null,
  options: FindOptions,
  signal: AbortSignal,
): Promise<Found> => {
  const known = await byIdentity(portal, wish, options, signal);
  if (known || !options.byTitle || datasetNid === null) return known ?? { how: 'none' };
  const ours: NodeRow[] = [];
  for (const row of await titled(portal, 'resource', wish.title, signal)) {
    const node = await portal.readNode(row.nid, signal);
    const reference = { field_dataset_ref: { und: [{ target_id: datasetNid }] } };
    if (missingFields(reference, node).length === 0) ours.push(row);
  }
  return oneOf(ours);
};

const byIdentity = async (
  portal: Portal,
  wish: { key: string; uuid: string },
  { mapping }: FindOptions,
  signal: AbortSignal,
): Promise<Found | null> => {
  const row = await portal.findByUuid(wish.uuid, signal);
  if (row) return { how: 'uuid', nid: row.nid };
  const mapped = mapping.get(wish.key);
  return mapped === undefined ? null : { how: 'mapping', nid: mapped };
};

const titled = async (portal: Portal, type: string, title: string, signal: AbortSignal): Promise<NodeRow[]> => {
  // A comma in the title would be read as a list of titles; then all nodes of the type are looked through.
  const rows: NodeRow[] = [];
  const parameters = title.includes(',') ? { type } : { type, title };
  for (let page = 0; ; page++) {
    const query = { fields: ['nid', 'type', 'title'], parameters, page, pageSize: 20, orderBy };
    const found = await portal.listNodes(query, signal);
    rows.push(...found.filter((row) => row.title === title));
    if (found.length < 20) return rows;
  }
};

/** Without an order, nodes could move between pages. */
const orderBy = { column: 'nid', direction: 'ASC' } as const;

const oneOf = (rows: NodeRow[]): Found => {
  const [first, ...more] = rows;
  if (!first) return { how: 'none' };
  return more.length === 0 ? { how: 'title', nid: first.nid } : { how: 'ambiguous', nids: rows.map((row) => row.nid) };
};

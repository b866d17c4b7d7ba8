// Finds the portal nodes of wishes: by uuid, by a mapping, by exact type and title.
import { missingFields } from '../../dataset-api/compare.ts';
import type { NodeRow, Portal } from '../../portal-client/client.ts';
import { bearsMark, type NodeWish, sameUuid } from './node.ts';

export type Found =
  | { how: 'uuid' | 'mark' | 'mapping' | 'title' | 'content'; nid: string }
  | { how: 'ambiguous'; nids: string[] }
  /** There may be one that could not be searched for; `why` explains that. */
  | { how: 'unclear'; why: string }
  /** The only candidate belongs to another key. */
  | { how: 'taken'; node: string; by: string }
  | { how: 'none' };

export interface FindOptions {
  /** Node ids by key, from a mapping file. */
  mapping: ReadonlyMap<string, string>;
  /** True: by exact type and title as well. False: our resources of a dataset by their bytes as well, which no wish names. */
  byTitle: boolean;
}

type SoughtNode = Pick<NodeWish, 'key' | 'uuid' | 'title' | 'published' | 'type'>;

/** Finds the node of a wish; that of a resource by title only among those that belong to the dataset node `within`. */
export const findNode = async (
  portal: Portal,
  { wish, within }: { wish: SoughtNode; within: string | null },
  { mapping, byTitle }: FindOptions,
  signal: AbortSignal,
): Promise<Found> => {
  const row = await portal.findByUuid(wish.uuid, signal);
  if (row) return { how: 'uuid', nid: row.nid };
  const mapped = mapping.get(wish.key);
  if (mapped !== undefined) return { how: 'mapping', nid: mapped };
  // A dataset whose identifier is spelt differently keeps its uuid. What is to be published may have been made as a draft.
  const isForm = (await portal.dialectInUse(signal)) === 'form';
  const named = isForm || wish.type === 'dataset' ? await marked(portal, wish, signal) : nowhere;
  const { nid, doubt } = isForm || named.nid !== null ? named : await hiddenDraft(portal, wish, signal);
  if (nid !== null) return { how: 'mark', nid };
  const isTitled = byTitle && (wish.type === 'dataset' || within !== null);
  const nids = isTitled ? await portal.nidsTitled(wish.type, wish.title, signal) : [];
  const ours: string[] = [];
  const reference = { field_dataset_ref: { und: [{ target_id: within }] } };
  for (const nid of nids)
    if (within === null || missingFields(reference, await portal.nodes.read(nid, signal)).length === 0) ours.push(nid);
  const [first, ...more] = ours;
  if (first === undefined) return doubt ? { how: 'unclear', why: doubt.message } : { how: 'none' };
  return more.length === 0 ? { how: 'title', nid: first } : { how: 'ambiguous', nids: ours };
};

/** A node that no listing shows by its uuid; `doubt` says why there may be one although none was found. */
interface Unlisted {
  nid: string | null;
  doubt: { message: string; hint: string } | null;
}

const nowhere: Unlisted = { nid: null, doubt: null };

/**
 * Looks for the node of a wish where lists do not show it by its uuid; our mark in its log decides. For one that is to be
 * published it relies on lists where these show uuids.
 */
export const findUnlisted = async (portal: Portal, wish: SoughtNode, signal: AbortSignal): Promise<Unlisted> => {
  if ((await portal.dialectInUse(signal)) === 'form') return marked(portal, wish, signal);
  return wish.published ? nowhere : hiddenDraft(portal, wish, signal);
};

/** By type and title; one that has the title and not our mark is doubtful. */
const marked = async (portal: Portal, wish: SoughtNode, signal: AbortSignal): Promise<Unlisted> => {
  const unmarked: NodeRow[] = [];
  for (const row of await portal.nodes.titled(wish.type, wish.title, signal)) {
    const node = await portal.nodes.visible(row.nid, signal);
    if (node === null || node.type !== wish.type) continue;
    if (bearsMark(node, wish.key)) return { nid: node.nid, doubt: null };
    if (!node.log.startsWith('sluice ')) unmarked.push(row);
  }
  const [first] = unmarked;
  if (!first) return nowhere;
  const message = `node ${first.nid} is a ${wish.type} with this title, and it is unclear whether sluice published it`;
  const hint = '`sluice adopt` links it; `sluice publish --create-missing` makes another one';
  return { nid: null, doubt: { message, hint } };
};

/** Among the drafts that lists hide from this account; doubtful where there are too many to look at. */
const hiddenDraft = async (portal: Portal, wish: SoughtNode, signal: AbortSignal): Promise<Unlisted> => {
  const hidden = await portal.drafts.titled(wish.type, wish.title, signal);
  const found =
    hidden.nodes.find((node) => sameUuid(node.uuid, wish.uuid)) ??
    hidden.nodes.find((node) => node.type === wish.type && bearsMark(node, wish.key));
  if (found || hidden.unread === 0 || wish.published) return { nid: found?.nid ?? null, doubt: null };
  const message = `lists hide drafts from this account, and ${hidden.unread} node ids are too many to check one by one`;
  const hint =
    'publish with an account that sees all content (site manager, administrator), or `sluice publish --create-missing` if this draft was never published';
  return { nid: null, doubt: { message, hint } };
};

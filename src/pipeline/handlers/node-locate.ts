// Finding the node of a wish, and proving that it is ours before anything is written to it.
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeUnclearError } from '../../model/errors.ts';
import type { IndexedEntry, LedgerEntry } from '../../model/ledger-entry.ts';
import type { OnDrift } from '../../model/policy.ts';
import type { NodeRow, Portal, PortalNode } from '../../portal-client/client.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { ResourceWork } from '../../state/run-work.ts';
import { findUnlisted } from '../compare/find.ts';
import { bearsNonce, isOurs, type NodeWish, sameUuid } from '../compare/node.ts';
import type { HandlerDeps } from './deps.ts';
import type { Item } from './item.ts';

/** Where a node is written, for which item, and by which rules. */
export interface NodeTarget {
  item: Item;
  ledger: Ledger;
  portal: Portal;
  /** What to do with a node that was edited on the portal. */
  onDrift: OnDrift;
  /** True: what is not found is created, by request. */
  createMissing: boolean;
  /** True for a resource whose dataset was created in this run, so that no existing node can be it. */
  isNewDataset?: boolean;
  /** True where the portal takes writes of several datastores at once. */
  importsTogether: boolean;
}

/** The target of the node of an item, by the rules of its work. */
export const targetOf = (
  { ledger, portal, settings }: HandlerDeps,
  item: Item,
  { onDrift, createMissing }: Pick<ResourceWork, 'onDrift' | 'createMissing'>,
): NodeTarget => ({
  item,
  ledger,
  onDrift,
  createMissing,
  portal: portal(item.portal),
  importsTogether: settings.importsTogether(item.portal),
});

/** A node that was checked, and written where needed. */
export interface WrittenNode {
  entry: LedgerEntry;
  /** As it was read after the last write; null where it was not read since. */
  node: PortalNode | null;
}

/** Where the node of a wish is (`entry.nid` null: nowhere), and its row in the listing, where that was checked. */
export interface Located extends WrittenNode {
  row: NodeRow | null;
  /** What became of the node that was known. */
  gone?: string;
}

/**
 * Looks up the node of a wish. A node id of the ledger counts only when uuid (on portals that make their own: our mark)
 * shows that the node is ours: ids are reused when a portal is restored or recreated.
 * @throws NodeUnclearError where a node may be ours and nothing proves it
 */
export const locateNode = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry): Promise<Located> => {
  const { item } = target;
  const isNamed = entry.nid !== null && item.isNewNode;
  // Replicas show a new node late, and some portals store what they have named only seconds later.
  for (let looks = isNamed ? 8 : entry.pending?.what === 'create' ? 1 : 0; ; looks--) {
    const found = await lookFor(target, wish, entry);
    if (found.entry.nid !== null || looks === 0) {
      if (found.gone !== undefined) await item.note(found.gone);
      return found;
    }
    await sleep(1200, undefined, { signal: item.signal });
  }
};

const lookFor = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry): Promise<Located> => {
  const { item, portal } = target;
  // No write of ours is in progress, so an answer from a batch a moment ago is still valid.
  const recent = item.job.attempt === 1 && entry.pending === null;
  const row = await portal.findByUuid(entry.nid === null ? wish.uuid : entry.uuid, item.signal, { recent });
  if (row) return atRow(target, wish, entry, row);
  if (entry.nid !== null) return atNid(target, wish, entry, entry.nid);
  const isCreated = entry.pending?.what === 'create';
  const node = isCreated ? await createdNode(target, wish, entry) : await unlistedNode(target, wish);
  if (node === null && isCreated) await item.note('an interrupted create left nothing');
  return { entry: { ...entry, nid: node?.nid ?? null }, node, row: null };
};

const atRow = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry, row: NodeRow): Promise<Located> => {
  if (row.type !== wish.type)
    throw new NodeUnclearError(
      `${target.portal.name}: node ${row.nid} ("${row.title}") has the uuid of this ${wish.type} and is a ${row.type}`,
      { hint: 'check that node; remove it, or give the item another name or id' },
    );
  if (entry.nid === row.nid) return { entry, node: null, row };
  if (entry.nid !== null) await target.item.note(`the node is ${row.nid} now, not ${entry.nid}`);
  const pending = entry.nid === null ? entry.pending : null;
  return { entry: { ...unknownNode(entry), nid: row.nid, pending }, node: null, row };
};

const atNid = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry, nid: string): Promise<Located> => {
  const { item, portal } = target;
  const seen = await portal.nodes.look(nid, item.signal);
  // Our own published node would be readable: this is another one.
  const node = seen === 'hidden' && (entry.live || target.createMissing) ? null : seen;
  if (node === 'hidden')
    throw new NodeUnclearError(`${portal.name}: this account may not read node ${nid}, which may belong to sluice`, {
      hint: 'publish with the account that made it, or with one that sees all content (site manager, administrator)',
    });
  if (node !== null && isOurs(node, wish, entry.uuid, await portal.dialectInUse(item.signal)))
    return { entry: { ...entry, uuid: node.uuid || entry.uuid }, node, row: null };
  const gone =
    node === null
      ? `node ${nid} is no longer on the portal, or no longer ours`
      : `node ${nid} is no longer ours: it is the ${node.type} "${node.title}"`;
  const elsewhere = await unlistedNode(target, wish);
  return { entry: { ...unknownNode(entry), nid: elsewhere?.nid ?? null }, node: elsewhere, row: null, gone };
};

/** The entry without what was known of its node, which is gone or another one. */
export const unknownNode = (entry: LedgerEntry): LedgerEntry => ({
  ...entry,
  nid: null,
  vid: null,
  changed: null,
  url: null,
  metadataFingerprint: null,
  fieldNames: [],
  links: null,
  notHeld: {},
  file: null,
  datastore: 'none',
  rowsAreOwn: false,
  rows: null,
  live: false,
  stale: false,
  refused: entry.refused && { ...entry.refused, isReplaced: false },
  pending: null,
});

/** The node id of an entry on the portal, found by uuid or, as lists hide drafts, by reading it; null where there is none. */
export const nidOnPortal = async (portal: Portal, entry: IndexedEntry, signal: AbortSignal): Promise<string | null> => {
  const row = await portal.findByUuid(entry.uuid, signal);
  if (row) return row.nid;
  const node = await portal.nodes.visible(entry.nid ?? '', signal);
  return node !== null && sameUuid(node.uuid, entry.uuid) ? node.nid : null;
};

/** After an interrupted create: lists may hide the node, or the portal ignores uuids, so the ids above the mark are read. */
const createdNode = async ({ item, portal }: NodeTarget, { key }: NodeWish, { pending }: LedgerEntry) => {
  if (!pending || pending.before === null) return null; // the list was trusted when the create began
  const last = Number(await portal.nodes.highest(item.signal)) + 50; // hidden ones may be beyond the highest that is listed
  for (let nid = Number(pending.before) + 1; nid <= last; nid++) {
    const node = await portal.nodes.visible(String(nid), item.signal);
    if (node && bearsNonce(node, key, pending)) return node;
  }
  return null;
};

/** The node of a wish that no list shows by its uuid. @throws NodeUnclearError where one may be it */
const unlistedNode = async (target: NodeTarget, wish: NodeWish): Promise<PortalNode | null> => {
  const { item, portal, createMissing } = target;
  const { nid, doubt } = await findUnlisted(portal, wish, item.signal);
  if (nid !== null) return portal.nodes.read(nid, item.signal);
  const isNew = createMissing || (wish.type === 'resource' && target.isNewDataset === true);
  if (doubt === null || isNew) return null;
  throw new NodeUnclearError(`${portal.name}: ${doubt.message}`, { hint: doubt.hint });
};

// Verifies that a node holds what is wanted, as a reader of the portal sees it.

import { baselineOf, countItems, shownField } from '../../dataset-api/compare.ts';
import { PortalGoneError, VerifyFailedError } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { ItemAction } from '../../model/report.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import { editedFields } from '../compare/decide.ts';
import {
  asRead,
  differences,
  driftHeld,
  isKnownDifference,
  isOurs,
  logOf,
  type NodeWish,
  newNonce,
  unexpectedFields,
} from '../compare/node.ts';
import type { Item } from './item.ts';
import type { NodeTarget, WrittenNode } from './node-locate.ts';
import { factsOf, type WriteMore, writeNode } from './node-write.ts';

interface ProvenNode {
  entry: LedgerEntry;
  node: PortalNode;
}

/**
 * Proves that a node holds what is wanted; `node` as it was read after the last write, null to read it now. One that was
 * changed on the portal since our last write is restored, once. After a write of this job a difference is the portal's: an
 * essential field fails, any other one is remembered and reported as a warning.
 * @throws VerifyFailedError, PortalGoneError when the node is gone or not ours
 */
export const proveNode = async (
  target: NodeTarget,
  wish: NodeWish,
  { entry, node: known }: WrittenNode,
  more: WriteMore = {},
): Promise<ProvenNode> => {
  const { item, portal, onDrift } = target;
  const read = known ?? (await readOurs(target, wish, entry));
  const { wished, facts } = await factsOf(target, wish, { entry, node: read });
  const prove = (node: PortalNode, now: LedgerEntry, kept: readonly string[]): Promise<ProvenNode> => {
    const wrong = unexpectedFields(wished, now, node).filter((field) => !kept.includes(field));
    return settled(target, wished, { entry: now, node, wrong, kept });
  };
  if (isWrittenBy(item)) return prove(await growItems(target, wished, read), entry, facts.sent?.kept ?? []);
  const edited = editedFields(wished, facts);
  if (edited.length > 0 && onDrift === 'hold') throw driftHeld(portal, read, edited);
  const kept = onDrift === 'keep' ? edited : [];
  const open = [...unexpectedFields(wished, entry, read), ...edited].filter((field) => !kept.includes(field));
  if (open.length === 0) return prove(read, entry, kept);
  await item.note(`node ${entry.nid} was changed on the portal (${[...new Set(open)].join(', ')}): restoring it`);
  const restored = await writeNode(target, wish, { ...entry, metadataFingerprint: null }, more);
  return prove(restored.node ?? (await readOurs(target, wish, restored.entry)), restored.entry, kept);
};

/**
 * Portals with an editing form accept one more item of a field with each write. Repeats the write while that adds items, and
 * returns the node as it is then.
 */
const growItems = async ({ item, portal }: NodeTarget, wish: NodeWish, read: PortalNode): Promise<PortalNode> => {
  if ((await portal.dialectInUse(item.signal)) !== 'form') return read;
  let node = read;
  for (let hasGrown = true; hasGrown; ) {
    const before = node;
    const short = Object.entries(wish.fields).filter(([name, value]) => {
      const held = itemsIn(before[name]);
      return held > 0 && itemsIn(value) > held;
    });
    if (short.length === 0) break;
    await item.note(`the portal accepted some items of ${short.map(([name]) => name).join(', ')}: sending the next`);
    await portal.nodes.update(
      node.nid,
      { log: logOf(wish, newNonce()), fields: Object.fromEntries(short) },
      item.signal,
      node,
    );
    node = await portal.nodes.read(node.nid, item.signal);
    const now = node;
    hasGrown = short.some(([name]) => itemsIn(now[name]) > itemsIn(before[name]));
  }
  return node;
};

const itemsIn = (value: unknown): number => countItems(value) ?? 0;

const isWrittenBy = ({ actions }: Item): boolean => actions.some((action) => nodeWrites.has(action));

const nodeWrites: ReadonlySet<ItemAction> = new Set<ItemAction>(['created', 'updated', 'recreated', 'adopted']);

const readOurs = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry): Promise<PortalNode> => {
  const { item, portal } = target;
  const node = await portal.nodes.read(entry.nid ?? '', item.signal);
  if (isOurs(node, wish, entry.uuid, await portal.dialectInUse(item.signal))) return node;
  const request = { method: 'GET', path: `node ${node.nid}`, status: 200 };
  throw new PortalGoneError(
    `${portal.name}: node ${node.nid} is no longer ours: it is the ${node.type} "${node.title}"`,
    request,
  );
};

/** A node that was read: the fields that differ, and those that stay as edited. */
interface Looked extends ProvenNode {
  wrong: readonly string[];
  kept: readonly string[];
}

/** The entry with what the node holds. @throws VerifyFailedError where an essential field differs */
const settled = async (
  target: NodeTarget,
  wish: NodeWish,
  { entry, node, wrong, kept }: Looked,
): Promise<ProvenNode> => {
  const essential = wrong.filter((field) => isEssential(field));
  if (essential.length > 0) throw notAsSent(target.portal, wish, node, essential);
  const unsent = wrong.length === 0 ? {} : await target.portal.nodes.unsendable(wish.fields, target.item.signal);
  const got = (field: string): string => [shownField(node, field), ...(unsent[field] ?? [])].join('; ');
  for (const field of wrong)
    await target.item.note(`the portal does not hold ${field} as sent: it holds ${got(field)}`);
  const different = differences(wish, node);
  const stillKnown = Object.entries(entry.notHeld).filter(
    ([field]) => field in wish.fields && isKnownDifference(entry, node, field) && different.includes(field),
  );
  const notHeld = Object.fromEntries([...stillKnown, ...wrong.map((field) => [field, got(field)])]);
  const now = Object.entries(baselineOf(wish.fields, node)).filter(([field]) => !kept.includes(field));
  // Of fields that others edited, the baseline from before the edit.
  const before = Object.entries(entry.baseline ?? {}).filter(([field]) => kept.includes(field));
  return {
    node,
    entry: {
      ...entry,
      ...asRead(node, entry),
      notHeld,
      baseline: Object.fromEntries([...before, ...now]),
    },
  };
};

/** Title, published state, and the link of a resource without a file. */
const isEssential = (field: string): boolean => field === 'title' || field === 'status' || field === 'field_link_api';

const notAsSent = (portal: Portal, wish: NodeWish, node: PortalNode, wrong: readonly string[]): VerifyFailedError =>
  new VerifyFailedError(
    `${portal.name}: node ${node.nid} ("${wish.title}") does not hold what was sent: ${wrong
      .map(
        (field) =>
          `${field} is ${field === 'status' ? (node.status === '1' ? 'published' : 'unpublished') : shownField(node, field)}`,
      )
      .join(', ')}`,
    { hint: 'the portal may not allow this user to set these fields; check the node and the manifest' },
  );

// Verifies that a node holds what is wanted, as a reader of the portal sees it; what the portal did not store as sent is completed.
import { baselineOf, countItems, shownField } from '../../dataset-api/compare.ts';
import { PortalGoneError, VerifyFailedError } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { ItemAction } from '../../model/report.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import {
  asRead,
  differences,
  driftHeld,
  editedFields,
  holdsLinks,
  isKnownDifference,
  isOurs,
  linkedNids,
  linksField,
  logOf,
  type NodeWish,
  newNonce,
  unexpectedFields,
} from '../compare/node.ts';
import type { NodeTarget, WrittenNode } from './node-locate.ts';
import { factsOf, updatePatiently, type WriteMore, writeNode } from './node-write.ts';

type ProvenNode = WrittenNode & { node: PortalNode };

/**
 * Proves that a node holds what is wanted (`node` null: it is read now). One that others changed is restored, once. After a
 * write of this job a difference is the portal's: an essential field fails, any other one becomes a warning.
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
  if (item.actions.some((action) => nodeWrites.has(action)))
    return settled(target, wished, { entry, node: await growItems(target, wished, read) }, facts.sent?.kept ?? []);
  const edited = editedFields(wished, facts);
  if (edited.length > 0 && onDrift === 'hold') throw driftHeld(portal, read, edited);
  const kept = onDrift === 'keep' ? edited : [];
  const open = [...unexpectedFields(wished, entry, read), ...edited].filter((field) => !kept.includes(field));
  if (open.length === 0) return settled(target, wished, { entry, node: read }, kept);
  await item.note(`node ${entry.nid} was changed on the portal (${[...new Set(open)].join(', ')}): restoring it`);
  const restored = await writeNode(target, wish, { ...entry, metadataFingerprint: null }, more);
  const node = restored.node ?? (await readOurs(target, wish, restored.entry));
  return settled(target, wished, { entry: restored.entry, node }, kept);
};

const nodeWrites: ReadonlySet<ItemAction> = new Set<ItemAction>(['created', 'updated', 'recreated', 'adopted']);

/** Portals with an editing form accept one more item of a field with each write: repeats it while that adds items. */
const growItems = async ({ item, portal }: NodeTarget, wish: NodeWish, read: PortalNode): Promise<PortalNode> => {
  if ((await portal.dialectInUse(item.signal)) !== 'form') return read;
  const itemsIn = (value: unknown): number => countItems(value) ?? 0;
  for (let node = read; ; ) {
    const before = node;
    const short = Object.entries(wish.fields).filter(([name, value]) => {
      const held = itemsIn(before[name]);
      return held > 0 && itemsIn(value) > held;
    });
    if (short.length === 0) return before;
    await item.note(`the portal accepted some items of ${short.map(([name]) => name).join(', ')}: sending the next`);
    const changes = { log: logOf(wish, newNonce()), fields: Object.fromEntries(short) };
    await portal.nodes.update(before.nid, changes, item.signal, before);
    const now = await portal.nodes.read(before.nid, item.signal);
    if (!short.some(([name]) => itemsIn(now[name]) > itemsIn(before[name]))) return now;
    node = now;
  }
};

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

/** Title, published state, and the link of a resource without a file. */
const essential: ReadonlySet<string> = new Set(['title', 'status', 'field_link_api']);

/** The entry with what the node holds; `kept` are fields that stay as edited. @throws VerifyFailedError where an essential field differs */
const settled = async ({ portal, item }: NodeTarget, wish: NodeWish, { entry, node }: ProvenNode, kept: string[]) => {
  const wrong = unexpectedFields(wish, entry, node).filter((field) => !kept.includes(field));
  const fatal = wrong.filter((field) => essential.has(field));
  if (fatal.length > 0) {
    const status = node.status === '1' ? 'published' : 'unpublished';
    const held = fatal.map((field) => `${field} is ${field === 'status' ? status : shownField(node, field)}`);
    throw new VerifyFailedError(
      `${portal.name}: node ${node.nid} ("${wish.title}") does not hold what was sent: ${held.join(', ')}`,
      { hint: 'the portal may not allow this user to set these fields; check the node and the manifest' },
    );
  }
  const unsent = wrong.length === 0 ? {} : await portal.nodes.unsendable(wish.fields, item.signal);
  const got = wrong.map((field) => [field, [shownField(node, field), ...(unsent[field] ?? [])].join('; ')] as const);
  for (const [field, what] of got) await item.note(`the portal does not hold ${field} as sent: it holds ${what}`);
  const different = differences(wish, node);
  const stillKnown = Object.entries(entry.notHeld).filter(
    ([field]) => field in wish.fields && isKnownDifference(entry, node, field) && different.includes(field),
  );
  const now = Object.entries(baselineOf(wish.fields, node)).filter(([field]) => !kept.includes(field));
  // Of fields that others edited, the baseline from before the edit.
  const before = Object.entries(entry.baseline ?? {}).filter(([field]) => kept.includes(field));
  const notHeld = Object.fromEntries([...stillKnown, ...got]);
  const baseline = Object.fromEntries([...before, ...now]);
  return { node, entry: { ...entry, ...asRead(node, entry), notHeld, baseline } };
};

/** Makes the list hold ours in order; editing forms take one more item a write, by position. @throws VerifyFailedError */
export const completeLinks = async (target: NodeTarget, wish: NodeWish, node: PortalNode, links: readonly string[]) => {
  const { item, portal } = target;
  const grows = (await portal.dialectInUse(item.signal)) === 'form';
  let now = node;
  for (let writes = 0; !holdsLinks(linkedNids(now), links); writes++) {
    const held = linkedNids(now);
    const missing = links.filter((nid) => !held.includes(nid));
    if (writes > links.length + 1 || (writes > 1 && !grows)) {
      if (missing.length === 0) break; // in another order than ours, which the portal does not change
      throw new VerifyFailedError(
        `${portal.name}: the list of dataset node ${now.nid} does not hold the resource nodes ${missing.join(', ')}`,
        { hint: 'they may have been deleted or unlinked just now: publish again; if it persists, look at both nodes' },
      );
    }
    const why = missing.length === 0 ? 'in another order' : `without ${missing.length} of ${links.length} resources`;
    await item.note(`the list of the dataset is ${why}: writing it`);
    const fields = grows && missing.length > 0 ? linksField([], [...held, ...missing]) : linksField(held, links);
    await updatePatiently(target, now, { log: logOf(wish, newNonce()), fields }, item.signal);
    await item.did('updated');
    now = await portal.nodes.read(now.nid, item.signal);
    // Lists are not stored as sent here: the other side is written instead.
    if (!grows && !holdsLinks(linkedNids(now), links)) now = await linkFromResources(target, now, links);
  }
  return now;
};

const linkFromResources = async ({ item, portal }: NodeTarget, dataset: PortalNode, links: readonly string[]) => {
  const missing = links.filter((nid) => !linkedNids(dataset).includes(nid));
  if (missing.length === 0) return dataset;
  portal.traits.learn({ linksByList: false });
  for (const nid of missing) {
    const resource = await portal.nodes.read(nid, item.signal);
    const fields = { field_dataset_ref: { und: [{ target_id: dataset.nid }] } };
    await portal.nodes.update(nid, { log: resource.log, fields }, item.signal, resource);
  }
  return portal.nodes.read(dataset.nid, item.signal);
};

// Creating or updating the node of a dataset or resource, with effect once: intent first, look before repeating.

import { besideSent } from '../dkan/compare.ts';
import { PortalConflictError, PortalGoneError, VerifyFailedError } from '../errors.ts';
import type { Intent, LedgerEntry, SentNode } from '../ledger/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OnDrift } from '../manifest/schema.ts';
import type { Portal, PortalNode } from '../portal/client.ts';
import type { ItemAction } from '../report.ts';
import { changedBeside, driftHeld, editedFields, editOf, keptFields } from './drift.ts';
import type { Item } from './item.ts';
import { differences, markerOf, type NodeWish } from './node-wish.ts';

/** Where a node is written. */
export interface NodeTarget {
  item: Item;
  ledger: Ledger;
  portal: Portal;
  /** What to do with a node that somebody edited on the portal. */
  onDrift: OnDrift;
  /** Uuids of the nodes that are probably created next when this one is. */
  next?: readonly string[];
}

/**
 * Makes the portal hold the node and returns the ledger entry with its nid. Sends nothing when the ledger proves that
 * the portal holds it already. An entry with `metadataFingerprint` null says that the fields are not verified yet.
 */
export const writeNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  intent: Intent | null,
): Promise<LedgerEntry> => {
  const known = intent?.action === 'create' ? await resumeCreate(target, wish, entry, intent) : entry;
  if (!known.nid) return createNode(target, wish, known);
  if (known.metadataFingerprint === wish.fingerprint && known.removed === null) return known;
  try {
    return await updateNode(target, wish, known, intent?.action === 'update' ? intent : null);
  } catch (error) {
    if (!(error instanceof PortalGoneError)) throw error;
    return recreateNode(target, wish, known);
  }
};

/** Creates a node anew that vanished from the portal; what was known of its file goes with it. */
export const recreateNode = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry): Promise<LedgerEntry> => {
  await target.item.note(`node ${entry.nid} is not on the portal any more: creating it anew`);
  await target.item.did('recreated');
  const empty: LedgerEntry = {
    ...entry,
    nid: null,
    vid: null,
    url: null,
    metadataFingerprint: null,
    fieldNames: [],
    file: null,
    datastore: 'none',
    rows: null,
    live: false,
    stale: false,
    refused: entry.refused && { ...entry.refused, isReplaced: false },
  };
  await target.ledger.settle(target.item.portal, empty);
  return createNode(target, wish, empty);
};

const resumeCreate = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  intent: Extract<Intent, { action: 'create' }>,
): Promise<LedgerEntry> => {
  const { item, portal } = target;
  const found = (await portal.findByUuid(wish.uuid, item.signal))?.nid ?? (await findAbove(target, wish, intent));
  if (found === null) {
    await item.note('an interrupted create left nothing on the portal: creating again');
    return entry;
  }
  await item.note(`an interrupted create had taken effect: going on with node ${found}`);
  await item.did('created');
  return settleNode(target, wish, { ...entry, nid: found, fieldNames: Object.keys(wish.fields) }, sentOf(wish));
};

/** Where lists hide the node or the portal ignores uuids: reads the nodes above the mark one by one. */
const findAbove = async (
  target: NodeTarget,
  wish: NodeWish,
  intent: Extract<Intent, { action: 'create' }>,
): Promise<string | null> => {
  const { item, portal } = target;
  if (intent.highestNid === '') return null; // the list was trusted when the create began
  const highest = Number(await portal.highestNid(item.signal));
  // Unpublished nodes do not show in the list either, so a few ids above the highest listed one are tried as well.
  for (let nid = Number(intent.highestNid) + 1; nid <= highest + hiddenBeyond; nid++) {
    const node = await readOrNull(portal, String(nid), item.signal);
    if (node && node.type === wish.type && node.title === wish.title && node.log === intent.marker) return node.nid;
  }
  return null;
};

const hiddenBeyond = 50;

const readOrNull = async (portal: Portal, nid: string, signal: AbortSignal): Promise<PortalNode | null> => {
  try {
    return await portal.readNode(nid, signal);
  } catch (error) {
    if (error instanceof PortalGoneError) return null;
    throw error;
  }
};

const createNode = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry): Promise<LedgerEntry> => {
  const { item, ledger, portal } = target;
  // Nothing of ours is under way here, so what the dataset's job heard of its resources a moment ago still holds.
  const there = await portal.findByUuid(wish.uuid, item.signal, {
    next: target.next ?? [],
    recent: item.attempt === 1,
  });
  if (there) return adopt(target, wish, entry, there.nid);
  const marker = markerOf(wish);
  // A published node with our uuid shows in the list of an entity portal; elsewhere remember how far the ids went.
  const listed = wish.published && (await portal.dialectInUse(item.signal)) === 'entity';
  const highestNid = listed ? '' : await portal.highestNid(item.signal);
  return item.step(
    { name: 'create', on: `${wish.type} "${wish.title}"`, writes: true },
    async (signal) => {
      await ledger.begin(item.portal, wish.key, { action: 'create', highestNid, marker, at: Date.now() });
      try {
        const { nid } = await portal.createNode(
          {
            type: wish.type,
            title: wish.title,
            status: wish.published ? 1 : 0,
            uuid: wish.uuid,
            log: marker,
            fields: wish.fields,
          },
          signal,
        );
        await item.did('created');
        return await settleNode(target, wish, { ...entry, nid, fieldNames: Object.keys(wish.fields) }, sentOf(wish));
      } catch (error) {
        if (error instanceof PortalConflictError && error.nid) return adopt(target, wish, entry, error.nid);
        throw error;
      }
    },
    (settled) => `node ${settled.nid}`,
  );
};

/** The portal holds a node with our uuid: it is ours, whatever the ledger has lost. */
const adopt = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry, nid: string): Promise<LedgerEntry> => {
  await target.item.note(`the portal already holds this ${wish.type} as node ${nid}: adopting it`);
  await target.item.did('adopted');
  const known = await settleNode(target, wish, { ...entry, nid, metadataFingerprint: null });
  return updateNode(target, wish, known, null);
};

const settleNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  sent?: SentNode,
): Promise<LedgerEntry> => {
  const settled: LedgerEntry = {
    ...entry,
    uuid: wish.uuid,
    title: wish.title,
    removed: null,
    missingSince: null,
    runId: target.item.runId,
    syncedAt: Date.now(),
  };
  await target.ledger.settle(target.item.portal, settled, sent);
  return settled;
};

/** Undoes the mark of an orphan that is wished again. */
const noOrphan = { field_orphan: { und: [{ value: '0' }] } };

const sentOf = (wish: NodeWish): SentNode => ({ title: wish.title, published: wish.published, fields: wish.fields });

/** Fields that somebody edited on the portal, and those of them that are to stay so. @throws DriftError when the item is to be held */
const fieldsToKeep = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  node: PortalNode,
): Promise<{ kept: ReadonlySet<string>; edited: string[]; sent: SentNode | null }> => {
  const sent = await target.ledger.sentFor(target.item.portal, wish.key);
  // What was taken down differs by our own doing.
  if (entry.removed !== null) return { kept: new Set(), edited: [], sent };
  const isKept = target.onDrift === 'keep';
  const fields = (isKept ? keptFields : editedFields)(wish, { entry, sent, node });
  if (fields.length === 0) return { kept: new Set(), edited: [], sent };
  if (target.onDrift === 'hold') throw driftHeld(target.portal, node, fields);
  const choice = isKept ? 'left as they are' : 'overwriting them';
  await target.item.note(`node ${node.nid} was edited on the portal ${editOf(node)} (${fields.join(', ')}): ${choice}`);
  return { kept: new Set(isKept ? fields : []), edited: fields, sent };
};

/** What counts as sent after a write that left some fields alone: of those, what was sent before. */
const sentBeside = (wish: NodeWish, kept: ReadonlySet<string>, before: SentNode | null): SentNode => {
  const sent = sentOf(wish);
  if (!before || kept.size === 0) return sent;
  const fields = Object.entries(before.fields).filter(([name]) => kept.has(name));
  return {
    title: kept.has('title') ? before.title : sent.title,
    published: kept.has('status') ? before.published : sent.published,
    fields: { ...sent.fields, ...Object.fromEntries(fields) },
    kept: [...kept],
  };
};

const updateNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  intent: Extract<Intent, { action: 'update' }> | null,
): Promise<LedgerEntry> => {
  const { item, ledger, portal } = target;
  const nid = entry.nid ?? '';
  const marker = markerOf(wish);
  const before = await portal.readNode(nid, item.signal);
  if (intent && intent.marker === marker && before.vid !== intent.vid && before.log === marker) {
    await item.note('an interrupted update had taken effect');
    await item.did('updated');
    return settleNode(target, wish, { ...entry, vid: before.vid, fieldNames: Object.keys(wish.fields) }, sentOf(wish));
  }
  if (intent) await item.note('an interrupted update had not taken effect: updating again');
  // The marker vouches for the terms, unless they were edited since: portals carry a log on to later revisions.
  const isEdited =
    entry.metadataFingerprint === wish.fingerprint && changedBeside(entry, wish.fields, before).length > 0;
  if (before.log === marker && !isEdited && differences(wish, before).length === 0) {
    await item.note(`node ${nid} already holds the wished metadata`);
    return settleNode(target, wish, { ...entry, vid: before.vid, fieldNames: Object.keys(wish.fields) }, sentOf(wish));
  }
  const { kept, sent } = await fieldsToKeep(target, wish, entry, before);
  const isLeft = (name: string): boolean => kept.has(name);
  const emptied = entry.fieldNames.filter((name) => !(name in wish.fields) && !isLeft(name));
  if (kept.size > 0 && emptied.length === 0 && differences(wish, before).every(isLeft)) {
    return settleNode(target, wish, { ...entry, vid: before.vid, metadataFingerprint: wish.fingerprint });
  }
  return item.step({ name: 'update', on: `node ${nid}`, writes: true }, async (signal) => {
    await ledger.begin(item.portal, wish.key, { action: 'update', nid, vid: before.vid, marker, at: Date.now() });
    const fields = Object.entries({
      ...Object.fromEntries(emptied.map((name) => [name, []])),
      ...(entry.removed === 'orphan' ? noOrphan : {}),
      ...wish.fields,
    });
    await portal.updateNode(
      nid,
      {
        ...(isLeft('title') ? {} : { title: wish.title }),
        ...(isLeft('status') ? {} : { status: wish.published ? 1 : 0 }),
        log: marker,
        fields: Object.fromEntries(fields.filter(([name]) => !isLeft(name))),
      },
      signal,
    );
    await item.did('updated');
    const fieldNames = Object.keys({ ...wish.fields, ...Object.fromEntries([...kept].map((name) => [name, true])) });
    return settleNode(target, wish, { ...entry, fieldNames: fieldNames.filter(isField) }, sentBeside(wish, kept, sent));
  });
};

const isField = (name: string): boolean => name !== 'title' && name !== 'status';

/**
 * Reads a node back and proves that it holds what is wished. One that was changed on the portal since we wrote it is
 * written again, once; after a write of this job a difference is the portal's doing: {@link VerifyFailedError}.
 */
export const proveNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  signal: AbortSignal,
): Promise<{ entry: LedgerEntry; node: PortalNode }> => {
  const node = await target.portal.readNode(entry.nid ?? '', signal);
  const isWritten = target.item.actions.some((action) => nodeWrites.has(action));
  const other = differences(wish, node);
  if (isWritten && other.length === 0 && target.onDrift !== 'keep') return { entry: proven(wish, entry, node), node };
  const { kept, edited } = isWritten
    ? { kept: new Set((await target.ledger.sentFor(target.item.portal, wish.key))?.kept), edited: [] }
    : await fieldsToKeep(target, wish, entry, node);
  const wrong = [...new Set([...other, ...edited])].filter((field) => !kept.has(field));
  if (wrong.length === 0) return { entry: proven(wish, entry, node, kept), node };
  if (isWritten) throw notAsSent(target.portal, wish, node, wrong);
  await target.item.note(`node ${entry.nid} was changed on the portal (${wrong.join(', ')}): restoring it`);
  const restored = await updateNode(target, wish, entry, null);
  const now = await target.portal.readNode(restored.nid ?? '', signal);
  const still = differences(wish, now).filter((field) => !kept.has(field));
  if (still.length > 0) throw notAsSent(target.portal, wish, now, still);
  return { entry: proven(wish, restored, now, kept), node: now };
};

/** The entry with what the node is seen to hold; of fields that somebody else made, what it held before that. */
const proven = (
  wish: NodeWish,
  entry: LedgerEntry,
  node: PortalNode,
  kept: ReadonlySet<string> = new Set(),
): LedgerEntry => {
  const now = Object.entries(besideSent(wish.fields, node)).filter(([field]) => !kept.has(field));
  const before = Object.entries(entry.beside ?? {}).filter(([field]) => kept.has(field));
  return { ...entry, vid: node.vid, beside: Object.fromEntries([...before, ...now]) };
};

const nodeWrites: ReadonlySet<ItemAction> = new Set<ItemAction>(['created', 'updated', 'recreated', 'adopted']);

const notAsSent = (portal: Portal, wish: NodeWish, node: PortalNode, wrong: string[]): VerifyFailedError =>
  new VerifyFailedError(
    `${portal.name}: node ${node.nid} ("${wish.title}") does not hold what was sent: ${wrong.join(', ')}`,
    { hint: 'the portal may not allow this user to set these fields, or map them; look at the node and the manifest' },
  );

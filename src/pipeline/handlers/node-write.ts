// Creates or updates the node of a dataset or resource, exactly once: the intent first, and a look before a repeat.
import { countItems, missingFields } from '../../dataset-api/compare.ts';
import { PortalBusyError, PortalGoneError, PortalRefusedError } from '../../model/errors.ts';
import type { Intent, LedgerEntry, SentNode } from '../../model/ledger-entry.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { NodeRow, PortalNode } from '../../portal-client/client.ts';
import {
  changedBaseline,
  differences,
  driftHeld,
  editedFields,
  editOf,
  isKnownDifference,
  keptFields,
  linkedNids,
  markerOf,
  type NodeWish,
  resolveAt,
  unexpectedFields,
} from '../compare/node.ts';
import { type Located, locateNode, type NodeTarget, unknownNode, type WrittenNode } from './node-locate.ts';
import { retryWhileBusy, updatePatiently } from './patient-write.ts';
import { withTerms } from './terms.ts';

/** What else is written along with a node. */
export interface WriteMore {
  /** Fields that are no part of the wish's fingerprint; given the node as it is (null: a new one), null where nothing need be written. */
  also?: (node: PortalNode | null) => NodeFields | null;
  /** True: the node is checked although the ledger says that it is verified. */
  isDoubted?: boolean;
  /** Fields that only a new node gets. */
  atCreation?: NodeFields;
}

/**
 * Makes the portal hold the node and returns the ledger entry with its nid. A node is proved ours before it is written; one
 * that is not, or is gone, is recreated. `metadataFingerprint` null means that the fields are not verified yet.
 */
export const writeNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  intent: Intent | null,
  more: WriteMore = {},
): Promise<WrittenNode> => {
  const located = await locateNode(target, wish, entry, intent);
  const found = located.entry;
  if (found.nid === null)
    return entry.nid === null ? createNode(target, wish, found, more) : recreateNode(target, wish, found, more);
  if (entry.nid === null || found.nid !== entry.nid) return adopt(target, wish, located, intent, more);
  if (isSettled(wish, found, located.row, more)) return { entry: found, node: located.node };
  try {
    return await updateNode(target, wish, located, intent?.action === 'update' ? intent : null, more);
  } catch (error) {
    if (!(error instanceof PortalGoneError)) throw error;
    return recreateNode(target, wish, found, more);
  }
};

/** True where the ledger says that the node is verified, and nothing suggests a change since. */
const isSettled = (wish: NodeWish, entry: LedgerEntry, row: NodeRow | null, { also, isDoubted }: WriteMore): boolean =>
  entry.metadataFingerprint === wish.fingerprint &&
  entry.removed === null &&
  isDoubted !== true &&
  also === undefined &&
  (row === null || row.status === (wish.published ? '1' : '0'));

/** Recreates a node that is no longer on the portal; what was known of its file goes with it. */
export const recreateNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  more: WriteMore = {},
): Promise<WrittenNode> => {
  const lost = unknownNode(entry);
  await target.item.note('recreating it');
  await target.item.did('recreated');
  await target.ledger.settle(target.item.portal, lost);
  return createNode(target, wish, lost, more);
};

/** The error of a node that is gone again after it was recreated: the next attempt may succeed. */
export const takenBack = (error: PortalGoneError): PortalBusyError =>
  new PortalBusyError(`${error.message}, although it was created just now`, error.request, {
    hint: "nothing to do: the portal's database undid it, and it is created again soon; if it happens often, lower `concurrency` of this portal",
    cause: error,
  });

const createNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  { also, atCreation }: WriteMore,
): Promise<WrittenNode> => {
  const { item, ledger, portal } = target;
  const marker = markerOf(wish);
  await refusePublishing(target, wish);
  // Entity portals list a published node by our uuid; elsewhere the highest id shows where to search after a kill.
  const listed = wish.published && (await portal.dialectInUse(item.signal)) === 'entity';
  const highestNid = listed ? '' : await portal.highestNid(item.signal);
  const write = (fields: NodeFields): Promise<WrittenNode> =>
    item.step(
      { name: 'create', on: `${wish.type} "${wish.title}"`, writes: true },
      async (signal) => {
        await ledger.begin(item.portal, wish.key, { action: 'create', highestNid, marker, at: Date.now() });
        const { type, title, uuid } = wish;
        const status = wish.published ? 1 : 0;
        const input = {
          type,
          title,
          status,
          uuid,
          log: marker,
          fields: { ...fields, ...atCreation, ...also?.(null) },
        } as const;
        const nid = await retryWhileBusy(target, {
          write: async () => (await portal.createNode(input, signal)).nid,
          look: async () => (await portal.findByUuid(uuid, signal))?.nid ?? null,
          resources: linkedNids(input.fields),
        });
        await item.did('created');
        const settled = { ...entry, nid, fieldNames: Object.keys(wish.fields) };
        return { entry: await settleNode(target, wish, settled, sentOf(wish)), node: null };
      },
      (written) => `node ${written.entry.nid}`,
    );
  return withTerms(target, wish, { node: undefined, write });
};

/** Portals with an editing form publish whatever they create, so a draft would be public. @throws PortalRefusedError */
const refusePublishing = async ({ item, portal }: NodeTarget, wish: NodeWish): Promise<void> => {
  if (wish.published || (await portal.dialectInUse(item.signal)) === 'entity') return;
  throw new PortalRefusedError(
    `${portal.name}: this older portal publishes every node that it creates, so "${wish.title}" was not created`,
    { method: 'POST', path: 'node', mayHaveHappened: false },
    { hint: 'publish it (`published: true`), or make the draft by hand on the portal and link it by `sluice adopt`' },
  );
};

/** Adopts a node that the portal holds and the ledger does not name; after an interrupted create it is our own. */
const adopt = async (
  target: NodeTarget,
  wish: NodeWish,
  located: Located,
  intent: Intent | null,
  more: WriteMore,
): Promise<WrittenNode> => {
  const { item } = target;
  const { nid } = located.entry;
  const fieldNames = Object.keys(wish.fields);
  if (intent?.action === 'create') {
    await item.note(`an interrupted create had taken effect: going on with node ${nid}`);
    await item.did('created');
    const entry = await settleNode(target, wish, { ...located.entry, fieldNames }, sentOf(wish));
    return updateNode(target, wish, { ...located, entry }, null, more);
  }
  await item.note(`the portal already holds this ${wish.type} as node ${nid}: adopting it`);
  await item.did('adopted');
  const entry = await settleNode(target, wish, { ...located.entry, metadataFingerprint: null });
  return updateNode(target, wish, { ...located, entry }, null, more);
};

const settleNode = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  sent?: SentNode,
): Promise<LedgerEntry> => {
  const settled: LedgerEntry = {
    ...entry,
    uuid: entry.uuid || wish.uuid,
    title: wish.title,
    removed: null,
    missingSince: null,
    runId: target.item.runId,
    syncedAt: Date.now(),
  };
  await target.ledger.settle(target.item.portal, settled, { sent });
  return settled;
};

/** Removes the mark of an orphan that is wanted again. */
const noOrphan = { field_orphan: { und: [{ value: '0' }] } };

const sentOf = (wish: NodeWish): SentNode => ({ title: wish.title, published: wish.published, fields: wish.fields });

/** Which edits of a node stay, and which are overwritten. */
interface Edits {
  kept: ReadonlySet<string>;
  edited: string[];
  sent: SentNode | null;
}

/** Fields that were edited on the portal, and those of them that stay. @throws DriftError when the item is held */
export const editsOf = async (
  target: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  node: PortalNode,
): Promise<Edits> => {
  const { item, ledger, portal, onDrift } = target;
  const sent = await ledger.sentFor(item.portal, wish.key);
  // A removed node differs by our own write.
  if (entry.removed !== null || sent === null) return { kept: new Set(), edited: [], sent };
  const known = await portal.terms.find(sent.fields, item.signal, { node });
  const isKept = onDrift === 'keep';
  const compared = { entry, sent: { ...sent, fields: known.fields }, node };
  const fields = (isKept ? keptFields : editedFields)(wish, compared).filter(
    (field) => !isKnownDifference(entry, node, field),
  );
  if (fields.length === 0) return { kept: new Set(), edited: [], sent };
  if (onDrift === 'hold') throw driftHeld(portal, node, fields);
  const choice = isKept ? 'left as they are' : 'overwriting them';
  await item.note(`node ${node.nid} was edited on the portal ${editOf(node)} (${fields.join(', ')}): ${choice}`);
  return { kept: new Set(isKept ? fields : []), edited: fields, sent };
};

/** What counts as sent after a write that kept some fields: of those, what was sent before. */
const sentKeeping = (wish: NodeWish, kept: ReadonlySet<string>, before: SentNode | null): SentNode => {
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
  located: Located,
  intent: Extract<Intent, { action: 'update' }> | null,
  { also }: WriteMore,
): Promise<WrittenNode> => {
  const { item, portal } = target;
  const { entry } = located;
  const nid = entry.nid ?? '';
  const marker = markerOf(wish);
  const before = located.node ?? (await portal.nodes.read(nid, item.signal));
  const fieldNames = Object.keys(wish.fields);
  const more = also?.(before) ?? null;
  const settleAsRead = async (): Promise<WrittenNode> => ({
    entry: await settleNode(target, wish, { ...entry, vid: before.vid, fieldNames }, sentOf(wish)),
    node: before,
  });
  if (intent && intent.marker === marker && before.vid !== intent.vid && before.log === marker && more === null) {
    await item.note('an interrupted update had taken effect');
    await item.did('updated');
    return settleAsRead();
  }
  if (intent) await item.note('an interrupted update had not taken effect: updating again');
  const { fields, fresh } = await resolveAt(portal, wish, before, item.signal);
  const wished = { ...wish, fields };
  // The marker vouches for terms of unknown ids, unless they were edited since: portals copy a log to later revisions.
  const isEdited = entry.metadataFingerprint === wish.fingerprint && changedBaseline(entry, fields, before).length > 0;
  const isVouched = before.log === marker || fresh.length === 0;
  const isWanted = (name: string): boolean =>
    name in wish.fields && (countItems(wish.fields[name]) !== 0 || isEmptyField(before[name]));
  const isEmptied = entry.fieldNames.every((name) => isWanted(name) || isEmptyField(before[name]));
  const isHeld = isVouched && isEmptied && !isEdited && unexpectedFields(wished, entry, before).length === 0;
  if (isHeld && more === null) {
    await item.note(`node ${nid} already has the metadata`);
    return settleAsRead();
  }
  const edits = await editsOf(target, wished, entry, before);
  const isLeft = (name: string): boolean => edits.kept.has(name);
  const emptied = entry.fieldNames.filter((name) => !isWanted(name) && !isLeft(name));
  const isOnlyKept = edits.kept.size > 0 && emptied.length === 0 && differences(wished, before).every(isLeft);
  if (more === null && isOnlyKept) {
    const settled = { ...entry, vid: before.vid, metadataFingerprint: wish.fingerprint };
    return { entry: await settleNode(target, wish, settled), node: before };
  }
  const write = async (resolved: NodeFields): Promise<WrittenNode> => {
    const all: NodeFields = {
      ...Object.fromEntries(emptied.map((name) => [name, []])),
      ...(entry.removed === 'orphan' ? noOrphan : {}),
      ...(isHeld ? {} : unchangedTermsOut(resolved, before)),
      ...more,
    };
    return sendUpdate(target, wish, { entry, before, edits, isHeld }, all);
  };
  return withTerms(target, wish, { node: before, write });
};

const isEmptyField = (value: unknown): boolean => value === undefined || (countItems(value) ?? 0) === 0;

/** Terms are sent only when they differ: the portal stores each reference anew. */
const unchangedTermsOut = (fields: NodeFields, node: PortalNode): NodeFields =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !JSON.stringify(value).includes('"tid"') || missingFields({ [name]: value }, node).length > 0,
    ),
  );

const sendUpdate = (
  target: NodeTarget,
  wish: NodeWish,
  { entry, before, edits, isHeld }: { entry: LedgerEntry; before: PortalNode; edits: Edits; isHeld: boolean },
  all: NodeFields,
): Promise<WrittenNode> => {
  const { item, ledger } = target;
  const { nid, vid } = before;
  const { kept, sent } = edits;
  const marker = markerOf(wish);
  const isLeft = (name: string): boolean => kept.has(name);
  return item.step({ name: 'update', on: `node ${nid}`, writes: true }, async (signal) => {
    await ledger.begin(item.portal, wish.key, { action: 'update', nid, vid, marker, at: Date.now() });
    const changes = {
      ...(isHeld || isLeft('title') ? {} : { title: wish.title }),
      ...(isHeld || isLeft('status') ? {} : { status: wish.published ? (1 as const) : (0 as const) }),
      log: marker,
      fields: Object.fromEntries(Object.entries(all).filter(([name]) => !isLeft(name))),
    };
    await updatePatiently(target, before, changes, signal);
    await item.did('updated');
    const names = Object.keys({ ...wish.fields, ...Object.fromEntries([...kept].map((name) => [name, true])) });
    const fieldNames = names.filter((name) => name !== 'title' && name !== 'status');
    return {
      entry: await settleNode(target, wish, { ...entry, fieldNames }, sentKeeping(wish, kept, sent)),
      node: null,
    };
  });
};

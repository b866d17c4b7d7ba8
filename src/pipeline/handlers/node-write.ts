// Creates or updates the node of a dataset or resource, exactly once: a pending write is recorded first, and looked for before a repeat.
import { PortalBusyError, PortalGoneError, PortalRefusedError } from '../../model/errors.ts';
import type { LedgerEntry, SentNode } from '../../model/ledger-entry.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { changesOf, decideUpdate, type NodeFacts, sentOf, type UpdateDecision } from '../compare/decide.ts';
import {
  bearsNonce,
  bearsWish,
  driftHeld,
  linkedNids,
  logOf,
  type NodeWish,
  newNonce,
  resolveAt,
} from '../compare/node.ts';
import { type Located, locateNode, type NodeTarget, unknownNode, type WrittenNode } from './node-locate.ts';
import { retryWhileBusy, updatePatiently } from './patient-write.ts';
import { writeWithTerms } from './terms.ts';

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
  more: WriteMore = {},
): Promise<WrittenNode> => {
  const located = await locateNode(target, wish, entry);
  const found = located.entry;
  if (found.nid === null)
    return entry.nid === null ? createNode(target, wish, found, more) : recreateNode(target, wish, found, more);
  if (found.nid !== entry.nid) return adoptNode(target, wish, located, more);
  if (isSettled(wish, located, more)) return { entry: found, node: located.node };
  try {
    return await updateNode(target, wish, located, more);
  } catch (error) {
    if (!(error instanceof PortalGoneError)) throw error;
    return recreateNode(target, wish, found, more);
  }
};

/** True where the ledger says that the node is verified, and nothing suggests a change since. */
const isSettled = (wish: NodeWish, { entry, row }: Located, { also, isDoubted }: WriteMore): boolean =>
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
  await target.item.note('recreating it');
  await target.item.did('recreated');
  return createNode(target, wish, await target.ledger.settle(target.item.portal, unknownNode(entry)), more);
};

/** The error of a node that is gone again after it was recreated: the next attempt may succeed. */
export const goneAgain = (error: PortalGoneError): PortalBusyError =>
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
  const { type, title, uuid, published } = wish;
  const isEntity = (await portal.dialectInUse(item.signal)) === 'entity';
  if (!published && !isEntity) throw publishesDrafts(target, wish);
  // Entity portals list a published node by our uuid; elsewhere the highest id shows where to search after a kill.
  const before = published && isEntity ? null : await portal.highestNid(item.signal);
  const write = (resolved: NodeFields): Promise<WrittenNode> =>
    item.step(
      { name: 'create', on: `${type} "${title}"`, writes: true },
      async (signal) => {
        const nonce = newNonce();
        const begun = await ledger.begin(item.portal, entry, { what: 'create', before, nonce });
        const fields = { ...resolved, ...atCreation, ...also?.(null) };
        const input = { type, title, status: published ? 1 : 0, uuid, log: logOf(wish, nonce), fields } as const;
        const nid = await retryWhileBusy(target, {
          write: async () => (await portal.createNode(input, signal)).nid,
          look: async () => (await portal.findByUuid(uuid, signal))?.nid ?? null,
          resources: linkedNids(fields),
        });
        await item.did('created');
        return { entry: await settleNode(target, wish, { ...begun, nid }, sentOf(wish)), node: null };
      },
      (written) => `node ${written.entry.nid}`,
    );
  return writeWithTerms(target, wish, { node: undefined, write });
};

/** Portals with an editing form publish whatever they create, so a draft would be public. */
const publishesDrafts = ({ portal }: NodeTarget, wish: NodeWish): PortalRefusedError =>
  new PortalRefusedError(
    `${portal.name}: this older portal publishes every node that it creates, so "${wish.title}" was not created`,
    { method: 'POST', path: 'node', mayHaveHappened: false },
    { hint: 'publish it (`published: true`), or make the draft by hand on the portal and link it by `sluice adopt`' },
  );

/** Adopts a node that the portal holds and the ledger does not name; after an interrupted create it is our own. */
const adoptNode = async (
  target: NodeTarget,
  wish: NodeWish,
  located: Located,
  more: WriteMore,
): Promise<WrittenNode> => {
  const { item } = target;
  const { entry } = located;
  const isCreated = entry.pending?.what === 'create';
  await item.note(
    isCreated
      ? `an interrupted create had taken effect: going on with node ${entry.nid}`
      : `the portal already holds this ${wish.type} as node ${entry.nid}: adopting it`,
  );
  await item.did(isCreated ? 'created' : 'adopted');
  const settled = isCreated
    ? await settleNode(target, wish, entry, sentOf(wish))
    : await settleNode(target, wish, { ...entry, metadataFingerprint: null });
  return updateNode(target, wish, { ...located, entry: settled }, more);
};

/** Records the node; with what was sent, where it holds that. A pending attach or import is for its own step. */
const settleNode = (
  { item, ledger }: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
  sent?: SentNode,
): Promise<LedgerEntry> =>
  ledger.put(
    item.portal,
    {
      ...entry,
      pending: entry.pending?.what === 'attach' || entry.pending?.what === 'import' ? entry.pending : null,
      uuid: entry.uuid || wish.uuid,
      title: wish.title,
      fieldNames: sent ? namesIn(wish, sent) : entry.fieldNames,
      removed: null,
      missingSince: null,
      runId: item.runId,
      syncedAt: Date.now(),
    },
    { sent },
  );

const namesIn = ({ fields }: NodeWish, { kept = [] }: SentNode): string[] => [
  ...new Set([...Object.keys(fields), ...kept.filter((name) => name !== 'title' && name !== 'status')]),
];

/** What an update is decided by. */
export const factsOf = async (
  { item, ledger, portal, onDrift }: NodeTarget,
  wish: NodeWish,
  { entry, node }: { entry: LedgerEntry; node: PortalNode },
): Promise<{ wished: NodeWish; facts: NodeFacts }> => {
  const { fields, fresh } = await resolveAt(portal, wish, node, item.signal);
  const last = await ledger.sentFor(item.portal, wish.key);
  const isSame = JSON.stringify(last?.fields) === JSON.stringify(wish.fields);
  const sent = last && {
    ...last,
    fields: isSame ? fields : (await portal.terms.find(last.fields, item.signal, { node })).fields,
  };
  // Our log vouches for terms of unknown ids.
  const lacksTerms = fresh.length > 0 && !bearsWish(node, wish);
  return { wished: { ...wish, fields }, facts: { entry, node, sent, onDrift, lacksTerms, also: null } };
};

const updateNode = async (
  target: NodeTarget,
  wish: NodeWish,
  { entry, node: read }: Located,
  { also }: WriteMore,
): Promise<WrittenNode> => {
  const { item, portal } = target;
  const node = read ?? (await portal.nodes.read(entry.nid ?? '', item.signal));
  const extra = also?.(node) ?? null;
  const asRead = { ...entry, vid: node.vid };
  if (entry.pending?.what === 'update') {
    const hasHappened = bearsWish(node, wish) && bearsNonce(node, wish.key, entry.pending);
    if (hasHappened && extra === null) {
      await item.note('an interrupted update had taken effect');
      await item.did('updated');
      return { entry: await settleNode(target, wish, asRead, sentOf(wish)), node };
    }
    await item.note('an interrupted update had not taken effect: updating again');
  }
  const { wished, facts: known } = await factsOf(target, wish, { entry, node });
  const facts = { ...known, also: extra };
  const decision = decideUpdate(wished, facts);
  if (decision.do === 'hold') throw driftHeld(portal, node, decision.fields);
  await item.note(decision.why);
  if (decision.do === 'nothing') return { entry: await settleNode(target, wish, asRead, sentOf(wish)), node };
  if (decision.do === 'keep')
    return { entry: await settleNode(target, wish, { ...asRead, metadataFingerprint: wish.fingerprint }), node };
  const write = (fields: NodeFields): Promise<WrittenNode> => sendUpdate(target, wish, { facts, decision, fields });
  return writeWithTerms(target, wish, { node, write });
};

interface Update {
  facts: NodeFacts;
  decision: Extract<UpdateDecision, { do: 'send' }>;
  /** Those of the wish, with terms as the portal takes them. */
  fields: NodeFields;
}

const sendUpdate = (target: NodeTarget, wish: NodeWish, { facts, decision, fields }: Update): Promise<WrittenNode> => {
  const { item, ledger } = target;
  const { node, entry } = facts;
  return item.step({ name: 'update', on: `node ${node.nid}`, writes: true }, async (signal) => {
    const nonce = newNonce();
    await ledger.begin(item.portal, entry, { what: 'update', before: null, nonce });
    const changes = { ...changesOf(wish, facts, decision, fields), log: logOf(wish, nonce) };
    await updatePatiently(target, node, changes, signal);
    await item.did('updated');
    return { entry: await settleNode(target, wish, entry, sentOf(wish, decision.kept, facts.sent)), node: null };
  });
};

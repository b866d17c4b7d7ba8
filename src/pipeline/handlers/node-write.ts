// Creates or updates a node exactly once: a pending write is recorded first, and looked for before a repeat. A term is created
// once over all workers; what the portal's database undoes is repeated, also after removing references that stop it.
import { setTimeout as sleep } from 'node:timers/promises';
import { PortalBusyError, PortalConflictError, PortalError, PortalRefusedError } from '../../model/errors.ts';
import type { LedgerEntry, SentNode } from '../../model/ledger-entry.ts';
import type { NodeFields } from '../../model/wish.ts';
import { isAnswer, type NodeChanges, type PortalNode } from '../../portal-client/client.ts';
import {
  bearsNonce,
  bearsWish,
  changesOf,
  decideUpdate,
  driftHeld,
  linkedNids,
  logOf,
  type NodeFacts,
  type NodeWish,
  newNonce,
  nidsIn,
  resolveAt,
  sentOf,
} from '../compare/node.ts';
import { asOf } from './item.ts';
import { type Located, locateNode, type NodeTarget, unknownNode, type WrittenNode } from './node-locate.ts';

export interface WriteMore {
  /** Fields that are no part of the wish's fingerprint; given the node as it is (null: a new one), null where nothing need be written. */
  also?: (node: PortalNode | null) => NodeFields | null;
  /** True: the node is checked although the ledger says that it is verified. */
  isDoubted?: boolean;
  atCreation?: NodeFields;
}

/** Makes the portal hold the node: one that is not ours, or gone, is recreated. `metadataFingerprint` null: not verified. @throws PortalGoneError */
export const writeNode = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry, more: WriteMore = {}) => {
  const located = await locateNode(target, wish, entry);
  const found = located.entry;
  if (found.nid === null) {
    if (entry.nid === null) return createNode(target, wish, found, more);
    await target.item.note('recreating it'); // what was known of its file goes with it
    await target.item.did('recreated');
    return createNode(target, wish, await target.ledger.settle(target.item.portal, unknownNode(found)), more);
  }
  if (found.nid !== entry.nid) return adoptNode(target, wish, located, more);
  return isSettled(wish, located, more)
    ? { entry: found, node: located.node }
    : updateNode(target, wish, located, more);
};

/** True where the ledger says that the node is verified, and nothing suggests a change since. */
const isSettled = (wish: NodeWish, { entry, row }: Located, { also, isDoubted }: WriteMore): boolean =>
  entry.metadataFingerprint === wish.fingerprint &&
  entry.removed === null &&
  isDoubted !== true &&
  also === undefined &&
  (row === null || row.status === (wish.published ? '1' : '0'));

const createNode = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry, { also, atCreation }: WriteMore) => {
  const { item, ledger, portal } = target;
  const { type, title, uuid, published } = wish;
  const isEntity = (await portal.dialectInUse(item.signal)) === 'entity';
  if (!published && !isEntity) {
    // Portals with an editing form publish whatever they create, so a draft would be public.
    throw new PortalRefusedError(
      `${portal.name}: this older portal publishes every node that it creates, so "${title}" was not created`,
      { method: 'POST', path: 'node', mayHaveHappened: false },
      { hint: 'publish it (`published: true`), or make the draft by hand on the portal and link it by `sluice adopt`' },
    );
  }
  // Entity portals list a published node by our uuid; elsewhere the highest id shows where to search after a kill.
  const before = published && isEntity ? null : await portal.nodes.highest(item.signal);
  if (before === null) await portal.nodes.seeHighest(item.signal);
  const write = (resolved: NodeFields): Promise<WrittenNode> =>
    item.step(
      { name: 'create', on: `${type} "${title}"`, writes: true },
      async (signal) => {
        const nonce = newNonce();
        const begun = await ledger.begin(item.portal, entry, { what: 'create', before, nonce });
        const fields = { ...resolved, ...atCreation, ...also?.(null) };
        const input = { type, title, status: published ? 1 : 0, uuid, log: logOf(wish, nonce), fields } as const;
        const nid = await retryWhileBusy(target, linkedNids(fields), {
          write: async () => (await portal.createNode(input, signal)).nid,
          look: async () => (await portal.findByUuid(uuid, signal))?.nid ?? null,
        });
        await item.did('created');
        return { entry: await settleNode(target, wish, { ...begun, nid }, sentOf(wish)), node: null };
      },
      (written) => `node ${written.entry.nid}`,
    );
  return writeWithTerms(target, wish, { node: undefined, write });
};

/** Adopts a node that the portal holds and the ledger does not name; after an interrupted create it is our own. */
const adoptNode = async (target: NodeTarget, wish: NodeWish, located: Located, more: WriteMore) => {
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

/** A pending attach or import, which is for its own step. */
const pendingOfFile = ({ pending }: LedgerEntry) =>
  pending?.what === 'attach' || pending?.what === 'import' ? pending : null;

/** Records the node; with what was sent, where it holds that. */
const settleNode = ({ item, ledger }: NodeTarget, wish: NodeWish, entry: LedgerEntry, sent?: SentNode) => {
  const kept = sent?.kept?.filter((name) => name !== 'title' && name !== 'status') ?? [];
  const settled = {
    ...entry,
    pending: pendingOfFile(entry),
    uuid: entry.uuid || wish.uuid,
    title: wish.title,
    fieldNames: sent ? [...new Set([...Object.keys(wish.fields), ...kept])] : entry.fieldNames,
    removed: null,
    missingSince: null,
    ...asOf(item),
  };
  return ledger.put(item.portal, settled, { sent });
};

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

const updateNode = async (target: NodeTarget, wish: NodeWish, { entry, node: read }: Located, { also }: WriteMore) => {
  const { item, ledger, portal } = target;
  const node = read ?? (await portal.nodes.read(entry.nid ?? '', item.signal));
  const extra = also?.(node) ?? null;
  const asRead = { ...entry, vid: node.vid };
  const held = async () => ({ entry: await settleNode(target, wish, asRead, sentOf(wish)), node });
  if (entry.pending?.what === 'update') {
    if (extra === null && bearsWish(node, wish) && bearsNonce(node, wish.key, entry.pending)) {
      await item.note('an interrupted update had taken effect');
      await item.did('updated');
      return held();
    }
    await item.note('an interrupted update had not taken effect: updating again');
  }
  const { wished, facts: known } = await factsOf(target, wish, { entry, node });
  const facts = { ...known, also: extra };
  const decision = decideUpdate(wished, facts);
  if (decision.do === 'hold') throw driftHeld(portal, node, decision.fields);
  await item.note(decision.why);
  if (decision.do === 'nothing') return held();
  if (decision.do === 'keep')
    return { entry: await settleNode(target, wish, { ...asRead, metadataFingerprint: wish.fingerprint }), node };
  const write = (fields: NodeFields): Promise<WrittenNode> =>
    item.step({ name: 'update', on: `node ${node.nid}`, writes: true }, async (signal) => {
      const nonce = newNonce();
      // An entry has room for one: an update may be sent twice, but nothing else tells of a file that arrived.
      if (!pendingOfFile(entry)) await ledger.begin(item.portal, entry, { what: 'update', before: null, nonce });
      const changes = { ...changesOf(wish, facts, decision, fields), log: logOf(wish, nonce) };
      await updatePatiently(target, node, changes, signal);
      await item.did('updated');
      return { entry: await settleNode(target, wish, entry, sentOf(wish, decision.kept, facts.sent)), node: null };
    });
  return writeWithTerms(target, wish, { node, write });
};

interface TermsWrite {
  /** The node as it is; undefined for a new one. */
  node: PortalNode | undefined;
  write: (fields: NodeFields) => Promise<WrittenNode>;
}

/** Writes a node with the ids of its terms; where the portal lacks one of them, only this node creates terms meanwhile. */
const writeWithTerms = async (target: NodeTarget, wish: NodeWish, work: TermsWrite): Promise<WrittenNode> => {
  const { item, portal } = target;
  const { fields, fresh } = await portal.terms.resolve(wish.fields, work);
  if (fields === wish.fields) return work.write(fields);
  try {
    return await (fresh.length === 0 ? work.write(fields) : findOrMake(target, wish, work));
  } catch (error) {
    // A restored portal lacks terms that were created since, and refuses their ids.
    if (!(error instanceof PortalRefusedError)) throw error;
    const look = { node: work.node, isDoubted: true };
    const now = await alone(target, () => portal.terms.find(wish.fields, item.signal, look));
    if (JSON.stringify(now.fields) === JSON.stringify(fields)) throw error;
    await item.note(`${error.message}: its terms have other ids now, sending these`);
    return findOrMake(target, wish, work);
  }
};

/** Does `work` while no other job creates terms on the portal. */
const alone = <T>({ item }: NodeTarget, work: () => Promise<T>): Promise<T> =>
  item.job.exclusive(`terms:${item.portal}`, item.signal, work);

const findOrMake = async (target: NodeTarget, wish: NodeWish, work: TermsWrite): Promise<WrittenNode> => {
  const { item, portal } = target;
  const done = await alone(target, async () => {
    const found = await portal.terms.find(wish.fields, item.signal, { node: work.node, isAfresh: true });
    return found.fresh.length === 0 ? found : makeTerms(target, wish, work);
  });
  return 'entry' in done ? done : work.write(done.fields);
};

const lookMs = 1000;

/** Looks for `ms` whether a write without a reply takes effect after all: gateways end before the portal does. @throws `error` */
const lateEffect = async <T>(
  error: unknown,
  { ms, look, signal }: { ms: number; look: () => Promise<T | null>; signal: AbortSignal },
): Promise<T> => {
  const mayCome = error instanceof PortalError && error.request.mayHaveHappened === true;
  for (let left = ms; mayCome && left >= lookMs; left -= lookMs) {
    await sleep(lookMs, undefined, { signal });
    const found = await look().catch(() => null);
    if (found !== null) return found;
  }
  throw error;
};

/** Writes a node that creates terms, and learns their ids from the order in which it has them. */
const makeTerms = async (target: NodeTarget, wish: NodeWish, { node, write }: TermsWrite): Promise<WrittenNode> => {
  const { item, portal } = target;
  const { terms } = portal;
  await terms.findVocabularies(wish.fields, item.signal);
  const { fields, fresh } = await terms.resolve(wish.fields, { node });
  const { entry } = await write(fields).catch(async (error: unknown) => {
    // Others must not create the same terms meanwhile.
    const look = async () => (await terms.find(wish.fields, item.signal)).fresh.length === 0 || null;
    await lateEffect(error, { ms: 5 * lookMs, look, signal: item.signal });
    throw error;
  });
  const written = await portal.nodes.read(entry.nid ?? '', item.signal);
  await terms.learn(fresh, written);
  return { entry, node: written };
};

/** Repeats a write that a deadlock undid, after a look; once more after removing lost references from `resources` (node ids). */
const retryWhileBusy = async (
  target: NodeTarget,
  resources: readonly string[],
  { write, look }: { write: () => Promise<string>; look: () => Promise<string | null> },
): Promise<string> => {
  const { item } = target;
  let isRepaired = false;
  for (let tries = 1; ; tries++) {
    const began = performance.now();
    try {
      return await write().catch((error: unknown) =>
        lateEffect(error, { ms: performance.now() - began, look, signal: item.signal }),
      );
    } catch (error) {
      if (error instanceof PortalConflictError && error.request.nid !== undefined) return error.request.nid;
      if (error instanceof PortalBusyError && tries < 10) {
        await item.note(`${error.message}: nothing was stored, retrying`);
        await sleep(Math.min(2000, 100 * 2 ** tries) * (0.5 + Math.random() / 2), undefined, { signal: item.signal });
      } else {
        if (isRepaired || !(await removeLostReferences(target, resources, error))) throw error;
        isRepaired = true;
      }
      const there = await look();
      if (there !== null) return there;
    }
  }
};

/** Updates a node; repeating that is harmless. See {@link retryWhileBusy}. */
export const updatePatiently = async (
  target: NodeTarget,
  node: PortalNode,
  changes: NodeChanges,
  signal: AbortSignal,
): Promise<void> => {
  const listed = node.type === 'resource' ? [node.nid] : [...linkedNids(node), ...linkedNids(changes.fields ?? {})];
  const write = async (): Promise<string> => {
    await target.portal.nodes.update(node.nid, changes, signal, node);
    return node.nid;
  };
  await retryWhileBusy(target, [...new Set(listed)], { write, look: async () => null });
};

/** Removes references to datasets that a deadlock undid: until then the portal refuses every save. True where that was why. */
export const removeLostReferences = async (
  { item, portal }: NodeTarget,
  resources: readonly string[],
  error: unknown,
): Promise<boolean> => {
  if (!isAnswer(error, 'lost-reference')) return false;
  let isRepaired = false;
  for (const nid of resources) {
    const node = await portal.nodes.find(nid, item.signal);
    const datasets = nidsIn(node?.field_dataset_ref);
    const lost = new Set<string>();
    for (const dataset of datasets) if ((await portal.nodes.look(dataset, item.signal)) === null) lost.add(dataset);
    if (node === null || lost.size === 0) continue;
    await item.note(`resource node ${nid} refers to ${[...lost].join(', ')}, which the portal has lost: removing that`);
    const und = datasets.filter((dataset) => !lost.has(dataset)).map((target_id) => ({ target_id }));
    await portal.nodes.update(nid, { log: node.log, fields: { field_dataset_ref: { und } } }, item.signal, node);
    isRepaired = true;
  }
  return isRepaired;
};

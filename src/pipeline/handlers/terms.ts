// Writes a node whose terms are given by name: each new term is created once, over all workers, and its id remembered.
import { setTimeout as sleep } from 'node:timers/promises';
import { PortalRefusedError } from '../../model/errors.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { ResolvedTerms } from '../../portal-client/terms.ts';
import type { NodeWish } from '../compare/node.ts';
import type { NodeTarget, WrittenNode } from './node-locate.ts';

/** How often the node of another job that is creating the same term is checked, milliseconds. */
const lookMs = 1000;

type Write = (fields: NodeFields) => Promise<WrittenNode>;

/**
 * Writes a node with the ids of its terms. Where a name has none yet, only this node creates terms meanwhile, and it is read
 * back at once: the order of its terms gives the new ids.
 */
export const withTerms = async (target: NodeTarget, wish: NodeWish, write: Write): Promise<WrittenNode> => {
  const { fields, fresh } = await target.portal.terms.resolve(wish.fields);
  if (fields === wish.fields) return write(fields);
  try {
    return await (fresh.length === 0 ? write(fields) : makeTerms(target, wish, write));
  } catch (error) {
    if (!(error instanceof PortalRefusedError)) throw error;
    const written = await alone(target, () => makeLostTerms(target, wish, { write, sent: fields, error }));
    return written ?? makeTerms(target, wish, write);
  }
};

/** Does `work` while no other job creates terms on the portal. */
const alone = <T>({ item }: NodeTarget, work: () => Promise<T>): Promise<T> =>
  item.exclusive(`terms:${item.portal}`, item.signal, work);

/** Other jobs may create terms while this one waits: among them one that tries again to create the same. */
const makeTerms = async (target: NodeTarget, wish: NodeWish, write: Write): Promise<WrittenNode> => {
  for (;;) {
    const written = await alone(target, () => tryToMakeTerms(target, wish, write));
    if (written) return written;
    await sleep(lookMs, undefined, { signal: target.item.signal });
  }
};

/** Null while another node is written that creates one of the terms. */
const tryToMakeTerms = async (target: NodeTarget, wish: NodeWish, write: Write): Promise<WrittenNode | null> => {
  const { item, portal } = target;
  const { terms } = portal;
  // An editing form resolves names itself, but two writes at once would still create a term twice.
  const isForm = (await portal.dialectInUse(item.signal)) === 'form';
  const { fresh: unknown } = await terms.resolve(wish.fields, true);
  const topics = unknown.filter(({ vocabulary }) => vocabulary === 'dkan_topics').map(({ name }) => name);
  await portal.learnTopics(topics, item.signal);
  const resolved = isForm ? await terms.resolve(wish.fields) : await resolveAfterMakers(target, wish);
  if (!resolved) return null;
  const { fields, fresh } = resolved;
  if (!isForm) await terms.announce(fresh, wish.uuid);
  const { entry } = await write(fields).catch(async (error: unknown) => {
    if (error instanceof PortalRefusedError) await terms.withdraw(fresh);
    else if (!isForm) await terms.announce(fresh, wish.uuid, true); // others need not wait until this job has its turn again
    throw error;
  });
  const node = await portal.nodes.read(entry.nid ?? '', item.signal);
  const unclear = await terms.learn(fresh, node);
  await terms.withdraw(unclear);
  if (unclear.length > 0 && !isForm)
    await item.note(`the ids of these terms are unknown: ${unclear.map(({ name }) => name).join(', ')}`);
  return { entry, node };
};

/**
 * A restored portal lacks terms that were created since, and refuses their ids. Learns the ids of a refused node's terms again
 * and repeats the write; where that is refused as well, the ids were not at fault. Null while another node is written that
 * creates one of them.
 */
const makeLostTerms = async (
  target: NodeTarget,
  wish: NodeWish,
  { write, sent, error }: { write: Write; sent: NodeFields; error: PortalRefusedError },
): Promise<WrittenNode | null> => {
  const { item, portal } = target;
  const { terms } = portal;
  const now = await terms.resolve(wish.fields, true);
  const isAsSent = JSON.stringify(now.fields) === JSON.stringify(sent);
  const forgotten = isAsSent ? await terms.forget(wish.fields) : {};
  if (isAsSent && Object.keys(forgotten).length === 0) throw error;
  await item.note(`${error.message}: its terms may be gone from the portal, looking for them`);
  if (isAsSent) await portal.surveyTerms(item.signal, true);
  try {
    return await tryToMakeTerms(target, wish, write);
  } catch (again) {
    await terms.restore(forgotten);
    throw again instanceof PortalRefusedError ? error : again;
  }
};

/** Resolves terms again; null while another node is written that creates one of them. */
const resolveAfterMakers = async ({ item, portal }: NodeTarget, wish: NodeWish): Promise<ResolvedTerms | null> => {
  const { terms } = portal;
  await portal.surveyTerms(item.signal);
  let resolved = await terms.resolve(wish.fields);
  for (;;) {
    const maker = await terms.makerOf(resolved.fresh, wish.uuid);
    if (!maker) return resolved;
    const row = await portal.findByUuid(maker.uuid, item.signal);
    const other = row && (await portal.nodes.read(row.nid, item.signal));
    // Where its job was killed, the node shows the terms that it created.
    if (other === null || (await terms.learn([maker.term], other)).length > 0) return null;
    resolved = await terms.resolve(wish.fields, true);
  }
};

// Writes a node whose terms are given by name: a term is created once, over all workers, and its id remembered.
import { setTimeout as sleep } from 'node:timers/promises';
import { PortalError, PortalRefusedError } from '../../model/errors.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import type { NodeWish } from '../compare/node.ts';
import type { NodeTarget, WrittenNode } from './node-locate.ts';

/** How often the terms of a write that failed without a reply are looked for, milliseconds, and how many times. */
const lookMs = 1000;
const looks = 5;

interface TermsWrite {
  /** The node as it is; undefined for a new one. */
  node: PortalNode | undefined;
  write: (fields: NodeFields) => Promise<WrittenNode>;
}

/**
 * Writes a node with the ids of its terms. The portal is asked for those that are not known; where it has none of that name,
 * only this node creates terms meanwhile.
 */
export const writeWithTerms = async (target: NodeTarget, wish: NodeWish, work: TermsWrite): Promise<WrittenNode> => {
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
  item.exclusive(`terms:${item.portal}`, item.signal, work);

const findOrMake = async (target: NodeTarget, wish: NodeWish, work: TermsWrite): Promise<WrittenNode> => {
  const { item, portal } = target;
  const done = await alone(target, async () => {
    const found = await portal.terms.find(wish.fields, item.signal, { node: work.node, isAfresh: true });
    return found.fresh.length === 0 ? found : makeTerms(target, wish, work);
  });
  return 'entry' in done ? done : work.write(done.fields);
};

/** Writes a node that creates terms, and learns their ids from the order in which it has them. */
const makeTerms = async (target: NodeTarget, wish: NodeWish, { node, write }: TermsWrite): Promise<WrittenNode> => {
  const { item, portal } = target;
  const { terms } = portal;
  await terms.findVocabularies(wish.fields, item.signal);
  const { fields, fresh } = await terms.resolve(wish.fields, { node });
  const { entry } = await write(fields).catch(async (error: unknown) => {
    // It may still take effect: others must not create the same terms meanwhile.
    for (let look = 0; look < looks && mayHaveHappened(error); look++) {
      await sleep(lookMs, undefined, { signal: item.signal });
      const now = await terms.find(wish.fields, item.signal).catch(() => ({ fresh }));
      if (now.fresh.length === 0) break;
    }
    throw error;
  });
  const written = await portal.nodes.read(entry.nid ?? '', item.signal);
  await terms.learn(fresh, written);
  return { entry, node: written };
};

const mayHaveHappened = (error: unknown): boolean =>
  error instanceof PortalError && error.request.mayHaveHappened === true;

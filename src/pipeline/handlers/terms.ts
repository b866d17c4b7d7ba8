// Writes a node whose terms are given by name: each new term is created once, over all workers, and its id remembered.
import { setTimeout as sleep } from 'node:timers/promises';
import { PortalRefusedError } from '../../model/errors.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import type { ResolvedTerms } from '../../portal-client/terms.ts';
import type { NodeWish } from '../compare/node.ts';
import type { NodeTarget, WrittenNode } from './node-locate.ts';

/** How often the node of another job that is creating the same term is checked, milliseconds. */
const lookMs = 1000;

/** A write of a node with terms. */
interface TermsWrite {
  /** The node as it is; undefined for a new one. */
  node: PortalNode | undefined;
  write: (fields: NodeFields) => Promise<WrittenNode>;
}

/**
 * Writes a node with the ids of its terms, which the portal is asked for where they are not known. Where it has no term of a
 * name, only this node creates terms meanwhile, and it is read back at once: the order of its terms gives the new ids.
 */
export const withTerms = async (target: NodeTarget, wish: NodeWish, work: TermsWrite): Promise<WrittenNode> => {
  const { fields, fresh } = await target.portal.terms.find(wish.fields, target.item.signal, work.node);
  if (fields === wish.fields) return work.write(fields);
  try {
    return await (fresh.length === 0 ? work.write(fields) : makeTerms(target, wish, work));
  } catch (error) {
    if (!(error instanceof PortalRefusedError)) throw error;
    const written = await alone(target, () => makeLostTerms(target, wish, { ...work, sent: fields, error }));
    return written ?? makeTerms(target, wish, work);
  }
};

/** Does `work` while no other job creates terms on the portal. */
const alone = <T>({ item }: NodeTarget, work: () => Promise<T>): Promise<T> =>
  item.exclusive(`terms:${item.portal}`, item.signal, work);

/** Other jobs may create terms while this one waits: among them one that tries again to create the same. */
const makeTerms = async (target: NodeTarget, wish: NodeWish, work: TermsWrite): Promise<WrittenNode> => {
  for (;;) {
    const written = await alone(target, () => tryToMakeTerms(target, wish, work));
    if (written) return written;
    await sleep(lookMs, undefined, { signal: target.item.signal });
  }
};

/** Null while another node is written that creates one of the terms. */
const tryToMakeTerms = async (
  target: NodeTarget,
  wish: NodeWish,
  { node: before, write }: TermsWrite,
): Promise<WrittenNode | null> => {
  const { item, portal } = target;
  const { terms } = portal;
  // An editing form resolves names itself, but two writes at once would still create a term twice.
  const isForm = (await portal.dialectInUse(item.signal)) === 'form';
  const options = { node: before ?? {}, afresh: true };
  const resolved = await (isForm ? terms.resolve(wish.fields, options) : resolveAfterMakers(target, wish, options));
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
 * A restored portal lacks terms that were created since, and refuses their ids. Asks for the ids of a refused node's terms again
 * and repeats the write where they differ. Null while another node is written that creates one of the terms.
 */
const makeLostTerms = async (
  target: NodeTarget,
  wish: NodeWish,
  { sent, error, ...work }: TermsWrite & { sent: NodeFields; error: PortalRefusedError },
): Promise<WrittenNode | null> => {
  const { item, portal } = target;
  const { terms } = portal;
  const isAsSent = ({ fields }: ResolvedTerms): boolean => JSON.stringify(fields) === JSON.stringify(sent);
  const { node } = work;
  const wasSent = isAsSent(await terms.resolve(wish.fields, { node: node ?? {}, afresh: true }));
  const forgotten = wasSent ? await terms.forget(wish.fields) : {};
  if (wasSent && Object.keys(forgotten).length === 0) throw error;
  await item.note(`${error.message}: its terms may be gone from the portal, looking for them`);
  if (wasSent && isAsSent(await terms.find(wish.fields, item.signal, node))) throw error;
  try {
    return await tryToMakeTerms(target, wish, work);
  } catch (again) {
    await terms.restore(forgotten);
    throw again instanceof PortalRefusedError ? error : again;
  }
};

/** Resolves terms again; null while another node is written that creates one of them. */
const resolveAfterMakers = async (
  { item, portal }: NodeTarget,
  wish: NodeWish,
  options: { node: Readonly<Record<string, unknown>>; afresh: boolean },
): Promise<ResolvedTerms | null> => {
  const { terms, suggestions } = portal;
  for (;;) {
    const resolved = await terms.resolve(wish.fields, options);
    const maker = await terms.makerOf(resolved.fresh, wish.uuid);
    if (!maker) {
      const open = new Set(resolved.fresh.map(({ vocabulary }) => vocabulary).filter((one) => !terms.isProven(one)));
      for (const vocabulary of open) {
        const id = await suggestions.vocabularyId(vocabulary, item.signal);
        if (id !== null) terms.prove(vocabulary, id);
      }
      return open.size === 0 ? resolved : terms.resolve(wish.fields, options);
    }
    const row = await portal.findByUuid(maker.uuid, item.signal);
    const other = row && (await portal.nodes.read(row.nid, item.signal));
    // Where its job was killed, the node shows the terms that it created.
    if (other === null || (await terms.learn([maker.term], other)).length > 0) return null;
  }
};

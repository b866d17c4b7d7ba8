// Writes of nodes that the portal's database may undo: they are repeated, also after removing references that stop them.
import { setTimeout as sleep } from 'node:timers/promises';
import { PortalBusyError, PortalConflictError } from '../../model/errors.ts';
import { isAnswer, isForbidden, type NodeChanges, type Portal, type PortalNode } from '../../portal-client/client.ts';
import { linkedNids, nidsIn } from '../compare/node.ts';
import type { NodeTarget } from './node-locate.ts';

const busyTries = 10;

/** A write that may have to be repeated. */
interface PatientWrite {
  write: () => Promise<string>;
  /** Node id where the write took effect nevertheless, else null. */
  look: () => Promise<string | null>;
  /** Node ids of the resources that are saved with it. */
  resources: readonly string[];
}

/**
 * Repeats a write that a deadlock or lock wait undid, after a look whether it took effect nevertheless; and once after removing
 * references that stopped it. A conflict names the node that was created.
 */
export const retryWhileBusy = async (target: NodeTarget, { write, look, resources }: PatientWrite): Promise<string> => {
  const { item } = target;
  let isRepaired = false;
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (error instanceof PortalConflictError && error.request.nid !== undefined) return error.request.nid;
      if (error instanceof PortalBusyError && tries < busyTries) {
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

/** Updates a node; see {@link retryWhileBusy}. */
export const updatePatiently = async (
  target: NodeTarget,
  node: PortalNode,
  changes: NodeChanges,
  signal: AbortSignal,
): Promise<void> => {
  const listed = node.type === 'resource' ? [node.nid] : [...linkedNids(node), ...linkedNids(changes.fields ?? {})];
  await retryWhileBusy(target, {
    write: async () => {
      await target.portal.nodes.update(node.nid, changes, signal, node);
      return node.nid;
    },
    look: async () => null, // repeating an update is harmless
    resources: [...new Set(listed)],
  });
};

/**
 * Removes references to datasets that a deadlock of the portal's database undid, from these resources: until then the portal
 * refuses every save of the resource and of the datasets that list it. True where `error` is that refusal and there were any, so
 * that a save may succeed now.
 */
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
    for (const dataset of datasets) if (await isGone(portal, dataset, item.signal)) lost.add(dataset);
    if (node === null || lost.size === 0) continue;
    await item.note(`resource node ${nid} refers to ${[...lost].join(', ')}, which the portal has lost: removing that`);
    const und = datasets.filter((dataset) => !lost.has(dataset)).map((target_id) => ({ target_id }));
    await portal.nodes.update(nid, { log: node.log, fields: { field_dataset_ref: { und } } }, item.signal, node);
    isRepaired = true;
  }
  return isRepaired;
};

const isGone = async (portal: Portal, nid: string, signal: AbortSignal): Promise<boolean> => {
  try {
    return (await portal.nodes.find(nid, signal)) === null;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
};

// References of resources to datasets that a deadlock of the portal's database took back: until they are removed, the portal
// refuses every save of the resource and of the datasets that list it.
import { itemsOfField } from '../../dataset-api/fields.ts';
import { isForbidden, isLostReference, type Portal } from '../../portal-client/client.ts';
import type { NodeTarget } from './node-locate.ts';

/** Removes them from these resources where `error` is that refusal; true when there were any, so that a save may succeed now. */
export const removeLostReferences = async (
  { item, portal }: NodeTarget,
  resources: readonly string[],
  error: unknown,
): Promise<boolean> => {
  if (!isLostReference(error)) return false;
  let isMended = false;
  for (const nid of resources) {
    const node = await portal.nodes.find(nid, item.signal);
    const datasets = (itemsOfField(node?.field_dataset_ref) ?? []).map(({ target_id }) => String(target_id));
    const lost = new Set<string>();
    for (const dataset of datasets) if (await isGone(portal, dataset, item.signal)) lost.add(dataset);
    if (node === null || lost.size === 0) continue;
    await item.note(`resource node ${nid} refers to ${[...lost].join(', ')}, which the portal has lost: removing that`);
    const und = datasets.filter((dataset) => !lost.has(dataset)).map((target_id) => ({ target_id }));
    await portal.nodes.update(nid, { log: node.log, fields: { field_dataset_ref: { und } } }, item.signal, node);
    isMended = true;
  }
  return isMended;
};

const isGone = async (portal: Portal, nid: string, signal: AbortSignal): Promise<boolean> => {
  try {
    return (await portal.nodes.find(nid, signal)) === null;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
};

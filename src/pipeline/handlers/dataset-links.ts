// The list of a dataset: what a portal did not store as sent is completed, item by item or from the side of the resources.
import { VerifyFailedError } from '../../model/errors.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { holdsLinks, linkedNids, linksField, logOf, type NodeWish, newNonce } from '../compare/node.ts';
import type { NodeTarget } from './node-locate.ts';
import { updatePatiently } from './node-write.ts';

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

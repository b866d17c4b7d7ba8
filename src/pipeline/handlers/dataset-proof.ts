// What readers see of a dataset beyond its own fields: all of its resources in its list, and its terms by name.
import { itemsOfField } from '../../dataset-api/fields.ts';
import { VerifyFailedError } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { holdsLinks, linkedNids, linksField, type NodeWish } from '../compare/node.ts';
import type { NodeTarget } from './node-locate.ts';

/** The list that a dataset shall hold. */
export interface LinksToComplete {
  /** The dataset as it was read last. */
  node: PortalNode;
  links: readonly string[];
  /** Log message of a revision that this makes. */
  marker: string;
}

/**
 * Makes the list of a dataset hold all of ours in order, and returns the node as it is then. A portal with an editing form
 * takes one more item with each write, by position; so what it holds goes first, and the order is put right when all are in.
 * @throws VerifyFailedError when resources stay missing
 */
export const completeLinks = async (
  target: NodeTarget,
  { node, links, marker }: LinksToComplete,
): Promise<PortalNode> => {
  const { item, portal } = target;
  const grows = (await portal.dialectInUse(item.signal)) === 'form';
  let now = node;
  for (let writes = 0; !holdsLinks(linkedNids(now), links); writes++) {
    const held = linkedNids(now);
    const missing = links.filter((nid) => !held.includes(nid));
    if (writes > links.length + 1 || (writes > 1 && !grows)) {
      if (missing.length === 0) break; // in another order than ours, which the portal does not change
      throw missingLinks(target, now, missing);
    }
    const why = missing.length === 0 ? 'in another order' : `without ${missing.length} of ${links.length} resources`;
    await item.note(`the list of the dataset is ${why}: writing it`);
    const fields = grows && missing.length > 0 ? linksField([], [...held, ...missing]) : linksField(held, links);
    await portal.nodes.update(now.nid, { log: marker, fields }, item.signal, now);
    await item.did('updated');
    now = await portal.nodes.read(now.nid, item.signal);
    // Lists are not stored as sent here: the other side is written instead.
    if (!grows && !holdsLinks(linkedNids(now), links)) now = await linkFromResources(target, now, links);
  }
  return now;
};

const linkFromResources = async (
  { item, portal }: NodeTarget,
  dataset: PortalNode,
  links: readonly string[],
): Promise<PortalNode> => {
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

const missingLinks = ({ portal }: NodeTarget, node: PortalNode, missing: readonly string[]): VerifyFailedError =>
  new VerifyFailedError(
    `${portal.name}: the list of dataset node ${node.nid} does not hold the resource nodes ${missing.join(', ')}`,
    { hint: 'somebody may have deleted them or taken them off just now: publish again; otherwise look at both nodes' },
  );

/**
 * Looks once for each portal whether terms of ours are in the right vocabulary, by the public view of a dataset that has
 * some: otherwise their pages and the portal's catalogue do not show them. Then a warning says what to configure.
 */
export const proveTermsVisible = async (
  { item, portal }: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
): Promise<LedgerEntry> => {
  const names = (itemsOfField(wish.fields.field_tags) ?? []).flatMap(({ name }) =>
    typeof name === 'string' ? name : [],
  );
  const { terms } = portal;
  if (names.length === 0 || !wish.published || terms.isProven('tags')) return entry;
  if ((await portal.dialectInUse(item.signal)) === 'form') return entry;
  const seen = await portal.publicDataset(entry.uuid, item.signal);
  if (seen === null) return entry;
  const visible = new Map(seen.tags.map(({ name, vocabulary }) => [name, vocabulary]));
  const id = terms.vocabularyId('tags');
  if (names.every((name) => visible.get(name) === id)) {
    terms.prove('tags');
    return entry;
  }
  const others = [...new Set(visible.values())].filter((vocabulary) => vocabulary !== '' && vocabulary !== id);
  const got = `terms that readers do not see: set \`vocabularies: {tags: ${others[0] ?? 'N'}}\` of this portal, N being the number of its vocabulary "tags"`;
  return { ...entry, notHeld: { ...entry.notHeld, field_tags: got } };
};

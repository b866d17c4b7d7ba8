// The node of a dataset with the list of its resources and its terms: written where needed, verified by reading it back.

import { itemsOfField } from '../../dataset-api/fields.ts';
import { PortalGoneError, PortalRefusedError, VerifyFailedError } from '../../model/errors.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import { isAnswer, type PortalNode } from '../../portal-client/client.ts';
import type { DatasetWork } from '../../state/run-work.ts';
import { editedFields } from '../compare/decide.ts';
import {
  areGroupsLate,
  driftHeld,
  hasGroups,
  holdsLinks,
  linkedNids,
  linksField,
  logOf,
  type NodeWish,
  newNonce,
  nidsIn,
  nodeOf,
} from '../compare/node.ts';
import { isProven } from '../plan/plan.ts';
import { endOf, noteFound } from './item.ts';
import { locateNode, type NodeTarget, type WrittenNode } from './node-locate.ts';
import { proveNode } from './node-prove.ts';
import { factsOf, goneAgain, recreateNode, updatePatiently, type WriteMore, writeNode } from './node-write.ts';

interface DatasetMode {
  /** Node ids of resources for its list, in order; null while they are not known. */
  links: string[] | null;
  /** True: the list is written with the node. False: the resources refer to the dataset, and the list is only completed. */
  linksByList: boolean;
  /** True: the node stays a draft until its list is written. */
  isDraft?: boolean;
  /** False: more of its resources will get nodes, so the item stays open. */
  isFinal: boolean;
}

/** Writes the node where needed, proves it and its list by reading it back, and records that. */
export const publishDataset = async (target: NodeTarget, work: DatasetWork, mode: DatasetMode): Promise<void> => {
  const { item, ledger } = target;
  const known = await ledger.entry(item.portal, item.key);
  await noteFound(item, known);
  const before = known ?? newEntry({ ...work.wish, kind: 'dataset' });
  const wanted = await wishOf(target, work, before);
  const wish = mode.isDraft ? { ...wanted, published: false } : wanted;
  const { links } = mode;
  const needsLinks = links !== null && before.links?.join() !== links.join();
  // Before resources refer to it, the node is checked: it may no longer be ours.
  const isReferredTo = links === null && !mode.linksByList;
  const isDone = isPublished(before, wish) && !needsLinks && !before.pending && !work.verify && !isReferredTo;
  const entry = isDone
    ? before
    : await write(target, wish, { before, work }, mode).catch((error: unknown) => {
        throw withGroups(error, work);
      });
  if (!mode.isFinal) return;
  const { refused } = work;
  const end = refused ? { outcome: 'held' as const, reason: refused } : endOf(item, null);
  await item.end(await withLateGroups(target, wish, entry), end);
};

/** Says in the report that the portal adds groups to many resources only later. */
const withLateGroups = async (
  { item, portal }: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
): Promise<LedgerEntry> => {
  const links = entry.links ?? [];
  if (item.actions.length === 0 || nidsIn(wish.fields.og_group_ref).length === 0 || !areGroupsLate(links)) return entry;
  const last = await portal.nodes.read(links.at(-1) ?? '', item.signal);
  if (hasGroups(last, wish)) return entry;
  const got = 'nothing yet: its next cron run adds them, which `sluice verify` shows';
  return { ...entry, notHeld: { ...entry.notHeld, [`og_group_ref of its ${links.length} resources`]: got } };
};

/** The refusal of a node with groups names them: portals do not say which field is at fault. */
const withGroups = (error: unknown, { wish }: DatasetWork): unknown => {
  const groups = itemsOfField(wish.fields.og_group_ref) ?? [];
  if (!isAnswer(error, 'fields-refused') || groups.length === 0) return error;
  const names = groups.map(({ title, target_id }) => (title === undefined ? `${target_id}` : `"${title}"`)).join(', ');
  const hint = `make the account a member of the group ${names} on the portal, or leave the group out; if it is one, correct license, frequency and other fields`;
  return new PortalRefusedError(error.message, error.request, { hint, cause: error });
};

/** Detects, before resources are written, an unknown group or an edit that holds. @throws PortalRefusedError, DriftError */
export const checkDataset = async (target: NodeTarget, work: DatasetWork): Promise<void> => {
  const { item, ledger } = target;
  const entry = await ledger.entry(item.portal, item.key);
  const wish = await wishOf(target, work, entry ?? newEntry({ ...work.wish, kind: 'dataset' }));
  if (work.onDrift !== 'hold' || !entry?.nid || entry.pending) return;
  if (isPublished(entry, wish) && !work.verify) return;
  const located = await locateNode(target, wish, entry);
  if (located.entry.nid !== entry.nid) return;
  const node = located.node ?? (await target.portal.nodes.read(entry.nid, item.signal));
  const { wished, facts } = await factsOf(target, wish, { entry, node });
  const edited = editedFields(wished, facts);
  if (edited.length > 0) throw driftHeld(target.portal, node, edited);
};

/** The wanted node; for a frozen dataset the one that the ledger knows, so that only its list may change. */
const wishOf = async (target: NodeTarget, { wish, frozen }: DatasetWork, entry: LedgerEntry): Promise<NodeWish> => {
  const { item, ledger, portal } = target;
  if (frozen) {
    const sent = await ledger.sentFor(item.portal, item.key);
    const { title, published = entry.live, fields = {} } = sent ?? { title: entry.title };
    return { ...wish, type: 'dataset', title, published, fields, fingerprint: entry.metadataFingerprint ?? '' };
  }
  const fields = await portal.groups.resolve(wish.fields, item.signal);
  return nodeOf('dataset', wish, fields);
};

const isPublished = (entry: LedgerEntry, wish: NodeWish): boolean =>
  entry.nid !== null && isProven(wish, entry) && entry.metadataFingerprint === wish.fingerprint;

/** Databases of portals undo new nodes, at times several in a row, although their creation was confirmed. */
const mostRecreated = 3;

const write = async (
  target: NodeTarget,
  wish: NodeWish,
  { before, work }: { before: LedgerEntry; work: DatasetWork },
  { links, linksByList }: DatasetMode,
): Promise<LedgerEntry> => {
  const { item, ledger } = target;
  const more: WriteMore = { isDoubted: work.verify };
  if (linksByList && links !== null)
    more.also = (node) => {
      // Resources get the groups of a dataset when it is updated: a new one gets its list by a second write.
      if (node === null && nidsIn(wish.fields.og_group_ref).length > 0) return null;
      const held = node === null ? [] : linkedNids(node);
      return holdsLinks(held, links) ? null : linksField(held, links);
    };
  const prove = async (written: WrittenNode): Promise<LedgerEntry> => {
    const proof = await proveNode(target, wish, written, more);
    const node = links === null ? proof.node : await completeLinks(target, wish, proof.node, links);
    const proven: LedgerEntry = {
      ...proof.entry,
      vid: node.vid,
      changed: node.changed || null,
      links: links ?? proof.entry.links,
      metadataFingerprint: wish.fingerprint,
      live: wish.published,
      stale: false,
      reason: null,
      runId: item.runId,
      syncedAt: Date.now(),
    };
    return ledger.put(item.portal, await proveTermsVisible(target, wish, proven));
  };
  let written = await writeNode(target, wish, before, more);
  return item.step(
    { name: 'verify', light: true, on: `dataset node ${written.entry.nid}` },
    async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await prove(written);
        } catch (error) {
          if (!(error instanceof PortalGoneError)) throw error;
          if (tries > mostRecreated) throw goneAgain(error);
          written = await recreateNode(target, wish, written.entry, more);
        }
      }
    },
    ({ links: proven }) => (proven ? `verified, ${proven.length} resources listed` : 'verified'),
  );
};

/**
 * Makes the list of a dataset hold all of ours in order, and returns the node as it is then. A portal with an editing form
 * accepts one more item with each write, by position: items that it holds go first, and the order is corrected last.
 * @throws VerifyFailedError when resources stay missing
 */
const completeLinks = async (
  target: NodeTarget,
  wish: NodeWish,
  node: PortalNode,
  links: readonly string[],
): Promise<PortalNode> => {
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

/** Warns, once for each portal, where our terms are in a vocabulary that readers do not see. */
const proveTermsVisible = async (
  { item, portal }: NodeTarget,
  wish: NodeWish,
  entry: LedgerEntry,
): Promise<LedgerEntry> => {
  const { terms, suggestions } = portal;
  if (terms.isProven('tags') || (await portal.dialectInUse(item.signal)) === 'form') return entry;
  const { fields } = await terms.resolve(wish.fields);
  const [{ tid, name } = {}] = (itemsOfField(fields.field_tags) ?? []).filter((tag) => typeof tag.name === 'string');
  if (typeof name !== 'string' || tid === 'autocreate') return entry;
  const seen = await suggestions.termsNamed('tags', name, item.signal);
  if (seen === null) return entry;
  if (seen.includes(String(tid))) {
    terms.prove('tags');
    return entry;
  }
  const got =
    'terms that readers do not see: set `vocabularies: {tags: N}` of this portal, N being the number of its vocabulary "tags"';
  return { ...entry, notHeld: { ...entry.notHeld, field_tags: got } };
};

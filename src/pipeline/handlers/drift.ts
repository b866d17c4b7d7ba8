// Drift: fields that we manage were edited on the portal since our last write.
import { baselineOf, countItems, missingFields } from '../../dataset-api/compare.ts';
import { DriftError } from '../../model/errors.ts';
import type { LedgerEntry, SentNode } from '../../model/ledger-entry.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import { differences, markerOf, type NodeWish } from '../compare/node.ts';

/**
 * Names of the fields of ours that were changed on the portal: the revision is not the one we left, and the node does
 * not hold what we sent last. Fields we never sent are not ours to watch. Empty where nothing is known of either.
 */
export const driftedFields = (entry: LedgerEntry, sent: SentNode | null, node: PortalNode): string[] => {
  if (!sent || entry.vid === null || node.vid === entry.vid) return [];
  // A write of ours whose end we did not live to see, or that Redis forgot: its marker is in the revision's log. The
  // marker of the state we do know proves nothing, because portals carry a log on to edits that bring none.
  const known = markerOf({ key: entry.key, fingerprint: entry.metadataFingerprint ?? '' });
  if (node.log.startsWith(`sluice ${entry.key} `) && node.log !== known) return [];
  return unlikeProven(entry, sent, node);
};

/** Names of the fields of ours in which a node is not as it was sent and proven last. */
export const unlikeProven = (entry: LedgerEntry, sent: SentNode, node: PortalNode): string[] => [
  ...new Set([...unlikeSent(sent, node), ...changedBaseline(entry, sent.fields, node)]),
];

/**
 * Names of the fields whose terms, or whose number of items, are not what the node held when it was last proven: somebody
 * changed a tag, or added an item. Empty where that was never looked at.
 */
export const changedBaseline = (entry: LedgerEntry, fields: NodeFields, node: PortalNode): string[] => {
  if (entry.baseline === null) return [];
  const [before, now] = [entry.baseline, baselineOf(fields, node)];
  return Object.keys(fields).filter((field) => before[field] !== now[field]);
};

/** Of the edited fields those that matter to a wish: an edit that the wish has taken over is none any more. */
export const editedFields = (
  wish: NodeWish,
  { entry, sent, node }: { entry: LedgerEntry; sent: SentNode | null; node: PortalNode },
): string[] => {
  const fields = driftedFields(entry, sent, node);
  return sent === null ? fields : fields.filter(isOpen(wish, sent, node));
};

/**
 * Fields that are left as edited on the portal (`onDrift: keep`): those that hold neither what was sent last nor what is
 * wanted now. They stay so in later runs, until the edit is taken back or the wish agrees with it.
 */
export const keptFields = (
  wish: NodeWish,
  { entry, sent, node }: { entry: LedgerEntry; sent: SentNode | null; node: PortalNode },
): string[] => {
  if (!sent || entry.vid === null) return [];
  return unlikeProven(entry, sent, node).filter(isOpen(wish, sent, node));
};

/** True for the edited fields that the wish does not agree with. */
const isOpen = (wish: NodeWish, sent: SentNode, node: PortalNode): ((field: string) => boolean) => {
  const unlikeWish = new Set(differences(wish, node));
  const unlike = new Set(unlikeSent(sent, node));
  return (field) =>
    unlikeWish.has(field) || isDropped(wish, field) || (!unlike.has(field) && !isTakenOver(wish, sent, node)(field));
};

/** Terms cannot be compared by name: a wish that was changed since, to as many, is taken to say the same. */
const isTakenOver =
  (wish: NodeWish, sent: SentNode, node: PortalNode) =>
  (field: string): boolean =>
    JSON.stringify(wish.fields[field]) !== JSON.stringify(sent.fields[field]) &&
    countItems(wish.fields[field]) === countItems(node[field]);

/** True for a field that was sent and is no longer wanted, so that it would be emptied. */
const isDropped = (wish: NodeWish, field: string): boolean =>
  field !== 'title' && field !== 'status' && !(field in wish.fields);

const unlikeSent = (sent: SentNode, node: PortalNode): string[] => [
  ...(node.title === sent.title ? [] : ['title']),
  ...(node.status === (sent.published ? '1' : '0') ? [] : ['status']),
  ...missingFields(sent.fields, node),
];

/** Why an edited item is held. */
export const driftHeld = (portal: Portal, node: PortalNode, fields: string[]): DriftError =>
  new DriftError(
    `${portal.name}: node ${node.nid} ("${node.title}") was edited on the portal ${editOf(node)} (revision ${node.vid}): ${fields.join(', ')}`,
    {
      hint: 'copy the edit into the source, or publish once with `--on-drift overwrite` (or `keep`), or set onDrift',
    },
  );

/** Who made the revision of a node, and when: `by user 7 at 2026-11-21T03:15:00.000Z`. */
export const editOf = (node: PortalNode): string => {
  const by = typeof node.revision_uid === 'string' ? `by user ${node.revision_uid}` : 'by an unknown user';
  return /^\d+$/.test(node.changed) ? `${by} at ${new Date(Number(node.changed) * 1000).toISOString()}` : by;
};

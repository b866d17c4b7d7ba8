// Drift: somebody edited, on the portal, fields that we manage, since our last write.
import { missingFields } from '../dkan/compare.ts';
import { DriftError } from '../errors.ts';
import type { LedgerEntry, SentNode } from '../ledger/entry.ts';
import type { OnDrift } from '../manifest/schema.ts';
import type { Portal, PortalNode } from '../portal/client.ts';

/**
 * Names of the fields of ours that somebody changed on the portal: the revision is not the one we left, and the node does
 * not hold what we sent last. Fields we never sent are not ours to watch. Empty where nothing is known of either.
 */
export const driftedFields = (entry: LedgerEntry, sent: SentNode | null, node: PortalNode): string[] => {
  if (!sent || entry.vid === null || node.vid === entry.vid) return [];
  // A write of ours whose end we did not live to see, or that Redis forgot: its marker stands in the revision's log.
  if (node.log.startsWith(`sluice ${entry.key} `)) return [];
  return [
    ...(node.title === sent.title ? [] : ['title']),
    ...(node.status === (sent.published ? '1' : '0') ? [] : ['status']),
    ...missingFields(sent.fields, node),
  ];
};

/** What to do about drift: go on and overwrite it, or keep it. @throws DriftError when the item is to be held */
export const settleDrift = (
  portal: Portal,
  node: PortalNode,
  fields: string[],
  onDrift: OnDrift,
): 'overwrite' | 'keep' => {
  if (onDrift !== 'hold') return onDrift;
  const when = /^\d+$/.test(node.changed) ? ` at ${new Date(Number(node.changed) * 1000).toISOString()}` : '';
  const by = typeof node.revision_uid === 'string' ? ` by user ${node.revision_uid}` : '';
  throw new DriftError(
    `${portal.name}: node ${node.nid} ("${node.title}") was edited on the portal${by}${when} (revision ${node.vid}): ${fields.join(', ')}`,
    {
      hint: 'take the edit over into the source, or publish once with `--on-drift overwrite` (or `keep`), or set onDrift',
    },
  );
};

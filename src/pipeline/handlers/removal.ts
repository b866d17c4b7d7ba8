// Removes a node: orphaned, unpublished or deleted. Each way survives a kill at any line and can be repeated.
import { PortalReplyError } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { RemovalMode } from '../../model/policy.ts';
import type { ItemAction } from '../../model/report.ts';
import type { NodeWish } from '../compare/node.ts';
import { brokenFile } from '../compare/prove.ts';
import { oneAtATime } from './datastore-import.ts';
import { asOf } from './item.ts';
import { type Located, locateNode, type NodeTarget, unknownNode } from './node-locate.ts';
import { updatePatiently } from './node-write.ts';

const actionOf: Record<RemovalMode, ItemAction> = { orphan: 'orphaned', unpublish: 'unpublished', delete: 'deleted' };

/** Removes the node of an entry, or of its interrupted create; returns what records that. One not ours is left alone. */
export const removeNode = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry, how: RemovalMode) => {
  const { item, ledger } = target;
  let found = entry;
  if ((entry.nid ?? entry.pending) !== null && entry.removed !== how) {
    const located = await locateNode(target, wish, entry);
    found = located.entry;
    if (found.nid === null) await item.note('nothing left to remove');
    else {
      const remove = (signal: AbortSignal) => takeDown(target, located, how, signal);
      await item.step({ name: how, on: `node ${found.nid}`, writes: true }, remove, () => actionOf[how]);
    }
    if (found.nid !== null || how === 'delete') await item.did(actionOf[how]);
  }
  const removed: LedgerEntry = {
    ...(how === 'delete' ? unknownNode(found) : found),
    ...(found.pending?.what === 'attach' && brokenFile), // nobody knows which file the node has
    refused: entry.refused?.guard === undefined ? entry.refused : null,
    version: null,
    metadataFingerprint: null,
    removed: how,
    live: false,
    stale: false,
    reason: null,
    ...asOf(item),
  };
  await ledger.settle(item.portal, removed, { former: null });
  return removed;
};

/** @throws PortalGoneError, PortalReplyError: the next attempt looks what is left */
const takeDown = async (target: NodeTarget, located: Located, how: RemovalMode, signal: AbortSignal): Promise<void> => {
  const { item, portal } = target;
  const nid = located.entry.nid ?? '';
  // The table of a resource goes with its node.
  if (how === 'delete') await oneAtATime(target, signal, () => portal.nodes.remove(nid, signal));
  else {
    const log = `sluice ${located.entry.key} ${how}`;
    const node = located.node ?? (await portal.nodes.read(nid, signal));
    if (node.status === '0' && node.log === log) return item.note(`node ${nid} was removed before the interruption`);
    const fields = how === 'orphan' ? { field_orphan: { und: [{ value: '1' }] } } : {};
    await updatePatiently(target, node, { status: 0, fields, log }, signal);
  }
  const left = await portal.nodes.visible(nid, signal);
  if (left === null || (how !== 'delete' && left.status === '0')) return;
  const message = `${portal.name}: node ${nid} is there as before its removal, which was answered as done`;
  const hint = 'it is tried again; look for the reason in the log of the portal';
  throw new PortalReplyError(message, { method: 'GET', path: `node ${nid}`, status: 200 }, { hint });
};

// The node of a dataset: written where needed, proven by reading it back.
import { PortalGoneError } from '../errors.ts';
import { type LedgerEntry, newEntry } from '../ledger/entry.ts';
import type { DatasetWork } from '../ledger/runs.ts';
import type { HandlerDeps } from './deps.ts';
import { noteFound } from './found.ts';
import type { Item } from './item.ts';
import { asTaken, type NodeWish } from './node-wish.ts';
import { type NodeTarget, proveNode, recreateNode, writeNode } from './node-write.ts';

/** Writes the node where needed, proves it by reading it back, and records that. */
export const publishDataset = async (deps: HandlerDeps, item: Item, work: DatasetWork): Promise<void> => {
  const { wish, onDrift, next } = work;
  const portal = deps.portal(item.portal);
  const { entry: known, intent } = await deps.ledger.known(item.portal, item.key);
  await noteFound(item, known, intent);
  const before = known ?? newEntry({ ...wish, kind: 'dataset' });
  const whole: NodeWish = { ...wish, type: 'dataset', fingerprint: wish.metadataFingerprint };
  if (isProven(before, whole) && !intent && !work.verify) {
    return item.end(before, { outcome: 'unchanged', reason: null });
  }
  const { wish: node, leftOut } = wish.optional
    ? asTaken(whole, await portal.dialectInUse(item.signal))
    : { wish: whole, leftOut: [] };
  if (leftOut.length > 0)
    await item.note(`left out, because the portal's form does not take them: ${leftOut.join(', ')}`);
  const target = { item, ledger: deps.ledger, portal, onDrift, next };
  let entry = await writeNode(target, node, before, intent);
  entry = await item.step(
    { name: 'verify', light: true, on: `dataset node ${entry.nid}` },
    async (signal) => {
      try {
        return await prove(target, node, entry, signal);
      } catch (error) {
        if (!(error instanceof PortalGoneError)) throw error;
        return prove(target, node, await recreateNode(target, node, entry), signal);
      }
    },
    () => 'verified',
  );
  await item.end(entry, { outcome: item.actions.length > 0 ? 'done' : 'unchanged', reason: null });
};

const isProven = (entry: LedgerEntry, node: NodeWish): boolean =>
  entry.nid !== null && entry.live && entry.metadataFingerprint === node.fingerprint;

const prove = async (
  target: NodeTarget,
  node: NodeWish,
  before: LedgerEntry,
  signal: AbortSignal,
): Promise<LedgerEntry> => {
  const { item, ledger } = target;
  const { entry, node: read } = await proveNode(target, node, before, signal);
  const proven: LedgerEntry = {
    ...entry,
    vid: read.vid,
    url: read.path ?? null,
    metadataFingerprint: node.fingerprint,
    live: node.published,
    stale: false,
    reason: null,
    runId: item.runId,
    syncedAt: Date.now(),
  };
  await ledger.put(item.portal, proven);
  return proven;
};

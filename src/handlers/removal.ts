// Taking a node down on purpose: orphaned, unpublished or deleted. Every way may be killed at any line and done again.
import { PortalGoneError } from '../errors.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import type { ItemAction } from '../report.ts';
import type { NodeTarget } from './node-write.ts';

type How = NonNullable<LedgerEntry['removed']>;

const actionOf: Record<How, ItemAction> = { orphan: 'orphaned', unpublish: 'unpublished', delete: 'deleted' };

/** Takes the node of an entry down and returns the entry that remembers it. A node that is gone already is fine. */
export const removeNode = async (target: NodeTarget, entry: LedgerEntry, how: How): Promise<LedgerEntry> => {
  const { item, ledger } = target;
  if (entry.nid !== null && entry.removed !== how) {
    await item.step(
      { name: how, on: `node ${entry.nid}`, writes: true },
      async (signal) => {
        try {
          await takeDown(target, entry, how, signal);
        } catch (error) {
          if (!(error instanceof PortalGoneError)) throw error;
          await item.note(`node ${entry.nid} is gone already`);
        }
      },
      () => actionOf[how],
    );
    await item.did(actionOf[how]);
  }
  const removed: LedgerEntry = {
    ...entry,
    ...(how === 'delete' ? gone : {}),
    metadataFingerprint: null,
    removed: how,
    live: false,
    stale: false,
    reason: null,
    runId: item.runId,
    syncedAt: Date.now(),
  };
  await ledger.settle(item.portal, removed);
  return removed;
};

/** What a deleted node takes with it. */
const gone: Pick<LedgerEntry, 'nid' | 'vid' | 'url' | 'file' | 'datastore' | 'rows' | 'fieldNames'> = {
  nid: null,
  vid: null,
  url: null,
  file: null,
  datastore: 'none',
  rows: null,
  fieldNames: [],
};

const takeDown = async (target: NodeTarget, entry: LedgerEntry, how: How, signal: AbortSignal): Promise<void> => {
  const { portal } = target;
  const nid = entry.nid ?? '';
  if (how === 'delete') return portal.deleteNode(nid, signal);
  const log = `sluice ${entry.key} ${how}`;
  const node = await portal.readNode(nid, signal);
  if (node.status === '0' && node.log === log)
    return target.item.note(`node ${nid} was taken down before the interruption`);
  const fields = how === 'orphan' ? { field_orphan: { und: [{ value: '1' }] } } : {};
  await portal.updateNode(nid, { status: 0, fields, log }, signal);
};

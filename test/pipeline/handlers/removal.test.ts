// Taking nodes down, and what is known of them afterwards.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LedgerEntry } from '../../../src/model/ledger-entry.ts';
import { logOf } from '../../../src/pipeline/compare/node.ts';
import { removeNode } from '../../../src/pipeline/handlers/removal.ts';
import { openForTest } from '../../portal-client/support/open.ts';
import { startSmallPortal } from '../../portal-client/support/small-portal.ts';
import { entryOf, itemOf, nodeWish, useLedger } from './support/job.ts';

const { ledger } = useLedger();

let count = 0;
const prepare = async () => {
  const portal = await startSmallPortal({});
  onTestFinished(() => portal.close());
  const { item } = itemOf(`take/down/case-${count++}`);
  const wish = nodeWish(item.key);
  const { type, uuid, title } = wish;
  portal.nodes.set('1', { nid: '1', vid: '1', uuid, type, title, status: '1', log: logOf(wish, '0a1b2c3d') });
  const target = {
    item,
    ledger: ledger(),
    portal: openForTest(portal.url, { dialect: 'auto' }),
    onDrift: 'overwrite' as const,
    createMissing: false,
    importsTogether: false,
  };
  const file = { fid: '7', name: 't.csv', bytes: 8, sha256: 'a'.repeat(64) };
  const entry: LedgerEntry = { ...entryOf(item.key), uuid, title, nid: '1', vid: '1', file, datastore: 'imported' };
  return { target, wish, entry };
};

describe('a node that an interrupted create has left', () => {
  it('is deleted, and nothing is where it left none', async () => {
    const { target, wish, entry } = await prepare();
    const pending = { what: 'create' as const, before: null, nonce: '0a1b2c3d', at: 1 };
    const before: LedgerEntry = { ...entry, nid: null, vid: null, file: null, datastore: 'none', pending };
    for (const _time of ['left', 'gone']) {
      await removeNode(target, wish, before, 'delete');
      expect(await ledger().entry('city', wish.key)).toMatchObject({ pending: null, nid: null, removed: 'delete' });
      expect(await target.portal.nodes.visible('1', target.item.signal)).toBeNull();
    }
  });
});

describe('a node that is unpublished', () => {
  it('keeps what is known of its file', async () => {
    const { target, wish, entry } = await prepare();
    const removed = await removeNode(target, wish, entry, 'unpublish');
    expect(removed).toMatchObject({ removed: 'unpublish', nid: '1', file: entry.file, datastore: 'imported' });
  });

  it('amid an interrupted attach: relies on no file of it', async () => {
    const { target, wish, entry } = await prepare();
    const pending = { what: 'attach' as const, before: '3', nonce: 'b'.repeat(64), at: 1 };
    await removeNode(target, wish, { ...entry, pending }, 'unpublish');
    expect(await ledger().entry('city', wish.key)).toMatchObject({ pending: null, file: null, datastore: 'pending' });
  });
});

// What becomes of an item that failed for good.
import { expect, it } from 'vitest';
import { type LedgerEntry, newEntry } from '../../../src/model/ledger-entry.ts';
import { failedEntry } from '../../../src/pipeline/handlers/item.ts';

const reason = { code: 'import-failed', message: 'no', hint: null } as const;
const file = { fid: '3', name: 'a.csv', bytes: 4, sha256: 'x', url: null };
const good = { ...file, rows: 1, delimiter: null };
const proven = { metadataFingerprint: 'f' };

it.each<[string, LedgerEntry['kind'], Partial<LedgerEntry>, boolean]>([
  ['a node that was never verified', 'dataset', { nid: '7' }, false],
  ['a dataset that was verified before', 'dataset', { nid: '7', ...proven, links: ['8'] }, true],
  ['a draft that waits for its list', 'dataset', { nid: '7', ...proven }, false],
  ['a first table whose rows never came', 'resource', { nid: '7', ...proven, file, datastore: 'pending' }, false],
  ['a first table with wrong rows', 'resource', { nid: '7', ...proven, file, datastore: 'failed' }, false],
  ['a table after a good one', 'resource', { nid: '7', ...proven, file, datastore: 'failed', good }, true],
  ['a first file that was not verified', 'resource', { nid: '7', file }, false],
  ['a file after a verified one', 'resource', { nid: '7', ...proven, file }, true],
  ['a resource whose file is gone', 'resource', { nid: '7', ...proven, good }, false],
  ['what has no node', 'resource', { good }, false],
])('%s: whether the portal serves an older version', (_what, kind, more, stale) => {
  const entry = { ...newEntry({ key: 'm/d/r', kind, uuid: 'u', title: 't' }), ...more };
  expect(failedEntry(entry, reason, { runId: 'r', actions: ['attached'] })).toMatchObject({
    live: false,
    stale,
    reason,
  });
  expect(failedEntry(entry, reason, { runId: 'r', actions: ['created'] })).toMatchObject({ live: false, stale: false });
});

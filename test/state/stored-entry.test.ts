// Stored ledger entries.
import { describe, expect, it } from 'vitest';
import { type LedgerEntry, newEntry } from '../../src/model/ledger-entry.ts';
import { entryOfStored, storedEntry } from '../../src/state/ledger.ts';

const key = 'city/budget/spending';
const sha256 = '6d2a12837d9d3f717ecfaa5b675b71fb5f2ec1dcf2935621e4ca48c2e0728ca9';
const file = { fid: '247', name: 'spending.csv', bytes: 10733, sha256, url: null };
const entry: LedgerEntry = {
  ...newEntry({ key, kind: 'resource', uuid: 'd7a44244-b7a7-5bd7-9846-b9f7d608f642', title: 'Spending' }),
  nid: '489',
  vid: '490',
  changed: '1795407924',
  url: 'http://city.example/dataset/resource/d7a44244-b7a7-5bd7-9846-b9f7d608f642',
  fieldNames: ['body'],
  metadataFingerprint: '43603088350e326be938c0a138d7deff07fa96f8c59c89dee440191bc476bfd5',
  baseline: {},
  source: { bytes: 10733, sha256, mtimeNs: '1', ctimeNs: '2', ino: '3', hashedAt: 4 },
  sourcePath: '/data/spending.csv',
  file,
  datastore: 'imported',
  rows: 200,
  live: true,
  good: { ...file, rows: 200, delimiter: ',' },
  refused: {
    sha256,
    importFingerprint: 'f'.repeat(64),
    delimiter: null,
    isReplaced: false,
    reason: { code: 'import-failed', message: 'no', hint: null },
  },
  runId: '20261123-042518-frctj',
  syncedAt: 1795407925521,
};

const stored = (of: LedgerEntry): Buffer => Buffer.from(storedEntry(of));

describe('a stored entry', () => {
  it('is read as it was written, whatever is empty', () => {
    const removed: LedgerEntry = {
      ...entry,
      baseline: null,
      live: false,
      removed: 'orphan',
      missingSince: 5,
      nid: null,
    };
    for (const each of [entry, removed, newEntry({ key, kind: 'resource', uuid: 'u', title: '' })]) {
      expect(entryOfStored(stored(each))).toEqual(each);
    }
  });

  it('leaves out what is empty', () => {
    const text = storedEntry(newEntry({ key, kind: 'resource', uuid: 'u', title: 'Spending' }));
    expect(JSON.parse(text)).toEqual({ key, kind: 'resource', uuid: 'u', title: 'Spending' });
  });

  it('of an unknown shape is none', () => {
    const unknown = Buffer.from(JSON.stringify({ key, shape: 'unknown' }));
    expect(entryOfStored(unknown)).toBeNull();
    for (const text of ['', 'no JSON', '{"nid":"1"}\n\u0003', '[]\n[]', 'null\nnull']) {
      expect(entryOfStored(Buffer.from(text))).toBeNull();
    }
  });
});

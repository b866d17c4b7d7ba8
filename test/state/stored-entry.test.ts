// Stored ledger entries: small, exact, and as readable as those of earlier versions.
import { describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../src/model/key.ts';
import { type LedgerEntry, newEntry } from '../../src/model/ledger-entry.ts';
import { entryOfStored, indexedOfStored, storedEntry } from '../../src/state/ledger.ts';
import { unpack, unpackHead } from '../../src/state/packed.ts';

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

/** As releases wrote it that stored entries as they are. */
const plainText =
  `{"key":"${key}","kind":"resource","uuid":"d7a44244-b7a7-5bd7-9846-b9f7d608f642","nid":"489","vid":"490",` +
  `"changed":"1795407924","url":"http://city.example/dataset/resource/d7a44244-b7a7-5bd7-9846-b9f7d608f642",` +
  `"title":"Spending","identifier":null,"fieldNames":["body"],` +
  `"metadataFingerprint":"43603088350e326be938c0a138d7deff07fa96f8c59c89dee440191bc476bfd5","beside":{},"notHeld":{},` +
  `"links":null,"source":{"bytes":10733,"sha256":"${sha256}","mtimeNs":"1","ctimeNs":"2","ino":"3","hashedAt":4},` +
  `"sourcePath":"/data/spending.csv","fetched":null,` +
  `"file":{"fid":"247","name":"spending.csv","bytes":10733,"sha256":"${sha256}","url":null},"rejected":null,` +
  `"datastore":"imported","rows":200,"rowsDropped":0,"live":true,"stale":false,"reason":null,"removed":null,` +
  `"missingSince":null,"good":{"fid":"247","name":"spending.csv","bytes":10733,"sha256":"${sha256}","url":null,` +
  `"rows":200,"delimiter":","},"refused":{"sha256":"${sha256}","offer":"${'f'.repeat(64)}","delimiter":null,` +
  `"isReplaced":false,"reason":{"code":"import-failed","message":"no","hint":null}},` +
  `"runId":"20261123-042518-frctj","syncedAt":1795407925521}`;

const indexed = ({ key, uuid, nid, live, removed, missingSince, reason, syncedAt }: LedgerEntry) => ({
  ...{ key, uuid, nid, live, removed, missingSince, reason, syncedAt },
});

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
      expect(entryOfStored(key, storedEntry(each))).toEqual(each);
      expect(indexedOfStored(key, storedEntry(each))).toEqual(indexed(each));
    }
  });

  it('takes less than half of its text', () => {
    expect(storedEntry(entry).length).toBeLessThan(JSON.stringify(entry).length / 2);
  });

  it.each([true, false])('leaves out the uuid that follows from its key (live: %s)', (live) => {
    const own = uuidOfKey(key);
    const mine = { ...entry, live, uuid: own, url: `http://city.example/dataset/resource/${own}` };
    expect(JSON.stringify(unpack(storedEntry(mine)))).not.toContain(own);
    expect(entryOfStored(key, storedEntry(mine))).toEqual(mine);
    expect(indexedOfStored(key, storedEntry(mine))).toEqual(indexed(mine));
  });

  it('of what is not live is plain text', () => {
    expect(JSON.parse(storedEntry({ ...entry, live: false }).toString())).toMatchObject({
      nid: '489',
      title: 'Spending',
    });
  });

  it('of a release that stored the text itself is read, under its names of then', () => {
    expect(entryOfStored(key, Buffer.from(plainText))).toEqual(entry);
    expect(indexedOfStored(key, Buffer.from(plainText))).toEqual(indexed(entry));
    const { refused: _, ...old } = JSON.parse(plainText) as LedgerEntry;
    const before = Buffer.from(JSON.stringify({ ...old, refused: null, beside: null }));
    expect(entryOfStored(key, before)).toEqual({ ...entry, refused: null, baseline: null });
  });

  it('of an unknown shape is none', () => {
    const unknown = Buffer.from(JSON.stringify({ key, shape: 'of another release' }));
    expect(entryOfStored(key, unknown)).toBeNull();
  });
});

describe('a packed value', () => {
  it('stays readable: the dictionary is part of what is stored', () => {
    const stored = Buffer.from('eyJuaWQiOiIxIn0KQzgvPBHUICNsCWob0EipthYA', 'base64');
    expect(unpackHead(stored)).toEqual({ nid: '1' });
    expect(unpack(stored)).toEqual({ nid: '1', title: 'Water', fieldNames: ['field_link_api'], good: { fid: '2' } });
  });
});

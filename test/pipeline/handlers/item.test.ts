// What becomes of an item that failed for good, and the time that work on one took.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type LedgerEntry, newEntry } from '../../../src/model/ledger-entry.ts';
import { failedEntry, jobItem } from '../../../src/pipeline/handlers/item.ts';
import type { Begun, Unproven } from '../../../src/state/run-work.ts';
import type { Runs } from '../../../src/state/runs.ts';
import { itemOf } from './support/job.ts';

const reason = { code: 'import-failed', message: 'no', hint: null } as const;
const file = { fid: '3', name: 'a.csv', bytes: 4, sha256: 'x' };
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

it('counts the time of an attempt once for a table that is left to its proof', async () => {
  const noted: Begun[] = [];
  const note = async (_run: string, _key: string, begun: Begun) => void noted.push(begun);
  const { job, log } = itemOf('m/d/r').item;
  const begun = { actions: [], unproven: null, attempts: 0, ms: 1000 };
  const runs = { note, leaveToProof: note } as unknown as Runs; // all that is used here
  const item = jobItem(job, 'm/d/r', { runs, log, state: { begun, ended: null } });
  await sleep(100);
  await item.awaitProof({ nid: '7' } as Unproven);
  await item.pause();
  const [left = 0, paused = 0] = noted.map(({ ms }) => ms - begun.ms);
  expect(left).toBeGreaterThan(90);
  expect(paused).toBeLessThan(2 * left);
});

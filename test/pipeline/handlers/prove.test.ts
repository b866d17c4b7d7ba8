// A job that proves tables: what it says after a kill.
import { expect, it } from 'vitest';
import { GiveBack, type JobContext } from '../../../src/model/job.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import type { HandlerDeps } from '../../../src/pipeline/handlers/deps.ts';
import { proveHandler } from '../../../src/pipeline/handlers/prove.ts';
import type { Portal } from '../../../src/portal-client/client.ts';
import type { KeptFor } from '../../../src/sources/drop/kept.ts';
import type { DatasetWork, ResourceWork } from '../../../src/state/run-work.ts';
import { runsIn } from '../../../src/state/runs.ts';
import { entryOf, nodeWish, useLedger } from './support/job.ts';

const { ledger, redis } = useLedger();
const key = 'm/d/t';

it('a resumed proof says what it found before it takes the table for live, and leaves no copy of the former file', async () => {
  const runs = runsIn(redis(), redisKeys('test'), 60_000);
  const wish = nodeWish(key);
  await runs.begin('r', { manifest: 'm', portal: 'p' });
  await runs.phases.startOver('r');
  const plan = runs.newPlan('r');
  const source = { kind: 'file', path: '/t.csv', name: 't.csv' };
  const work = { source: null, removal: null, onDrift: 'hold', createMissing: false };
  const full = { ...wish, datasetKey: 'm/d', metadataFingerprint: 'f', source, import: 'auto' };
  const resource = { ...work, wish: full } as unknown as ResourceWork; // all that a proof reads
  const dataset = { wish: { key: 'm/d' } } as DatasetWork; // nobody reads more of it
  await plan.add({ datasets: [dataset], resources: [resource], settled: [], claims: [] });
  await plan.end([]);
  const file = { fid: '3', name: 't.csv', bytes: 9, sha256: 'a'.repeat(64) };
  const good = { ...file, rows: 2, delimiter: ',' };
  const unproven = { nid: '7', uuid: wish.uuid, rows: 2, columns: 1, good, version: null };
  await runs.leaveToProof('r', key, { actions: ['imported'], unproven, attempts: 1, ms: 1 });
  await runs.leave('r', 'm/d');
  await runs.phases.goOn('r');
  const former = { ...good, sha256: 'b'.repeat(64) };
  const sent = entryOf(key, { nid: '7', uuid: wish.uuid, good: former });
  await ledger().begin('p', sent, { what: 'import', before: null, nonce: '' });

  const portal = {
    forJob: () => portal,
    datastore: { tables: async () => new Map([[wish.uuid, { rows: 2, columns: ['a'] }]]) },
  } as unknown as Portal;
  const forgotten: string[] = [];
  const deps = {
    ledger: ledger(),
    runs,
    portal: () => portal,
    isShared: async () => false,
    settings: { importsTogether: () => true },
    kept: {
      forget: async (_owner: KeptFor, sha256: string) => {
        forgotten.push(sha256);
        if (forgotten.length === 1) throw new GiveBack();
      },
    },
  } as unknown as HandlerDeps;
  const said: string[] = [];
  const { signal } = new AbortController();
  const job = {
    data: { kind: 'prove', runId: 'r', manifest: 'm', portal: 'p', key, group: 0 },
    attempt: 1,
    isLast: false,
    signal,
    writer: null,
    poisonOf: () => null,
    item: () => ({
      resumed: true,
      lastStep: null,
      step: async (label: { name: string }, run: (signal: AbortSignal) => Promise<unknown>) => {
        said.push(label.name);
        return run(signal);
      },
      note: async (line: string) => void said.push(line),
      end: () => undefined,
    }),
  } as unknown as JobContext<'prove'>;
  await expect(proveHandler(deps).run(job)).rejects.toBeInstanceOf(GiveBack);
  await proveHandler(deps).run(job);
  const found = 'found node 7, an import under way: looking whether it took effect';
  expect(said).toEqual([found, found, 'confirm']);
  expect(forgotten).toEqual([former.sha256, former.sha256]);
  expect(await ledger().entry('p', key)).toMatchObject({ live: true, rows: 2, pending: null });
  expect(await runs.phases.open('r', 0, 10)).toEqual([]);
  expect((await runs.item('r', key)).ended).toMatchObject({ outcome: 'done', actions: ['imported'], live: true });
});

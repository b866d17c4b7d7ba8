// The handler that closes runs: what becomes of items that are open, and of dropped files.
import { expect, it } from 'vitest';
import type { JobContext } from '../../../src/model/job.ts';
import { newEntry } from '../../../src/model/ledger-entry.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import { type Reason, reportItem, type StoredReport } from '../../../src/model/report.ts';
import { closeHandler } from '../../../src/pipeline/handlers/close.ts';
import type { DatasetWork, SettledClaim } from '../../../src/state/run-work.ts';
import { type Runs, runsIn } from '../../../src/state/runs.ts';
import { plainRequest } from '../../support/plain-request.ts';
import { useLedger } from './support/job.ts';

const { redis, ledger } = useLedger();
const stuck: Reason = { code: 'jobs-stuck', message: 'the run could not continue', hint: null };
const faulty: Reason = { code: 'table-faulty', message: 'an open quote', hint: null };
const request = {
  manifest: 'm',
  portal: 'p',
  manifestPath: 'm.yaml',
  why: 'drop',
  only: null,
  ...plainRequest,
} as const;

const ended = (key: string, reason: Reason | null) =>
  reportItem({ key, uuid: 'u', outcome: reason ? 'quarantined' : 'done', reason, live: reason === null });

/** A planned run of a dataset with three dropped files, two of which have ended. */
const openRun = async (runId: string): Promise<Runs> => {
  const runs = runsIn(redis(), redisKeys('test'), 60_000);
  await runs.begin(runId, request);
  await runs.phases.startOver(runId);
  const plan = runs.newPlan(runId);
  const uuid = 'f4660933-c557-589c-bd84-ee83ec75e507';
  const common = { uuid, published: true, fields: {}, metadataFingerprint: 'f' };
  const more = { removal: null, onDrift: 'hold' as const, createMissing: false };
  const resources = ['live', 'faulty', 'open'].map((id) => {
    const source = { kind: 'file' as const, path: `/inbox/${id}.csv`, name: `${id}.csv`, claim: id };
    const wish = { ...common, key: `m/d/${id}`, datasetKey: 'm/d', title: id, source, import: 'auto' as const };
    return { ...more, source: null, wish };
  });
  const dataset: DatasetWork = {
    ...more,
    wish: { ...common, key: 'm/d', title: 'd' },
    nid: null,
    resources: resources.map(({ wish }) => wish.key),
    order: [],
    next: [],
    verify: false,
    frozen: false,
    refused: null,
  };
  await plan.add({ datasets: [dataset], resources, settled: [], claims: [{ claim: 'unchanged', reason: null }] });
  await plan.end([]);
  for (const [id, reason] of [
    ['live', null],
    ['faulty', faulty],
  ] as const) {
    await runs.end(runId, ended(`m/d/${id}`, reason));
  }
  return runs;
};

/** What the handler did. */
const closing = (runs: Runs, settle: (claims: SettledClaim[]) => Promise<void>) => {
  const [notes, reports]: [string[], StoredReport[]] = [[], []];
  const handler = closeHandler({
    runs,
    ledger: ledger(),
    takeOut: async () => void notes.push('took its jobs out'),
    leaveDrops: async () => void notes.push('left the drops'),
    settleDrops: async (_: unknown, claims: SettledClaim[]) => settle(claims),
    onRunClosed: [async (report: StoredReport) => void reports.push(report)],
  } as unknown as Parameters<typeof closeHandler>[0]); // all that a run that publishes uses
  const { signal } = new AbortController();
  const job = (runId: string): JobContext<'close'> =>
    ({
      data: { kind: 'close', runId, ...request },
      signal,
      writer: null,
      note: async (line: string) => void notes.push(line),
      step: async (_: unknown, work: (signal: AbortSignal) => Promise<unknown>) => work(signal),
    }) as unknown as JobContext<'close'>;
  return { handler, job, notes, reports };
};

it('counts what a cancelled first publication has added, and calls none of it an older version', async () => {
  const runs = await openRun('added');
  const begun = { unproven: null, attempts: 0, ms: 5 };
  await runs.note('added', 'm/d/open', { ...begun, actions: ['created', 'attached'] });
  await runs.note('added', 'm/d', { ...begun, actions: ['created'] });
  const sent = { nid: '7', metadataFingerprint: 'f', links: ['8'], runId: 'added' };
  await ledger().put('p', { ...newEntry({ key: 'm/d', kind: 'dataset', uuid: 'u', title: 'd' }), ...sent });
  await runs.phases.halt('added', { code: 'cancelled', message: 'run added was cancelled', hint: null });
  const { handler, job, reports } = closing(runs, async () => undefined);
  await handler.run(job('added'));
  expect(reports[0]?.counts.actions).toEqual({ created: 2, attached: 1 });
  expect(reports[0]?.remarks).toEqual([expect.stringMatching(/^2 items had been added to the portal by then: /)]);
  const [dataset, ...items] = reports[0]?.items ?? [];
  expect(dataset).toMatchObject({ key: 'm/d', outcome: 'cancelled', stale: false, actions: ['created'], ms: 5 });
  expect(items.find(({ key }) => key === 'm/d/open')).toMatchObject({ outcome: 'cancelled', stale: false });
});

it('ends what is open of a run that is halted, settles all its files, and reports once', async () => {
  const runs = await openRun('halted');
  await runs.phases.halt('halted', stuck);
  const settled: SettledClaim[] = [];
  const { handler, job, notes, reports } = closing(runs, async (claims) => void settled.push(...claims));
  await handler.run(job('halted'));
  expect(notes[0]).toBe('took its jobs out');
  expect(settled).toEqual([
    { claim: 'unchanged', reason: null },
    { claim: 'faulty', reason: faulty },
    { claim: 'live', reason: null },
    { claim: 'open', reason: stuck },
  ]);
  expect(reports.map(({ reason, items }) => [reason, items.length])).toEqual([[stuck, 4]]);
  expect(await ledger().entry('p', 'm/d')).toMatchObject({ reason: stuck, live: false });
  expect(await runs.phases.phase('halted')).toBe('closed');
  await handler.run(job('halted'));
  expect(reports).toHaveLength(1);
});

it('ends a run of which it does not understand some records', async () => {
  const runs = await openRun('strange');
  const keys = redisKeys('test');
  await redis().hset(keys.runWork('strange'), 'm/d', '{"wish":"of another release"}');
  await redis().hset(keys.runBegun('strange'), 'm/d', '{}');
  await redis().hset(keys.runDrops('strange'), 'unchanged', '"?"');
  await runs.phases.halt('strange', stuck);
  const settled: SettledClaim[] = [];
  const { handler, job, reports } = closing(runs, async (claims) => void settled.push(...claims));
  await handler.run(job('strange'));
  expect(Array.from(reports[0]?.items ?? [], ({ key }) => key)).toEqual(['m/d', 'm/d/faulty', 'm/d/live']);
  expect(settled.map(({ claim }) => claim)).toEqual(['faulty', 'live']);
  expect(await runs.phases.phase('strange')).toBe('closed');
});

it('takes up after its report where a kill came then', async () => {
  const runs = await openRun('killed');
  const { handler, job, reports } = closing(runs, async () => undefined);
  await runs.close({
    ...(await runs.reported('killed')).end({
      runId: 'killed',
      manifest: 'm',
      portal: 'p',
      startedAt: '',
      endedAt: '',
      reason: null,
    }),
  });
  await handler.run(job('killed'));
  expect(reports.map(({ items }) => items.length)).toEqual([2]);
});

it('reports nothing of a plan that was never ended, and leaves its files to runs on request', async () => {
  const runs = runsIn(redis(), redisKeys('test'), 60_000);
  await runs.begin('half', request);
  await runs.phases.startOver('half');
  const plan = runs.newPlan('half');
  await plan.add({
    datasets: [],
    resources: [],
    settled: [ended('m/d', null)],
    claims: [{ claim: 'a', reason: null }],
  });
  await redis().zadd(redisKeys('test').runOpen('half'), 0, 'm/e'); // as a plan of several pages does
  await runs.phases.halt('half', { code: 'cancelled', message: 'c', hint: null });
  await plan.end([]);
  expect(await runs.phases.phase('half')).toBe('closing');
  const { handler, job, notes, reports } = closing(runs, async () => Promise.reject(new Error('none is settled')));
  await handler.run(job('half'));
  expect(notes).toContain('left the drops');
  expect(reports.map(({ reason, items }) => [reason?.code, items.length])).toEqual([['cancelled', 0]]);
  expect(await ledger().entry('p', 'm/e')).toBeNull();
});

it('closes a run although its dropped files cannot be settled, and says so', async () => {
  const runs = await openRun('lenient');
  const { handler, job, notes, reports } = closing(runs, async () => Promise.reject(new Error('the folder is gone')));
  await handler.failed?.(job('lenient'), stuck, stuck);
  expect(notes).toContain('dropped files were not settled: the folder is gone');
  expect(reports.map(({ reason }) => reason)).toEqual([stuck]);
  expect((await runs.report('lenient'))?.reason).toEqual(stuck);
});

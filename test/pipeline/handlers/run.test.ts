// The handler of runs where a run is closed as failed.
import { expect, it } from 'vitest';
import { type JobContext, plainRequest } from '../../../src/model/job.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import type { Reason, ReportItem } from '../../../src/model/report.ts';
import type { HandlerDeps } from '../../../src/pipeline/handlers/deps.ts';
import { runHandler } from '../../../src/pipeline/handlers/run.ts';
import { Runs, type SettledClaim } from '../../../src/state/runs.ts';
import { useLedger } from './support/job.ts';

const { redis } = useLedger();
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

const ended = (key: string, reason: Reason | null): ReportItem => {
  const file = {
    live: reason === null,
    stale: false,
    rows: null,
    file: null,
    rejected: null,
    mended: [],
    warnings: [],
  };
  const work = { actions: [], jobId: null, attempts: 1, ms: 1 };
  const outcome = reason ? 'quarantined' : 'done';
  return { key, kind: 'resource', nid: null, uuid: 'u', url: null, outcome, reason, ...file, ...work };
};

it('settles the dropped files of items that had ended, and leaves those of the others', async () => {
  const runs = new Runs(redis(), redisKeys('test'), 60_000);
  await runs.begin('r', request);
  const plan = runs.newPlan('r');
  const resource = (id: string) => {
    const key = `m/d/${id}`;
    const source = { kind: 'file' as const, path: `/inbox/${id}.csv`, name: `${id}.csv`, claim: id };
    const wish = {
      key,
      datasetKey: 'm/d',
      uuid: 'u',
      title: id,
      published: true,
      fields: {},
      metadataFingerprint: 'f',
    };
    const work = { why: 'new', source: null, removal: null, onDrift: 'hold' as const, createMissing: false };
    return { ...work, wish: { ...wish, source, import: 'auto' as const } };
  };
  const claims = [{ claim: 'unchanged', reason: null }];
  await plan.add({ datasets: [], resources: ['live', 'faulty', 'open'].map(resource), settled: [], claims });
  await plan.end([]);
  for (const [id, reason] of [
    ['live', null],
    ['faulty', faulty],
  ] as const) {
    const record = { actions: [], unproven: null, attempts: 1, ms: 1, ended: ended(`m/d/${id}`, reason) };
    await runs.keep('r', `m/d/${id}`, record);
  }
  const settled: SettledClaim[] = [];
  let isGateOpen = false;
  const deps = {
    runs,
    notify: async () => undefined,
    closeJobs: async () => 0,
    isCancelled: async () => false,
    settleDrops: async (_: unknown, claims: SettledClaim[]) => {
      settled.push(...claims);
      throw new Error('the folder is not there');
    },
    openGate: async () => {
      isGateOpen = true;
    },
  } as unknown as HandlerDeps; // all that a run that is closed as failed uses
  const notes: string[] = [];
  const job = { data: { kind: 'run', runId: 'r', ...request }, note: async (line: string) => void notes.push(line) };
  await runHandler(deps).failed?.(job as unknown as JobContext<'run'>, stuck, stuck);
  expect(settled).toEqual([...claims, { claim: 'faulty', reason: faulty }, { claim: 'live', reason: null }]);
  expect(notes).toEqual(['dropped files were not settled: the folder is not there']);
  expect(isGateOpen).toBe(true);
  expect((await runs.report('r'))?.reason).toEqual(stuck);
});

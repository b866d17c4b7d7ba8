// What a run waits for, told while its job changes.
import { afterAll, expect, it, vi } from 'vitest';
import { queuesOn } from '../../src/queue/queues.ts';
import { waitOfRun } from '../../src/queue/run-wait.ts';
import { plainRequest } from '../support/plain-request.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = openTestRedis();
const queues = queuesOn(redis, { prefix: 'w', attempts: 3, keepLogs: 10, keepMs: 60_000 });
afterAll(() => queues.close());

const addRun = async (runId: string): Promise<void> => {
  const of = { manifest: 'm', manifestPath: '/m.yaml', portal: 'p', why: 'command', only: null } as const;
  await queues.runs.add('run', { kind: 'run', runId, ...of, ...plainRequest }, { jobId: runId, delay: 60_000 });
};

const waitOf = async (runId: string) =>
  (await waitOfRun({ queues, pauses: { state: async () => null } }, { runId, portal: 'p' })).standstill;

it('is told why an attempt failed that fails just now', async () => {
  await addRun('r1');
  const getJob = queues.runs.getJob.bind(queues.runs);
  vi.spyOn(queues.runs, 'getJob').mockImplementationOnce(async (id) => {
    const job = await getJob(id);
    await redis.hset(queues.runs.toKey(id), 'failedReason', 'the source answered 503');
    return job;
  });
  expect(await waitOf('r1')).toEqual({ until: expect.any(Number), why: 'the source answered 503' });
});

it('is a time without a reason where nothing has failed', async () => {
  await addRun('r2');
  const wait = await waitOf('r2');
  expect(wait?.why).toBe('');
  expect(wait?.until).toBeGreaterThan(Date.now());
});

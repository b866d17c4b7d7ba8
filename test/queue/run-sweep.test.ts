// What a look at the open runs repairs, with runs and queues that were made by hand, and what it leaves alone.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { closeId, itemId, type RunRequest } from '../../src/model/job.ts';
import { createLog } from '../../src/model/log.ts';
import { redisKeys, targetName } from '../../src/model/redis-keys.ts';
import { advancerOf } from '../../src/queue/advance.ts';
import { runGate } from '../../src/queue/gate.ts';
import { portalPauses } from '../../src/queue/pause.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { breakSilence, runSweep } from '../../src/queue/run-sweep.ts';
import type { DatasetWork } from '../../src/state/run-work.ts';
import { runsIn } from '../../src/state/runs.ts';
import { plainRequest } from '../support/plain-request.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = openTestRedis();
const keys = redisKeys('s');
const queues = queuesOn(redis, { prefix: 's', attempts: 3, keepLogs: 10, keepMs: 60_000 });
const runs = runsIn(redis, keys, 60_000);
const gate = runGate(redis, keys, queues, runs);
const pauses = portalPauses(redis, keys, queues);
const advancer = advancerOf(queues, gate, runs);
const target = { manifest: 'city', portal: 'local' };
const request: RunRequest = {
  ...target,
  manifestPath: '/city.yaml',
  why: 'command',
  ...plainRequest,
  only: ['city/a'],
};

beforeEach(() => redis.flushdb());

const look = async (stuckMs = 30_000): Promise<void> => {
  const log = createLog({ level: 'silent' });
  await runSweep({ redis, keys, queues, gate, runs, pauses, advancer, portals: ['local'], stuckMs, log }).look();
};

/** A run with one dataset to publish, whose jobs nobody added. */
const plannedRun = async (): Promise<string> => {
  const { runId } = await gate.request(request);
  await queues.runs.remove(runId);
  await runs.begin(runId, request);
  await runs.phases.startOver(runId);
  const plan = runs.newPlan(runId);
  await plan.add({ datasets: [{ wish: { key: 'city/a' } } as DatasetWork], resources: [], settled: [], claims: [] });
  await plan.end([]);
  await runs.phases.addedTo(runId, 1);
  return runId;
};

describe('a run without its job', () => {
  it('gets it again where a kill came between taking the gate and adding it', async () => {
    const { runId } = await gate.request(request);
    await queues.runs.remove(runId);
    await redis.del(keys.run(runId));
    await look();
    const job = await queues.runs.getJob(runId);
    expect(job?.data).toMatchObject({ kind: 'run', runId, only: ['city/a'] });
    await look();
    expect((await queues.runs.getJob(runId))?.timestamp).toBe(job?.timestamp);
  });

  it('gets it again where it is in no list', async () => {
    const { runId } = await gate.request(request);
    await redis.lrem(queues.runs.toKey('wait'), 1, runId);
    await look();
    expect(await queues.runs.getJobState(runId)).toBe('waiting');
  });

  it('is closed as failed where nobody understands its request', async () => {
    const { runId } = await gate.request(request);
    await queues.runs.remove(runId);
    await redis.del(keys.run(runId));
    await redis.hset(
      keys.gates,
      targetName(target),
      JSON.stringify({ current: { id: runId, request: {} }, again: null }),
    );
    await look();
    expect(await runs.reason(runId)).toMatchObject({ code: 'jobs-stuck', message: expect.stringContaining('request') });
    expect(await queues.runs.getJobState(closeId(runId))).toBe('waiting');
  });

  it('is closed as failed where it ended without a plan', async () => {
    const { runId } = await gate.request(request);
    await redis.lrem(queues.runs.toKey('wait'), 1, runId);
    await redis.zadd(queues.runs.toKey('failed'), Date.now(), runId);
    await redis.hset(queues.runs.toKey(runId), { failedReason: 'the job data is invalid' });
    await look();
    expect(await runs.reason(runId)).toMatchObject({
      code: 'jobs-stuck',
      message: 'the run could not continue: the job data is invalid',
    });
  });

  it('is left alone where it was planned after the look at its phase', async () => {
    const { runId } = await gate.request(request);
    await queues.runs.remove(runId);
    await runs.phases.startOver(runId);
    const jobState = vi.spyOn(queues.runs, 'getJobState').mockImplementationOnce(async () => {
      await runs.newPlan(runId).end([]);
      return 'completed';
    });
    await look();
    expect(jobState).toHaveBeenCalled();
    expect(await runs.reason(runId)).toBeNull();
  });

  it('gets the one that closes it again, also where that ended without closing it', async () => {
    const runId = await plannedRun();
    await runs.leave(runId, 'city/a');
    await look();
    const id = closeId(runId);
    expect(await queues.runs.getJobState(id)).toBe('waiting');
    await redis.lrem(queues.runs.toKey('wait'), 1, id);
    await redis.zadd(queues.runs.toKey('failed'), Date.now(), id);
    await look();
    expect(await queues.runs.getJobState(id)).toBe('waiting');
  });
});

it('opens the gate when a kill came between closing the run and opening it, and starts the run that waits', async () => {
  const { runId } = await gate.request(request);
  const next = await gate.request(request);
  await runs.drop(runId);
  await look();
  expect((await gate.state(target)).current).toBe(next.runId);
  expect(await queues.runs.getJobState(next.runId)).toBe('waiting');
});

it('closes a cancelled run whose canceller was killed after the mark, and forgets marks that came too late', async () => {
  const runId = await plannedRun();
  await redis.hset(keys.cancelled, runId, 1, 'ended', 1);
  await redis.hset(keys.run('ended'), 'phase', 'closed');
  await look();
  expect(await runs.reason(runId)).toMatchObject({ code: 'cancelled' });
  expect(await redis.hkeys(keys.cancelled)).toEqual([runId]);
});

describe('a run whose jobs do not move', () => {
  const job = (runId: string): string => itemId(runId, 'city/a');
  /** What comes before its last progress is long ago. */
  const long = async (runId: string): Promise<void> => {
    await redis.hset(keys.run(runId), 'advancedAt', 1);
  };

  it('gets them again, twice, and is closed as failed then', async () => {
    const runId = await plannedRun();
    await long(runId);
    for (const repairs of [1, 2]) {
      await look(0);
      expect((await runs.phases.quiet(runId)).stuck).toMatchObject({ repairs, why: 'its jobs are not in the queue' });
      expect(await queues.portal('local').getJobState(job(runId))).toBe('waiting');
      await queues.portal('local').remove(job(runId));
    }
    await look(0);
    expect(await runs.reason(runId)).toMatchObject({
      code: 'jobs-stuck',
      message: 'the run could not continue: its jobs are not in the queue',
    });
  });

  it('gets those again that are in no list, or that the engine gave up', async () => {
    const runId = await plannedRun();
    const queue = queues.portal('local');
    for (const left of ['no list', 'failed']) {
      await redis.hset(queue.toKey(job(runId)), 'name', 'dataset');
      if (left === 'failed') await redis.zadd(queue.toKey('failed'), Date.now(), job(runId));
      await long(runId);
      await look(0);
      expect(await queue.getJobState(job(runId))).toBe('waiting');
      await queue.remove(job(runId));
    }
  });

  it.each(['active', 'delayed', 'wait'] as const)('is left alone with a job among the %s ones', async (set) => {
    const runId = await plannedRun();
    await long(runId);
    const queue = queues.portal('local');
    if (set === 'delayed') await redis.zadd(queue.toKey(set), 1, job(runId));
    else await redis.rpush(queue.toKey(set), job(runId));
    if (set === 'wait') await redis.rpush(queue.toKey('active'), 'a job of another run');
    await look(0);
    expect((await runs.phases.quiet(runId)).stuck).toBeNull();
  });

  it('is left alone while its portal is paused', async () => {
    const runId = await plannedRun();
    await long(runId);
    await pauses.pause('local', { code: 'portal-unreachable', message: 'down', hint: null });
    await look(0);
    expect((await runs.phases.quiet(runId)).stuck).toBeNull();
  });

  it('is stuck where a worker that has its job says nothing of it for half a day; the job is taken from it', async () => {
    const runId = await plannedRun();
    await long(runId);
    const queue = queues.portal('local');
    const [id, day] = [job(runId), 24 * 3600 * 1000];
    await redis.rpush(queue.toKey('active'), id);
    await redis.set(`${queue.toKey(id)}:lock`, 'a worker');
    const trace = { steps: {}, kills: {}, stalls: 0, at: Date.now() };
    await redis.hset(queue.toKey(id), { processedOn: Date.now() - day, data: JSON.stringify({ trace }) });
    await look(0);
    expect((await runs.phases.quiet(runId)).stuck).toBeNull();
    await breakSilence(queues, 'local', [id]);
    expect(await redis.exists(`${queue.toKey(id)}:lock`)).toBe(1);

    await redis.hset(queue.toKey(id), 'data', JSON.stringify({ trace: { ...trace, at: Date.now() - day } }));
    await look(0);
    expect((await runs.phases.quiet(runId)).stuck?.why).toBe('the worker that has its jobs says nothing any more');
    await breakSilence(queues, 'local', [id]);
    expect(await redis.exists(`${queue.toKey(id)}:lock`)).toBe(0);
  });
});

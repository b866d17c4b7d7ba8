// Limits that all workers of one Redis keep together, pauses and schedules.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { nextDue } from '../../src/model/schedule-times.ts';
import { liveWorkers, workerHeartbeat } from '../../src/queue/heartbeat.ts';
import { portalPauses } from '../../src/queue/pause.ts';
import { type Queues, queuesOn } from '../../src/queue/queues.ts';
import { waitOfRun } from '../../src/queue/run-wait.ts';
import { holdTrigger, keptSchedules, type ScheduledTarget, syncSchedules } from '../../src/queue/schedules.ts';
import { plainRequest } from '../support/plain-request.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

let server: TestRedis;
let redis: Redis;
let queues: Queues;
const keys = redisKeys('l');
const log = createLog({ level: 'silent' });

beforeAll(async () => {
  server = await startTestRedis();
  redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
  queues = queuesOn(redis, { prefix: 'l', attempts: 3, keepLogs: 10, keepMs: 60_000 });
});
afterAll(async () => {
  await queues.close();
  redis.disconnect();
  await server.close();
});
beforeEach(() => redis.flushdb());

describe('the heartbeat of workers', () => {
  it('brings the lowest limits into force, and raises them when that worker goes', async () => {
    const seen: number[] = [];
    const strict = workerHeartbeat(
      redis,
      keys,
      { role: 'a', limits: { p: { concurrency: 2, requestsPerSecond: 5 } }, silence: () => null },
      log,
    );
    const loose = workerHeartbeat(
      redis,
      keys,
      { role: 'b', limits: { p: { concurrency: 8, requestsPerSecond: 0 } }, silence: () => null },
      log,
    );
    await loose.start(async (_portal, limits) => void seen.push(limits.concurrency));
    await strict.start(async () => undefined);
    await waitUntil('the lowest limits', () => loose.limits('p').concurrency === 2);
    expect(loose.limits('p').requestsPerSecond).toBe(5);
    expect((await liveWorkers(redis, keys, Date.now())).size).toBe(2);
    await strict.stop();
    await waitUntil('the own limits again', () => loose.limits('p').concurrency === 8);
    expect(seen).toEqual([8, 2, 8]);
    await loose.stop();
    expect((await liveWorkers(redis, keys, Date.now())).size).toBe(0);
  });

  it('does not count a worker of this host whose process is gone', async () => {
    const { hostname } = await import('node:os');
    const beat = { host: hostname(), pid: 2 ** 22 - 1, role: 'dead', at: Date.now(), limits: {} };
    await redis.hset(keys.workers, 'x', JSON.stringify(beat));
    expect((await liveWorkers(redis, keys, Date.now())).size).toBe(0);
  });
});

describe('a pause', () => {
  it('stops the queue of its portal, keeps the first reason, and ends on resume', async () => {
    const pauses = portalPauses(redis, keys, queues);
    await pauses.pause('p', { code: 'portal-login', message: 'wrong password', hint: null });
    await pauses.pause('p', { code: 'portal-unreachable', message: 'later', hint: null });
    expect(await queues.portal('p').isPaused()).toBe(true);
    expect((await pauses.state('p'))?.reason.message).toBe('wrong password');
    await pauses.resume('p');
    expect(await queues.portal('p').isPaused()).toBe(false);
    expect(await pauses.state('p')).toBeNull();
  });
});

describe('a standstill', () => {
  it('names what Redis lacks, and what to do about it', async () => {
    const options = { ...queues.runOptions('r-full'), delay: 60_000 };
    const job = await queues.runs.add('run', { kind: 'run' }, options);
    const failed = "OOM command not allowed when used memory > 'maxmemory'.";
    await redis.hset(queues.runs.toKey('r-full'), 'failedReason', failed);
    const pauses = portalPauses(redis, keys, queues);
    const { standstill } = await waitOfRun({ queues, pauses }, { runId: job.id ?? '', portal: 'p' });
    expect(standstill?.why).toMatch(/^OOM command not allowed.* -> raise `maxmemory` of Redis/);
  });

  it('is none while the run is being planned, whatever other runs wait for', async () => {
    await queues.portal('p').add('dataset', {}, { delay: 60_000 });
    const job = await queues.runs.add('run', { kind: 'run' }, queues.runOptions('r-planning'));
    const pauses = portalPauses(redis, keys, queues);
    const waits = await waitOfRun({ queues, pauses }, { runId: job.id ?? '', portal: 'p' });
    expect(waits).toEqual({ pause: null, standstill: null });
    await queues.portal('p').drain(true);
  });
});

describe('schedules', () => {
  const schedule = (cron: string): ScheduledTarget => ({
    request: {
      manifestPath: '/c.yaml',
      manifest: 'city',
      portal: 'p',
      why: 'schedule' as const,
      only: null,
      ...plainRequest,
    },
    schedule: { cron, timezone: 'Europe/Oslo', jitterMs: 0, window: null, catchUp: 'once' },
  });

  it('follow the manifests: added, changed, left alone, removed', async () => {
    expect(await syncSchedules(queues, [schedule('15 3 * * *')])).toHaveLength(1);
    expect(await syncSchedules(queues, [schedule('15 3 * * *')])).toEqual([]);
    const [scheduler] = await queues.runs.getJobSchedulers();
    expect(scheduler).toMatchObject({ pattern: '15 3 * * *', tz: 'Europe/Oslo' });
    expect(await syncSchedules(queues, [schedule('30 4 * * *')])).toHaveLength(1);
    expect((await queues.runs.getJobSchedulers())[0]?.pattern).toBe('30 4 * * *');
    expect(await syncSchedules(queues, [])).toHaveLength(1);
    expect(await queues.runs.getJobSchedulers()).toEqual([]);
  });

  it('tell when they are due and what waits; what waits for the same time is one, and goes with its schedule', async () => {
    const nightly = schedule('15 3 * * *');
    await syncSchedules(queues, [nightly]);
    const until = Date.now() + 3_600_000;
    const trigger = { kind: 'trigger' as const, ...nightly.request, schedule: nightly.schedule, waited: false };
    await holdTrigger(queues, trigger, until);
    await holdTrigger(queues, trigger, until);
    const other = { ...nightly, request: { ...nightly.request, manifest: 'other' } };
    await syncSchedules(queues, [nightly, other]);
    await holdTrigger(queues, { ...trigger, manifest: 'other' }, until - 1);
    expect(await queues.runs.getDelayedCount()).toBe(4); // the next ones of both, and two that wait
    const kept = (await keptSchedules(queues)).get('city@p');
    expect(kept).toMatchObject(nightly);
    expect(Math.abs((kept?.waitsUntil ?? 0) - until)).toBeLessThan(60_000);
    expect(kept?.due).toBe(nextDue(nightly.schedule, Date.now()));
    await syncSchedules(queues, [schedule('30 4 * * *'), other]);
    expect((await keptSchedules(queues)).get('city@p')?.waitsUntil).toBeNull();
    await syncSchedules(queues, [other]);
    expect(await queues.runs.getDelayedCount()).toBe(2); // those of the other target
  });

  it('do not let a trigger wait whose rules were changed while it was worked on', async () => {
    const before = schedule('15 3 * * *');
    const trigger = { kind: 'trigger' as const, ...before.request, schedule: before.schedule, waited: false };
    const waits = async (): Promise<number> =>
      (await queues.runs.getDelayed()).filter((job) => job.data.waited === true).length;
    await syncSchedules(queues, [before]);
    await syncSchedules(queues, [schedule('30 4 * * *')]);
    await holdTrigger(queues, trigger, Date.now() + 3_600_000);
    expect(await waits()).toBe(0);
    await syncSchedules(queues, []);
    await holdTrigger(queues, trigger, Date.now() + 3_600_000);
    expect(await waits()).toBe(0);
    await syncSchedules(queues, [before]);
    await holdTrigger(queues, trigger, Date.now() + 3_600_000);
    expect(await waits()).toBe(1);
  });

  it('that were changed while nothing ran make up for what was missed before, if they make up at all', async () => {
    const missed = async (after: ScheduledTarget): Promise<number> => {
      await redis.flushdb();
      await syncSchedules(queues, [schedule('15 3 * * *')]);
      await redis.zadd('l:runs:repeat', Date.now() - 3_600_000, 'schedule.city@p');
      await syncSchedules(queues, [after]);
      const jobs = await queues.runs.getJobs(['wait', 'delayed']);
      return jobs.filter((job) => job.data.waited === true).length;
    };
    const after = schedule('30 4 * * *');
    expect(await missed(after)).toBe(1);
    expect(await missed({ ...after, schedule: { ...after.schedule, catchUp: 'skip' } })).toBe(0);
    expect(await missed(schedule('15 3 * * *'))).toBe(0); // unchanged: its own job is overdue
  });
});

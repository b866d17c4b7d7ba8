// One run of a manifest per portal at a time; no request is ever lost.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { plainRequest, type RunRequest } from '../../src/model/job.ts';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { newRunId, RunGate } from '../../src/queue/gate.ts';
import { PortalPauses } from '../../src/queue/pause.ts';
import { Queues } from '../../src/queue/queues.ts';
import { RunWatch, stuckRun } from '../../src/queue/run-watch.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
let redis: Redis;
let queues: Queues;
let gate: RunGate;
const target = { manifest: 'city', portal: 'local' };
const request = (only: string[] | null = null): RunRequest => ({
  ...target,
  manifestPath: '/city.yaml',
  why: 'command',
  ...plainRequest,
  only,
});
const never = async (): Promise<boolean> => false;
const watch = (isClosed: (runId: string) => Promise<boolean>, stuckMs = 30_000): RunWatch => {
  const keys = redisKeys('g');
  const pauses = new PortalPauses(redis, keys, queues);
  const log = createLog({ level: 'silent' });
  return new RunWatch({ redis, keys, queues, gate, pauses, portals: ['local'], isClosed, stuckMs, log });
};

beforeAll(async () => {
  server = await startTestRedis();
  redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
  queues = new Queues(redis, { prefix: 'g', attempts: 3, keepLogs: 10, keepMs: 60_000 });
  gate = new RunGate(redis, redisKeys('g'), queues);
});
afterAll(async () => {
  await queues.close();
  redis.disconnect();
  await server.close();
});
beforeEach(() => redis.flushall());

describe('the run gate', () => {
  it('starts the first run at once and lets requests that come meanwhile share the next one', async () => {
    const first = await gate.request(request());
    const second = await gate.request(request());
    const third = await gate.request(request());
    expect(first.starts).toBe('now');
    expect(second).toEqual({ runId: third.runId, starts: 'later' });
    expect(await queues.runs.getJobState(first.runId)).toBe('waiting');
    expect(await queues.runs.getJobState(second.runId)).toBe('unknown');
    await gate.close(target, first.runId);
    expect(await queues.runs.getJobState(second.runId)).toBe('waiting');
    await gate.close(target, second.runId);
    expect(await gate.state(target)).toEqual({ current: null, again: null });
    expect((await gate.request(request())).starts).toBe('now');
  });

  it('takes a request once that was sent again because its reply was lost', async () => {
    await redis.ping();
    const { stream } = redis;
    stream.push = () => {
      stream.destroy();
      return false;
    };
    const { runId, starts } = await gate.request(request());
    expect(starts).toBe('now');
    expect(await gate.state(target)).toEqual({ current: runId, again: null });
    expect(await queues.runs.getJobState(runId)).toBe('waiting');
  });

  it('keeps manifests and portals apart', async () => {
    await gate.request(request());
    expect((await gate.request({ ...request(), portal: 'other' })).starts).toBe('now');
    expect((await gate.request({ ...request(), manifest: 'other' })).starts).toBe('now');
  });

  it('joins the keys of limited requests, and a full request takes precedence over them', async () => {
    const first = await gate.request(request());
    const { runId } = await gate.request(request(['city/a']));
    await gate.request(request(['city/b']));
    await gate.close(target, first.runId);
    const job = await queues.runs.getJob(runId);
    expect([...(job?.data.only ?? [])].sort()).toEqual(['city/a', 'city/b']);
    const { runId: last } = await gate.request(request(['city/c']));
    await gate.request(request());
    await gate.close(target, runId);
    expect((await queues.runs.getJob(last))?.data.only).toBeNull();
  });

  it('is not opened by a run that does not hold it', async () => {
    const first = await gate.request(request());
    await gate.close(target, 'another-run');
    expect((await gate.state(target)).current).toBe(first.runId);
  });

  it('adds the job of a run again when a kill came between taking the gate and adding it', async () => {
    const { runId } = await gate.request(request(['city/a']));
    await queues.runs.remove(runId);
    await watch(never).look();
    const job = await queues.runs.getJob(runId);
    expect(job?.data).toMatchObject({ runId, only: ['city/a'] });
    await watch(never).look();
    expect((await queues.runs.getJob(runId))?.timestamp).toBe(job?.timestamp);
  });

  it('opens when a kill came between closing the run and opening it, and starts the run that waits', async () => {
    const { runId } = await gate.request(request());
    const next = await gate.request(request());
    await queues.runs.remove(runId);
    await watch(async (id) => id === runId).look();
    expect((await gate.state(target)).current).toBe(next.runId);
    expect(await queues.runs.getJobState(next.runId)).toBe('waiting');
  });
});

describe('the watch over runs', () => {
  const state = { current: '' };
  beforeEach(async () => {
    state.current = (await gate.request(request())).runId;
    await redis.lrem(queues.runs.toKey('wait'), 1, state.current);
    await redis.zadd(queues.runs.toKey('waiting-children'), 1, state.current);
  });

  /** Looks twice, so that nothing has moved in between, and gives the state of the run's job. */
  const look = async (): Promise<string> => {
    const watched = watch(never, 0);
    await watched.look();
    await watched.look();
    return queues.runs.getJobState(state.current);
  };

  it('begins a run again that waits for nothing', async () => {
    expect(await look()).toBe('waiting');
    expect(await stuckRun(redis, redisKeys('g'), state.current)).toMatchObject({ repairs: 1 });
  });

  it.each(['active', 'delayed', 'wait'] as const)('leaves a run alone with a job among the %s ones', async (set) => {
    const queue = queues.portal('local');
    if (set === 'delayed') await redis.zadd(queue.toKey(set), 1, `${state.current}.dataset.a`);
    else await redis.rpush(queue.toKey(set), `${state.current}.dataset.a`);
    if (set === 'wait') await redis.rpush(queue.toKey('active'), 'a job of another run');
    expect(await look()).toBe('waiting-children');
  });

  it('leaves a run alone whose portal is paused', async () => {
    const pauses = new PortalPauses(redis, redisKeys('g'), queues);
    await pauses.pause('local', { code: 'portal-unreachable', message: 'down', hint: null });
    expect(await look()).toBe('waiting-children');
  });

  it('begins a run again whose jobs wait for a worker that takes none', async () => {
    await redis.rpush(queues.portal('local').toKey('wait'), `${state.current}.dataset.a`);
    expect(await look()).toBe('waiting');
    expect(await stuckRun(redis, redisKeys('g'), state.current)).toMatchObject({
      why: 'its jobs are waiting, and no worker picks them up',
    });
  });
});

describe('a run id', () => {
  it('sorts by time and is no plain number', () => {
    const a = newRunId(new Date('2026-11-21T10:00:00Z'), () => 0.5);
    const b = newRunId(new Date('2026-11-21T10:00:01Z'), () => 0);
    expect(a).toMatch(/^20261121-100000-[0-9a-z]{5}$/);
    expect(a < b).toBe(true);
  });
});

// One run of a manifest per portal at a time; no request is ever lost.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunRequest } from '../../src/model/job.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { newRunId, type RunGate, runGate } from '../../src/queue/gate.ts';
import { type Queues, queuesOn } from '../../src/queue/queues.ts';
import { runsIn } from '../../src/state/runs.ts';
import { plainRequest } from '../support/plain-request.ts';
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
beforeAll(async () => {
  server = await startTestRedis();
  redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
  queues = queuesOn(redis, { prefix: 'g', attempts: 3, keepLogs: 10, keepMs: 60_000 });
  const keys = redisKeys('g');
  gate = runGate(redis, keys, queues, runsIn(redis, keys, 60_000));
});
afterAll(async () => {
  await queues.close();
  redis.disconnect();
  await server.close();
});
beforeEach(() => redis.flushdb());

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

  it('does in the shared run whatever one of its requests asks for, in any order', async () => {
    const asked = { refresh: true, createMissing: true, onDrift: 'overwrite' as const };
    const others = [request(), request(['city/a'])];
    for (const other of others)
      for (const requests of [
        [{ ...request(), ...asked }, other],
        [other, { ...request(), ...asked }],
      ]) {
        const first = await gate.request(request());
        for (const each of requests) await gate.request(each);
        const { again } = await gate.state(target);
        await gate.close(target, first.runId);
        expect((await queues.runs.getJob(again ?? ''))?.data).toMatchObject({ ...asked, only: null });
        await gate.close(target, again ?? '');
      }
  });

  it('is not opened by a run that does not hold it', async () => {
    const first = await gate.request(request());
    await gate.close(target, 'another-run');
    expect((await gate.state(target)).current).toBe(first.runId);
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

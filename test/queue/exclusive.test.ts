// Locks over all workers that stand as long as the lease of the job that holds them.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { JobLostError } from '../../src/model/errors.ts';
import { type JobLease, jobLease } from '../../src/model/lease.ts';
import { exclusiveIn } from '../../src/queue/exclusive.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startTestRedis();
  redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
});
beforeEach(() => redis.flushdb());
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

const calm = new AbortController().signal;
/** As another worker has one. */
const worker = () => exclusiveIn(redis, (name) => `exclusive:${name}`);

/** The lease of a job whose lock stands. */
const job = async (id: string): Promise<JobLease> => {
  const [key, token] = [`job:${id}:lock`, `token-${id}`];
  await redis.set(key, token);
  const ask = async () => ((await redis.get(key)) === token ? 5000 : null);
  return jobLease({ key, token, ask, lost: () => undefined });
};

/** Work in progress until it is told to end. */
const held = () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const work = async () => {
    begun.resolve();
    await end.promise;
  };
  return { work, begun: begun.promise, end: end.resolve };
};

it('one job at a time does work of one name, in this process and elsewhere', async () => {
  const [here, there] = [worker(), worker()];
  let inside = 0;
  const seen: number[] = [];
  const work = async () => {
    inside += 1;
    seen.push(inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside -= 1;
  };
  const jobs = await Promise.all(Array.from({ length: 8 }, (_, index) => job(String(index))));
  await Promise.all(jobs.map((lease, index) => (index % 2 ? here : there)('x', lease, calm, work)));
  expect(seen).toEqual(Array(8).fill(1));
  expect(await redis.exists('exclusive:x')).toBe(0);
});

it('work of another name continues beside it', async () => {
  const [one, other] = [held(), held()];
  const exclusive = worker();
  const first = exclusive('x', await job('1'), calm, one.work);
  await one.begun;
  const second = exclusive('y', await job('2'), calm, other.work);
  await other.begun;
  one.end();
  other.end();
  await Promise.all([first, second]);
});

it('in one process it is first come, first served', async () => {
  const exclusive = worker();
  const order: string[] = [];
  const jobs = await Promise.all(['a', 'b', 'c', 'd'].map(job));
  await Promise.all(jobs.map((lease) => exclusive('x', lease, calm, async () => void order.push(lease.token))));
  expect(order).toEqual(['token-a', 'token-b', 'token-c', 'token-d']);
});

it('what the work returns is given back, and a failure leaves no lock', async () => {
  const exclusive = worker();
  expect(await exclusive('x', await job('1'), calm, async () => 7)).toBe(7);
  const failing = exclusive('x', await job('1'), calm, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(await worker()('x', await job('2'), calm, async () => 8)).toBe(8);
});

it('a holder that was killed blocks nobody once its job is no longer its own', async () => {
  const killed = held();
  const former = worker()('x', await job('killed'), calm, killed.work);
  await killed.begun;
  const next = held();
  const present = worker()('x', await job('next'), calm, next.work);
  await redis.del('job:killed:lock');
  await next.begun;
  // The former one does not take the lock of its successor away.
  killed.end();
  await former;
  expect(await redis.get('exclusive:x')).toContain('token-next');
  next.end();
  await present;
  expect(await redis.exists('exclusive:x')).toBe(0);
});

it('a holder whose job stands is waited for, however long it is silent', async () => {
  const first = held();
  const former = worker()('x', await job('1'), calm, first.work);
  await first.begun;
  const order: string[] = [];
  const present = worker()('x', await job('2'), calm, async () => void order.push('in'));
  const looks = async () => Number(/cmdstat_eval:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const before = await looks();
  await waitUntil('some looks at the lock', async () => (await looks()) >= before + 3);
  order.push('ended');
  first.end();
  await Promise.all([former, present]);
  expect(order).toEqual(['ended', 'in']);
});

it('a job that is no longer ours gets no lock', async () => {
  const lease = await job('1');
  await redis.set(lease.key, 'token of another worker');
  const work = vi.fn(async () => undefined);
  await expect(worker()('x', lease, calm, work)).rejects.toBeInstanceOf(JobLostError);
  expect(work).not.toHaveBeenCalled();
  expect(await redis.exists('exclusive:x')).toBe(0);
});

it('who is stopped while waiting leaves the queue, and those behind it go on', async () => {
  const first = held();
  const exclusive = worker();
  const former = exclusive('x', await job('1'), calm, first.work);
  await first.begun;
  const stop = new AbortController();
  const waiting = exclusive('x', await job('2'), stop.signal, async () => 'never');
  const behind = exclusive('x', await job('3'), calm, async () => 'done');
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  first.end();
  await former;
  expect(await behind).toBe('done');
});

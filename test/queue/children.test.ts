// A parent that was killed while it added its children: no child that failed meanwhile keeps it waiting.
import { type Job, Queue, UnrecoverableError, WaitingChildrenError, Worker } from 'bullmq';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type ChildJob, runChildren } from '../../src/queue/children.ts';
import { portalQueue, Queues, runsQueue } from '../../src/queue/queues.ts';
import { openTestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

const { redis, options } = await openTestRedis();
const queues = new Queues(redis, { prefix: 'c', attempts: 3, keepLogs: 10, keepMs: 60_000 });
const connection = { ...options, maxRetriesPerRequest: null };
const taker = new Worker(runsQueue, null, { connection, prefix: 'c', lockDuration: 120_000 });
const workers: Worker[] = [taker];
beforeEach(() => redis.flushall());
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  await queues.close();
});

const childrenOf = (count: number): ChildJob[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `r.dataset.${index}`,
    name: 'dataset',
    data: { portal: 'p', key: `m/${index}` },
  }));

/** Takes the run's job as a worker would that never ends it by itself. */
const takeRun = async (token: string): Promise<Job> => {
  const job = await taker.getNextJob(token);
  if (!job) throw new Error('the run was not in the queue');
  return job;
};

/** Works the children; all fail but those whose number ends in 0. */
const startWorker = (): void => {
  const work = async (job: Job): Promise<string> => {
    if (job.data.key.endsWith('0')) return 'x'.repeat(100);
    throw new UnrecoverableError('no');
  };
  workers.push(new Worker(portalQueue('p'), work, { connection, prefix: 'c', concurrency: 50 }));
};

const ended = async (count: number): Promise<boolean> => {
  const { completed = 0, failed = 0 } = await queues.portal('p').getJobCounts('completed', 'failed');
  return completed + failed === count;
};

/** Runs as far as the kill: the children stand in the queue, the parent does not wait for them yet. */
const killBeforeWaiting = async (children: ChildJob[]): Promise<void> => {
  const parent = await takeRun('killed');
  const settled = Promise.reject(new Error('killed'));
  settled.catch(() => undefined);
  await expect(runChildren({ parent, token: 'killed', queues, settled, after: 0 }, children)).rejects.toThrow('killed');
  await parent.moveToWait('killed');
};

const resume = async (children: ChildJob[]) => {
  const parent = await takeRun('next');
  return runChildren({ parent, token: 'next', queues, settled: Promise.resolve(), after: 0 }, children);
};

/** Fast children may all end before the parent waits for them. */
const resumeToTheEnd = async (children: ChildJob[]) => {
  try {
    return await resume(children);
  } catch (error) {
    if (!(error instanceof WaitingChildrenError)) throw error;
    await waitUntil('the parent to go on', async () => (await queues.runs.getJobState('r')) === 'waiting');
    return resume(children);
  }
};

describe('a parent that was killed between adding its children and waiting', () => {
  it.each([[40], [8000]])('goes on once all of its %i children have ended', async (count) => {
    const children = childrenOf(count);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await killBeforeWaiting(children.slice(0, count / 2));
    startWorker();
    await waitUntil('the first half to end', () => ended(count / 2));
    const outcomes = await resumeToTheEnd(children);
    expect(outcomes.size).toBe(count);
    expect(outcomes.get('m/10')).toEqual({ state: 'completed' });
    expect(outcomes.get('m/11')).toEqual({ state: 'failed', reason: { code: 'bug', message: 'no', hint: null } });
    expect([...outcomes.values()].filter(({ state }) => state === 'failed')).toHaveLength(count * 0.9);
  });

  it('goes on although its own job was lost with what it knew of its children', async () => {
    const children = childrenOf(5);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await killBeforeWaiting(children);
    startWorker();
    await waitUntil('the children to end', () => ended(5));
    await queues.runs.remove('r', { removeChildren: false });
    await queues.runs.add('run', {}, queues.runOptions('r'));
    expect([...(await resume(children)).values()].filter(({ state }) => state === 'failed')).toHaveLength(4);
  });

  it('says which of its children vanished', async () => {
    const children = childrenOf(3);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await killBeforeWaiting(children);
    startWorker();
    await waitUntil('the children to end', () => ended(3));
    await queues.portal('p').remove('r.dataset.1');
    expect((await resume(children)).get('m/1')).toEqual({ state: 'lost' });
  });
});

it('keeps no stack traces of failed jobs', async () => {
  const queue = new Queue(portalQueue('p'), { connection, prefix: 'c' });
  await queue.add('dataset', { key: 'm/1' }, queues.itemOptions('r.dataset.1'));
  startWorker();
  await waitUntil('the job to fail', () => ended(1));
  expect((await queue.getJob('r.dataset.1'))?.stacktrace).toEqual([]);
  await queue.close();
});

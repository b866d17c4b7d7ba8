// A parent that was killed while it added its children: no child that failed meanwhile keeps it waiting.
import { type Job, Queue, UnrecoverableError, WaitingChildrenError, Worker } from 'bullmq';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { ChildOutcome } from '../../src/model/job.ts';
import type { RunPriority } from '../../src/model/policy.ts';
import { type ChildJob, runPages } from '../../src/queue/children.ts';
import { portalQueue, Queues, runsQueue } from '../../src/queue/queues.ts';
import { cases } from '../support/extent.ts';
import { openTestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

const { redis, options } = await openTestRedis();
const queues = new Queues(redis, { prefix: 'c', attempts: 3, keepLogs: 10, keepMs: 60_000 });
const connection = { ...options, maxRetriesPerRequest: null };
const taker = new Worker(runsQueue, null, { connection, prefix: 'c', lockDuration: 120_000 });
const workers: Worker[] = [taker];
/** Keys of the children that were worked on. */
let done: string[] = [];
beforeEach(async () => {
  await Promise.all(workers.splice(1).map((worker) => worker.close()));
  done = [];
  await redis.flushall();
});
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
    done.push(job.data.key);
    if (job.data.key.endsWith('0')) return 'x'.repeat(100);
    throw new UnrecoverableError('no');
  };
  workers.push(new Worker(portalQueue('p'), work, { connection, prefix: 'c', concurrency: 50 }));
};

const ended = async (count: number): Promise<boolean> => {
  const { completed = 0, failed = 0 } = await queues.portal('p').getJobCounts('completed', 'failed');
  return completed + failed === count;
};

/** What the run has settled: durable, as in its record. */
class Settled {
  readonly outcomes = new Map<string, ChildOutcome>();
  readonly more: boolean[] = [];
  pages = 0;
}

/** Takes the run's job and works on its pages; `kill` ends that when it would settle one, forget it, or wait. */
const work = async (
  children: ChildJob[][],
  settled: Settled,
  kill: 'settle' | 'forget' | 'wait' | null = null,
  priority: RunPriority = 'normal',
): Promise<void> => {
  const token = kill ?? 'next';
  const parent = await takeRun(token);
  const killed = async (): Promise<void> => {
    throw new Error('killed');
  };
  const flush = kill === 'wait' ? killed : async () => undefined;
  try {
    await runPages(
      { parent, token, queues, lease: { check: async () => undefined }, priority, flush },
      {
        settled: settled.pages,
        page: async (index) => children[index] ?? null,
        settle: async (index, outcomes) => {
          for (const [key, outcome] of outcomes) settled.outcomes.set(key, outcome);
          if (kill === 'settle') await killed();
          settled.pages = index + 1;
          if (kill === 'forget') await killed();
        },
        waits: async (hasMore) => void settled.more.push(hasMore),
      },
    );
  } catch (error) {
    if (kill) await parent.moveToWait(token);
    throw error;
  }
};

/** Works on the run whenever it can go on, until all of its pages are settled. */
const workToTheEnd = async (children: ChildJob[][], settled: Settled): Promise<void> => {
  for (;;) {
    try {
      return await work(children, settled);
    } catch (error) {
      if (!(error instanceof WaitingChildrenError)) throw error;
      await waitUntil('the parent to go on', async () => (await queues.runs.getJobState('r')) === 'waiting');
    }
  }
};

const inPages = (children: ChildJob[], size: number): ChildJob[][] =>
  Array.from({ length: Math.ceil(children.length / size) }, (_, at) => children.slice(at * size, (at + 1) * size));

const inQueue = async (): Promise<number> => (await redis.keys('c:portal.p:r.dataset.*')).length;

describe('a parent that was killed between adding its children and waiting', () => {
  it.each(cases([[40], [8000]], [[40]]))('continues once all of its %i children have ended', async (count) => {
    const settled = new Settled();
    const children = childrenOf(count);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work([children.slice(0, count / 2)], settled, 'wait')).rejects.toThrow('killed');
    startWorker();
    await waitUntil('the first half to end', () => ended(count / 2));
    await workToTheEnd([children], settled);
    expect(settled.outcomes.size).toBe(count);
    expect(settled.outcomes.get('m/10')).toEqual({ state: 'completed' });
    expect(settled.outcomes.get('m/11')).toEqual({
      state: 'failed',
      reason: { code: 'bug', message: 'no', hint: null },
    });
    expect([...settled.outcomes.values()].filter(({ state }) => state === 'failed')).toHaveLength(count * 0.9);
    expect(await inQueue()).toBe(0);
  });

  it('continues although its own job was lost with what it knew of its children', async () => {
    const settled = new Settled();
    const children = childrenOf(5);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work([children], settled, 'wait')).rejects.toThrow('killed');
    startWorker();
    await waitUntil('the children to end', () => ended(5));
    await queues.runs.remove('r', { removeChildren: false });
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await work([children], settled);
    expect([...settled.outcomes.values()].filter(({ state }) => state === 'failed')).toHaveLength(4);
  });

  it('waits again for open children that its lost books do not name', async () => {
    const settled = new Settled();
    const children = childrenOf(5);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work([children], settled, 'wait')).rejects.toThrow('killed');
    await queues.runs.remove('r', { removeChildren: false });
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work([children], settled)).rejects.toThrow(WaitingChildrenError);
    startWorker();
    await waitUntil('the parent to go on', async () => (await queues.runs.getJobState('r')) === 'waiting');
    await work([children], settled);
    expect(settled.outcomes.size).toBe(5);
  });

  it('does not wait for one that failed just as it was added again', async () => {
    const settled = new Settled();
    const children = childrenOf(2);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work([children], settled, 'wait')).rejects.toThrow('killed');
    startWorker();
    await waitUntil('the children to end', () => ended(2));
    await redis.sadd('c:runs:r:dependencies', 'c:portal.p:r.dataset.1');
    await work([children], settled);
    expect(settled.outcomes.get('m/1')).toMatchObject({ state: 'failed' });
  });

  it('adds again what vanished from the queue', async () => {
    const settled = new Settled();
    const children = childrenOf(3);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work([children], settled, 'wait')).rejects.toThrow('killed');
    startWorker();
    await waitUntil('the children to end', () => ended(3));
    await queues.portal('p').remove('r.dataset.1');
    await workToTheEnd([children], settled);
    expect(settled.outcomes.get('m/1')).toMatchObject({ state: 'failed' });
  });
});

describe('a parent of many pages', () => {
  it('keeps some of them in the queue, and begins the others as these end', async () => {
    const settled = new Settled();
    const pages = inPages(childrenOf(3000), 200);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work(pages, settled)).rejects.toThrow(WaitingChildrenError);
    expect(await inQueue()).toBe(1000);
    startWorker();
    await waitUntil('the parent to go on', async () => (await queues.runs.getJobState('r')) === 'waiting');
    await workToTheEnd(pages, settled);
    expect(settled.outcomes.size).toBe(3000);
    expect(settled.more.slice(0, 1)).toEqual([true]);
    expect(settled.more.at(-1)).toBe(false);
    expect(await inQueue()).toBe(0);
    expect(await redis.exists('c:runs:r:processed', 'c:runs:r:failed', 'c:runs:r:dependencies')).toBe(0);
  });

  it('that was killed as it settled one settles it again, and does none of it twice', async () => {
    const settled = new Settled();
    const pages = inPages(childrenOf(20), 10);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work(pages, settled)).rejects.toThrow(WaitingChildrenError);
    startWorker();
    await waitUntil('the parent to go on', async () => (await queues.runs.getJobState('r')) === 'waiting');
    await expect(work(pages, settled, 'settle')).rejects.toThrow('killed');
    expect([settled.pages, settled.outcomes.size]).toEqual([0, 10]);
    await work(pages, settled);
    expect([settled.pages, settled.outcomes.size]).toEqual([2, 20]);
    expect(done).toHaveLength(20);
  });

  it('that was killed before it removed the jobs of a settled one removes them', async () => {
    const settled = new Settled();
    const pages = inPages(childrenOf(20), 10);
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await expect(work(pages, settled)).rejects.toThrow(WaitingChildrenError);
    startWorker();
    await waitUntil('all to end', () => ended(20));
    await expect(work(pages, settled, 'forget')).rejects.toThrow('killed');
    expect([settled.pages, await inQueue()]).toEqual([1, 20]);
    await work(pages, settled);
    expect([settled.pages, await inQueue()]).toEqual([2, 0]);
  });

  it('passes pages without children', async () => {
    const settled = new Settled();
    await queues.runs.add('run', {}, queues.runOptions('r'));
    await work([[], []], settled);
    expect(settled.pages).toBe(2);
  });
});

it('of a high priority, children are taken before those of others that wait', async () => {
  await queues.runs.add('run', {}, queues.runOptions('r'));
  await expect(work([childrenOf(40)], new Settled())).rejects.toThrow(WaitingChildrenError);
  await queues.runs.add('run', {}, queues.runOptions('u'));
  const urgent = [{ id: 'u.dataset.0', name: 'dataset', data: { portal: 'p', key: 'm/urgent' } }];
  await expect(work([urgent], new Settled(), null, 'high')).rejects.toThrow(WaitingChildrenError);
  startWorker();
  await waitUntil('all of them', () => ended(41));
  expect(done[0]).toBe('m/urgent');
});

it('keeps no stack traces of failed jobs', async () => {
  const queue = new Queue(portalQueue('p'), { connection, prefix: 'c' });
  await queue.add('dataset', { key: 'm/1' }, queues.itemOptions('r.dataset.1', 'normal'));
  startWorker();
  await waitUntil('the job to fail', () => ended(1));
  expect((await queue.getJob('r.dataset.1'))?.stacktrace).toEqual([]);
  await queue.close();
});

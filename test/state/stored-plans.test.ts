// Held runs: written in the name of the job that plans, which another worker may have by then.
import { expect, it } from 'vitest';
import { JobLostError } from '../../src/model/errors.ts';
import { jobLease } from '../../src/model/lease.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { JobJournal } from '../../src/queue/journal.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { type HeldRun, storedPlans } from '../../src/state/stored-plans.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = openTestRedis();
const plans = storedPlans(redis, redisKeys('test'), 60_000);
const queues = queuesOn(redis, { prefix: 'test', attempts: 1, keepLogs: 10, keepMs: 60_000 });

/** What a worker writes for a job while `lock` holds its token. */
const writerOf = async (runId: string): Promise<{ writer: JobJournal; lock: string }> => {
  const job = await queues.runs.add('run', {}, { jobId: runId });
  const lock = `${queues.runs.toKey(runId)}:lock`;
  await redis.set(lock, 'mine', 'PX', 60_000);
  const lease = jobLease({ key: lock, token: 'mine', ask: async () => null, lost: () => undefined });
  return { writer: new JobJournal(job, queues, lease), lock };
};

const held = (runId: string): HeldRun => ({
  ...{ runId, manifest: 'city', portal: 'local', manifestPath: 'city.yaml', removals: [], plan: null },
  ...{ why: 'it would remove 9 of 10 items', since: 1 },
});

it('a worker that has lost its job neither holds its run in place of a later one nor forgets that', async () => {
  const { writer, lock } = await writerOf('first');
  await plans.hold(held('first'), writer);
  expect(await plans.held()).toMatchObject([{ runId: 'first' }]);
  await redis.set(lock, 'of another worker');
  const later = await writerOf('later');
  await plans.hold(held('later'), later.writer);
  await expect(plans.hold(held('first'), writer)).rejects.toBeInstanceOf(JobLostError);
  await expect(plans.forgetHeld(held('first'), writer)).rejects.toBeInstanceOf(JobLostError);
  expect(await plans.held()).toMatchObject([{ runId: 'later' }]);
  await plans.forgetHeld(held('later'), later.writer);
  expect(await plans.held()).toEqual([]);
});

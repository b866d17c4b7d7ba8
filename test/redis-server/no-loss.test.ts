import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { openRedis } from '../../src/redis-server/embedded.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { embedded, killServersAfterwards, serversOf } from './embedded-support.ts';

/** True when everything that the server has acknowledged is in its file. */
const isWritten = async (client: Redis): Promise<boolean> =>
  (await client.info('persistence')).includes('aof_buffer_length:0\r');

// While the disk is slow to sync, `everysec` answers up to two seconds before it writes.
test.each([
  ['everysec', 'written'],
  ['always', 'acknowledged'],
] as const)('with appendfsync %s no job that was %s is lost when the server is killed', async (appendfsync, kept) => {
  const state = tempDir();
  killServersAfterwards(state);
  const handle = await openRedis(embedded(state, { appendfsync }));
  const redis = new Redis({ ...handle.options, maxRetriesPerRequest: null });
  redis.on('error', () => {});
  const queue = new Queue('loss', { connection: redis });
  queue.on('error', () => {}); // it reconnects by itself
  const acknowledged: string[] = [];
  const safe = new Set<string>();
  let stopped = false;
  const produce = async (producer: number): Promise<void> => {
    for (let number = 0; !stopped; number += 1) {
      const jobId = `job-${producer}-${number}`;
      const job = await queue.add('work', { producer, number }, { jobId }).catch(() => null); // cut off: not acknowledged
      if (job !== null) acknowledged.push(jobId);
    }
  };
  const producers = Promise.all([1, 2, 3, 4].map(produce));
  for (let kill = 1; kill <= 3; kill += 1) {
    const before = acknowledged.length;
    await waitUntil('300 more jobs', () => acknowledged.length >= before + 300);
    const some = [...acknowledged];
    if (kept === 'written') await waitUntil('them to be written', () => isWritten(redis));
    for (const jobId of some) safe.add(jobId);
    const [pid = 0] = serversOf(state);
    process.kill(pid, 'SIGKILL');
    await waitUntil('another server', () => serversOf(state).some((other) => other !== pid));
  }
  const before = acknowledged.length;
  await waitUntil('jobs to be taken again', () => acknowledged.length >= before + 10);
  stopped = true;
  await producers;
  const there = new Set((await queue.getJobs(['waiting'])).map((job) => job.id));
  expect(acknowledged.length).toBeGreaterThan(900);
  const promised = kept === 'written' ? [...safe] : acknowledged;
  expect(promised.filter((jobId) => !there.has(jobId))).toEqual([]);
  await queue.close();
  redis.disconnect();
  await handle.close();
});

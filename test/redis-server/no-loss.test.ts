import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import { openRedis } from '../../src/redis-server/embedded.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { embedded, killServersAfterwards, serversOf } from './embedded-support.ts';

test.each(['everysec', 'always'] as const)(
  'no job that was acknowledged is lost when the server is killed (appendfsync %s)',
  async (appendfsync) => {
    const state = tempDir();
    killServersAfterwards(state);
    const handle = await openRedis(embedded(state, { appendfsync }));
    const queue = new Queue('loss', { connection: { ...handle.options, maxRetriesPerRequest: null } });
    queue.on('error', () => {}); // it reconnects by itself
    const acknowledged: string[] = [];
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
    expect(acknowledged.filter((jobId) => !there.has(jobId))).toEqual([]);
    await queue.close();
    await handle.close();
  },
);

// How much waits in the queues, and for how long.
import { noticesQueue, portalQueue, type Queues, runsQueue } from './queues.ts';

/** What stands in a queue. */
export interface QueueDepth {
  queue: string;
  /** Jobs by state. */
  jobs: Record<string, number>;
  /** When the job that waits for a worker longest was added, Unix milliseconds; null where none waits. */
  oldest: number | null;
}

/** Of the queues of runs, of notices and of the given portals; a few round trips whatever stands in them. */
export const queueDepths = (queues: Queues, portals: string[]): Promise<QueueDepth[]> => {
  const all = new Map([
    [runsQueue, queues.runs],
    [noticesQueue, queues.notices],
    ...portals.map((name) => [portalQueue(name), queues.portal(name)] as const),
  ]);
  return Promise.all(
    [...all].map(async ([name, queue]) => {
      const [jobs, first] = await Promise.all([
        queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'waiting-children'),
        queue.getJobs(['wait', 'prioritized'], 0, 0, true),
      ]);
      const added = first.flatMap((job) => (job ? [job.timestamp] : []));
      return { queue: name, jobs, oldest: added.length === 0 ? null : Math.min(...added) };
    }),
  );
};

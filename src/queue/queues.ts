// The queues: `runs` for triggers and runs, one queue for each portal for datasets and resources; their depth.
import { type AdvancedOptions, type JobsOptions, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RunPriority } from '../model/policy.ts';
import { nextDue } from '../model/schedule-times.ts';
import { defined } from '../util/json.ts';

export interface QueueSettings {
  prefix: string;
  attempts: number;
  keepLogs: number;
  /** How long ended runs and triggers stay in the queue, milliseconds. */
  keepMs: number;
}

export const runsQueue = 'runs';

export const noticesQueue = 'notices';

export const portalQueue = (portal: string): string => `portal.${portal}`;

/** Nobody reads the engine's events, but it always writes them. */
const streams = { events: { maxLen: 100 } };

/** The engine asks us when a schedule is due next: its own answer loses days on which clocks change. */
export const ourTimes = {
  repeatStrategy: (after, { pattern = '', tz = 'UTC' }) => nextDue({ cron: pattern, timezone: tz }, after),
} satisfies AdvancedOptions;

export type Queues = ReturnType<typeof queuesOn>;

/** The queues of a connection, each opened at first use. */
export const queuesOn = (connection: Redis, settings: QueueSettings) => {
  const open = new Map<string, Queue>();
  const { attempts, keepLogs, keepMs } = settings;
  const keptByAge = { age: Math.ceil(keepMs / 1000) };
  // The engine would keep the stack of every attempt; an error is kept as its reason, and a bug goes to the log.
  const common = { attempts, backoff: { type: 'byClass' }, keepLogs, stackTraceLimit: 0, removeOnFail: keptByAge };

  /** A queue by its name among the engine's. */
  const named = (name: string): Queue => {
    const known = open.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection, prefix: settings.prefix, streams, settings: ourTimes });
    // Connection errors are reported by the connection itself; without a listener they would end the process.
    queue.on('error', () => undefined);
    open.set(name, queue);
    return queue;
  };

  return {
    connection,
    settings,
    named,
    portal: (name: string): Queue => named(portalQueue(name)),

    get runs(): Queue {
      return named(runsQueue);
    },

    get notices(): Queue {
      return named(noticesQueue);
    },

    /** Options of a trigger or run: kept by age after it ended. */
    runOptions: (id?: string): JobsOptions => ({ ...common, ...defined({ jobId: id }), removeOnComplete: keptByAge }),

    /**
     * Options of a job on items: it goes when it has ended, and stays where it could not even say how; of high priority, it
     * is taken before all that wait.
     */
    itemOptions: (id: string, priority: RunPriority): JobsOptions => ({
      ...common,
      lifo: priority === 'high',
      jobId: id,
      removeOnComplete: true,
    }),

    /** Closes all queues; the shared connection stays open. */
    close: async (): Promise<void> => {
      await Promise.all([...open.values()].map((queue) => queue.close()));
      open.clear();
    },
  };
};

/** Of the queues of runs, of notices and of the given portals; a few round trips whatever is in them. */
export const queueDepths = (queues: Queues, portals: string[]) =>
  Promise.all(
    [runsQueue, noticesQueue, ...portals.map(portalQueue)].map(async (name) => {
      const queue = queues.named(name);
      const [jobs, first] = await Promise.all([
        queue.getJobCounts('wait', 'prioritized', 'active', 'delayed'),
        queue.getJobs(['wait', 'prioritized'], 0, 0, true),
      ]);
      const added = first.flatMap((job) => (job ? [job.timestamp] : []));
      // When the job that waits for a worker longest was added, Unix milliseconds; null where none waits.
      return { queue: name, jobs, oldest: added.length === 0 ? null : Math.min(...added) };
    }),
  );

// A worker on one queue: takes jobs, validates their data, and gives each its turn.
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import { machineFault, StateFullError } from '../model/errors.ts';
import { type JobDataOf, type JobKind, jobSchemas } from '../model/job.ts';
import type { stopWatch } from './cancel.ts';
import { JobIsolation } from './isolation.ts';
import { ourTimes } from './queues.ts';
import { backoffMs, type RetrySettings } from './retry.ts';
import { jobTurn, lockLost, type TurnParts } from './turn.ts';

interface WorkerParts extends TurnParts {
  concurrency: number;
  stops: ReturnType<typeof stopWatch>;
  /** True for a portal that only other workers know. */
  isOfOthers: (portal: string) => Promise<boolean>;
  retry: RetrySettings;
  /** Lock of a job and interval of the check for stalled jobs, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
}

const never = new AbortController().signal;

export const queueWorker = (parts: WorkerParts) => {
  const { queue, queues, log, stops } = parts;
  const stopped = new AbortController();
  const isolation = new JobIsolation();
  let writes = 0;

  const writing = async <T>(write: () => Promise<T>): Promise<T> => {
    writes += 1;
    try {
      return await write();
    } finally {
      writes -= 1;
    }
  };

  const work = async (job: Job, token: string, taken?: AbortSignal): Promise<unknown> => {
    const data = dataOf(job);
    const turn = (cancelled: AbortSignal, paused: AbortSignal) =>
      jobTurn(parts, { job, token, data, taken, cancelled, paused, isolation, stopped: stopped.signal, writing });
    if (await parts.isOfOthers(data.portal)) return turn(never, never).giveBack();
    if (!('runId' in data)) return turn(never, never).run();
    const watched = await stops.enter({ runId: data.runId, portal: data.portal });
    const { cancelled, paused } = watched;
    try {
      // The job that closes a cancelled run is the one that ends it.
      const isEnding = data.kind === 'close' && cancelled.signal.aborted;
      return await (isEnding ? turn(never, never) : turn(cancelled.signal, paused.signal)).run();
    } finally {
      stops.leave(watched);
    }
  };

  // The engine passes the signal only to a function that declares three parameters.
  const turnOf = (job: Job, token?: string, taken?: AbortSignal) => work(job, token ?? '', taken).catch(explain);
  const worker = new Worker(queue, turnOf, {
    connection: queues.connection,
    prefix: queues.settings.prefix,
    concurrency: parts.concurrency,
    lockDuration: parts.lockMs,
    stalledInterval: parts.stalledCheckMs,
    // A kill or a loss is not the job's fault: our own poison rule judges by step, see `jobTurn`.
    maxStalledCount: 1000,
    settings: { ...ourTimes, backoffStrategy: (made, _type, error) => backoffMs(made, error, parts.retry) },
  });
  worker.on('error', (error) => {
    if (machineFault(error) instanceof StateFullError) return; // once for all, see `stateWatch`
    log.warn({ queue, err: error.message }, 'the queue reported an error');
  });
  // The engine only reports it; the work is ours to stop.
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, lockLost);
  });

  return {
    ready: async (): Promise<void> => void (await worker.waitUntilReady()),
    isWriting: (): boolean => writes > 0,
    setConcurrency: (jobs: number): void => {
      worker.concurrency = jobs;
    },
    /**
     * Takes no more jobs, gives back those that have not started a write, and waits for the others; `kill` ends at once,
     * and running jobs are resumed by the next worker.
     */
    stop: async (kill: boolean): Promise<void> => {
      stopped.abort();
      await worker.close(kill);
    },
  };
};

/** People see the error that the engine keeps; a full Redis also fails the write of an error. */
const explain = (error: unknown): never => {
  throw machineFault(error);
};

const dataOf = (job: Job): JobDataOf[JobKind] => {
  const schema = jobSchemas[job.name as JobKind] as (typeof jobSchemas)[JobKind] | undefined; // absent for foreign names
  if (!schema) throw new UnrecoverableError(`no handler for jobs named ${job.name}`);
  const parsed = schema.safeParse(job.data);
  if (!parsed.success) throw new UnrecoverableError(`the job data is invalid: ${parsed.error.message}`);
  return parsed.data;
};

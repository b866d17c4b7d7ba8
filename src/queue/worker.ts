// A worker on one queue: takes jobs, validates their data, and gives each its turn.
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import { machineFault, StateFullError } from '../model/errors.ts';
import { type JobDataOf, type JobKind, jobSchemas } from '../model/job.ts';
import type { StopWatch } from './cancel.ts';
import { JobIsolation } from './isolation.ts';
import { ourTimes } from './queues.ts';
import { backoffMs, type RetrySettings } from './retry.ts';
import { lockLost, Turn, type TurnParts } from './turn.ts';

interface WorkerParts extends TurnParts {
  concurrency: number;
  stops: StopWatch;
  /** True for a portal that only other workers know. */
  isOfOthers: (portal: string) => Promise<boolean>;
  retry: RetrySettings;
  /** Lock of a job and interval of the check for stalled jobs, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
}

const never = new AbortController().signal;

export class QueueWorker {
  readonly #parts: WorkerParts;
  readonly #worker: Worker;
  readonly #stop = new AbortController();
  readonly #isolation = new JobIsolation();
  #writes = 0;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#worker = new Worker(
      parts.queue,
      (job: Job, token?: string, signal?: AbortSignal) => this.#process(job, token ?? '', signal).catch(explain),
      {
        connection: parts.queues.connection,
        prefix: parts.queues.settings.prefix,
        concurrency: parts.concurrency,
        lockDuration: parts.lockMs,
        stalledInterval: parts.stalledCheckMs,
        // A kill or a loss is not the job's fault: our own poison rule judges by step, see `Turn`.
        maxStalledCount: 1000,
        settings: { ...ourTimes, backoffStrategy: (made, _type, error) => backoffMs(made, error, parts.retry) },
      },
    );
    this.#worker.on('error', (error) => {
      if (machineFault(error) instanceof StateFullError) return; // once for all, see `StateWatch`
      parts.log.warn({ queue: parts.queue, err: error.message }, 'the queue reported an error');
    });
    // The engine only reports it; the work is ours to stop.
    this.#worker.on('lockRenewalFailed', (ids: string[]) => {
      for (const id of ids) this.#worker.cancelJob(id, lockLost);
    });
  }

  async ready(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  get isWriting(): boolean {
    return this.#writes > 0;
  }

  setConcurrency(jobs: number): void {
    this.#worker.concurrency = jobs;
  }

  /**
   * Takes no more jobs, gives back those that have not started a write, and waits for the others; `kill` ends at once, and
   * running jobs are resumed by the next worker.
   */
  async stop(kill: boolean): Promise<void> {
    this.#stop.abort();
    await this.#worker.close(kill);
  }

  async #process(job: Job, token: string, taken?: AbortSignal): Promise<unknown> {
    const data = dataOf(job);
    const { stops, isOfOthers } = this.#parts;
    const turn = (cancelled: AbortSignal, paused: AbortSignal): Turn =>
      new Turn(this.#parts, {
        ...{ job, token, data, taken, cancelled, paused },
        isolation: this.#isolation,
        stopped: this.#stop.signal,
        writing: (work) => this.#writing(work),
      });
    if (await isOfOthers(data.portal)) return turn(never, never).giveBack();
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
  }

  async #writing<T>(work: () => Promise<T>): Promise<T> {
    this.#writes += 1;
    try {
      return await work();
    } finally {
      this.#writes -= 1;
    }
  }
}

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

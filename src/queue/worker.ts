// A worker on one queue: validates job data, calls the handler, and sorts what it throws.
import { DelayedError, ErrorCode, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import { PortalLoginError, reasonOf, SluiceError } from '../errors.ts';
import { Fence, fenceSignal } from '../fence.ts';
import { type Handler, type JobContext, type JobDataOf, type JobKind, jobSchemas } from '../job.ts';
import { LateLog, type Log } from '../log.ts';
import { ifLockStands } from '../redis/job-script.ts';
import { RedisScript } from '../redis/script.ts';
import type { Reason } from '../report.ts';
import { Bookkeeping } from './bookkeeping.ts';
import type { CircuitBreaker } from './breaker.ts';
import { createContext, GiveBack } from './context.ts';
import { answerKills } from './kills.ts';
import type { PortalPauses } from './pause.ts';
import { type Queues, runsQueue } from './queues.ts';
import { backoffMs, isRetryable, type RetrySettings } from './retry.ts';
import { Solitude } from './solitude.ts';

/** A handler for every kind of job. */
export type Handlers = { [K in JobKind]: Handler<K> };

/** What a worker is made of. */
export interface WorkerParts {
  queue: string;
  concurrency: number;
  queues: Queues;
  handlers: Handlers;
  pauses: PortalPauses;
  breaker: CircuitBreaker;
  retry: RetrySettings;
  /** Lock of a job and interval of the check for stalled jobs, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  log: Log;
}

/** How long after the next probe of its portal a run is tried again, milliseconds. */
const afterProbeMs = 1000;

const lockLost = 'the lock of the job was lost; another worker resumes it';

const leftOfLock = new RedisScript(`${ifLockStands}
return left
`);

/** Runs jobs of one queue until it is stopped. */
export class QueueWorker {
  readonly #parts: WorkerParts;
  readonly #worker: Worker;
  readonly #stop = new AbortController();
  readonly #solitude = new Solitude();

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#worker = new Worker(
      parts.queue,
      (job: Job, token?: string, signal?: AbortSignal) => this.#process(job, token ?? '', signal),
      {
        connection: parts.queues.connection,
        prefix: parts.queues.settings.prefix,
        concurrency: parts.concurrency,
        lockDuration: parts.lockMs,
        stalledInterval: parts.stalledCheckMs,
        // A kill is not the job's fault: our own poison rule judges by step, see `answerKills`.
        maxStalledCount: 1000,
        settings: { backoffStrategy: (made, _type, error) => backoffMs(made, error, parts.retry) },
      },
    );
    this.#worker.on('error', (error) =>
      parts.log.warn({ queue: parts.queue, err: error.message }, 'queue connection failed'),
    );
    // The engine only tells; the work is ours to stop.
    this.#worker.on('lockRenewalFailed', (ids: string[]) => {
      for (const id of ids) this.#worker.cancelJob(id, lockLost);
    });
  }

  /** Resolves when the worker takes jobs. */
  async ready(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** Takes no more jobs, gives back those that have not begun a write, and waits for the others. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#worker.close();
  }

  /** Ends at once; jobs in work are resumed by the next worker. */
  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#worker.close(true);
  }

  async #process(job: Job, token: string, lost: AbortSignal = new AbortController().signal): Promise<unknown> {
    const signal = AbortSignal.any([this.#stop.signal, lost]);
    const fence = this.#fenceOf(job, token);
    const books = new Bookkeeping(job, this.#parts.queues, fence);
    fenceSignal(lost, fence);
    fenceSignal(signal, fence);
    const { kind, data } = parseJob(job);
    const log = new LateLog(this.#parts.log, {
      jobId: job.id,
      kind,
      portal: data.portal,
      ...('runId' in data ? { runId: data.runId } : {}),
      ...('key' in data ? { key: data.key } : {}),
    });
    const worked = (): void => void this.#parts.breaker.worked(data.portal);
    const context = createContext({
      job,
      token,
      data,
      signal,
      fence,
      lost,
      log,
      queues: this.#parts.queues,
      books,
      solitude: this.#solitude,
      worked,
    });
    const handler = this.#parts.handlers[kind] as Handler; // the table is keyed by kind
    let endAlone = (): void => undefined;
    try {
      if (job.attemptsMade > 0) await context.note(`attempt ${job.attemptsMade + 1}`);
      books.hurry(); // what is written down of a kill must outlive the next
      endAlone = await answerKills(job, context, { books, solitude: this.#solitude });
      const result = await handler.run(context);
      if (kind === 'resource') worked(); // it ends with a look at the portal
      await books.settled();
      return result;
    } catch (error) {
      // What was learnt is written down while the job is still ours; a failure of that is told below.
      await books.settled().catch(() => undefined);
      if (lost.aborted || isLockGone(error)) {
        books.drop();
        log.warn({ action: 'lost' }, lockLost);
        throw new WaitingError(lockLost);
      }
      const told = await this.#sort(error, job, token, context, handler);
      await books.settled();
      throw told;
    } finally {
      endAlone();
    }
  }

  #fenceOf(job: Job, token: string): Fence {
    const key = `${job.queueQualifiedName}:${job.id}:lock`;
    return new Fence({
      key,
      token,
      ask: async () => {
        const left = await leftOfLock.run(this.#parts.queues.connection, [key], [token]);
        return typeof left === 'number' ? left : null;
      },
      lost: () => void this.#worker.cancelJob(job.id ?? '', lockLost),
    });
  }

  /** Decides what the engine is told: move back, try again later, or failed for good with its reason kept. */
  async #sort(error: unknown, job: Job, token: string, context: JobContext, handler: Handler): Promise<unknown> {
    if (error instanceof Error && ['WaitingChildrenError', 'DelayedError'].includes(error.name)) return error;
    if (error instanceof GiveBack || this.#isOfStop(error)) return this.#giveBack(job, token, context.data.portal);
    if (error instanceof PortalLoginError) {
      await context.note(`portal paused: ${error.message}`);
      await this.#parts.pauses.pause(context.data.portal, reasonOf(error));
      return this.#giveBack(job, token, context.data.portal);
    }
    if (await this.#parts.breaker.failed(context.data.portal, error)) {
      await context.note(`waits without spending an attempt, because the portal is paused: ${reasonOf(error).message}`);
      return this.#giveBack(job, token, context.data.portal);
    }
    const last = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    if (isRetryable(error) && !last) return error;
    const reason = reasonOf(error);
    if (!(error instanceof SluiceError)) context.log.error({ err: error }, 'job failed by a bug');
    await this.#giveUp(context, handler, reason);
    return new UnrecoverableError(reason.message);
  }

  /** True for what a stop cut off between two steps, such as a look at the portal. */
  #isOfStop(error: unknown): boolean {
    const { aborted, reason } = this.#stop.signal;
    return aborted && (error === reason || (error instanceof Error && error.cause === reason));
  }

  async #giveUp(context: JobContext, handler: Handler, reason: Reason): Promise<void> {
    await context.note(`failed for good: ${reason.code}: ${reason.message}`);
    context.log.warn({ action: 'give-up', reason }, 'job failed for good');
    await handler.failed?.(context, reason);
    await context.save({ failure: reason } as object);
  }

  /** The queue of runs is never paused: a run of a paused portal comes again after the next probe. */
  async #giveBack(job: Job, token: string, portal: string): Promise<WaitingError | DelayedError> {
    if (this.#parts.queue === runsQueue && !this.#stop.signal.aborted) {
      const nextAt = (await this.#parts.pauses.state(portal))?.probe?.nextAt ?? Date.now();
      await job.moveToDelayed(Math.max(nextAt, Date.now()) + afterProbeMs, token);
      return new DelayedError();
    }
    await job.moveToWait(token);
    return new WaitingError();
  }
}

/** True for what the engine says when it is to move a job whose lock has run out, as after a while without Redis. */
const isLockGone = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === ErrorCode.JobLockNotExist || error.code === ErrorCode.JobLockMismatch);

const parseJob = (job: Job): { kind: JobKind; data: JobDataOf[JobKind] } => {
  const schema = jobSchemas[job.name as JobKind] as (typeof jobSchemas)[JobKind] | undefined; // absent for foreign names
  if (!schema) throw new UnrecoverableError(`no handler for jobs named ${job.name}`);
  const parsed = schema.safeParse(job.data);
  if (!parsed.success) throw new UnrecoverableError(`the data of the job is not understood: ${parsed.error.message}`);
  return { kind: parsed.data.kind, data: parsed.data };
};

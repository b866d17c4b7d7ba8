// A worker on one queue: validates job data, calls the handler, and classifies its errors.
import { DelayedError, ErrorCode, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import { machineFault, PortalLoginError, reasonOf, SluiceError } from '../model/errors.ts';
import {
  GiveBack,
  type Handler,
  itemId,
  type JobContext,
  type JobDataOf,
  type JobKind,
  jobSchemas,
  noTrace,
  UnfinishedItemsError,
} from '../model/job.ts';
import { JobLease } from '../model/lease.ts';
import type { Log } from '../model/log.ts';
import type { Reason } from '../model/report.ts';
import { RedisScript } from '../state/redis/script.ts';
import { cancelledError, type StopWatch } from './cancel.ts';
import { createContext } from './context.ts';
import type { Exclusive } from './exclusive.ts';
import { JobJournal } from './journal.ts';
import type { CircuitBreaker, PortalPauses } from './pause.ts';
import { ourTimes, type Queues, runsQueue } from './queues.ts';
import { backoffMs, countKill, isRetryable, isSuspect, poisonOf, type RetrySettings, waitsAlone } from './retry.ts';
import { isEngineSignal, JobIsolation, JobTrace } from './trace.ts';

/** A handler for every kind of job. */
export type Handlers = { [K in JobKind]: Handler<K> };

/** What a worker is made of. */
interface WorkerParts {
  queue: string;
  concurrency: number;
  queues: Queues;
  handlers: Handlers;
  pauses: PortalPauses;
  breaker: CircuitBreaker;
  exclusive: Exclusive;
  stops: StopWatch;
  /** True for a portal that only other workers know. */
  isOfOthers: (portal: string) => Promise<boolean>;
  /** Heartbeat of this worker, and whether that of another still beats. */
  heartbeat: { id: string; lives: (id: string) => Promise<boolean> };
  /** Redis key of the log of an item, by its id. */
  logKey: (itemId: string) => string;
  retry: RetrySettings;
  /** Lock of a job and interval of the check for stalled jobs, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  log: Log;
}

/** How long after the next probe of its portal a run is tried again, milliseconds. */
const afterProbeMs = 1000;

/** Retry interval of a run whose portal only people can resume, milliseconds. */
const heldMs = 60_000;

/** The signal of a job that nothing stops. */
const never = new AbortController().signal;

const lockLost = 'the lock of the job was lost; another worker resumes it';

const leftOfLock = new RedisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
return redis.call('PTTL', KEYS[1])
`);

/** Runs jobs of one queue until it is stopped. */
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
      (job: Job, token?: string, signal?: AbortSignal) => this.#explained(this.#process(job, token ?? '', signal)),
      {
        connection: parts.queues.connection,
        prefix: parts.queues.settings.prefix,
        concurrency: parts.concurrency,
        lockDuration: parts.lockMs,
        stalledInterval: parts.stalledCheckMs,
        // A kill or a loss is not the job's fault: our own poison rule judges by step, see `answerKills`.
        maxStalledCount: 1000,
        settings: { ...ourTimes, backoffStrategy: (made, _type, error) => backoffMs(made, error, parts.retry) },
      },
    );
    this.#worker.on('error', (error) =>
      parts.log.warn({ queue: parts.queue, err: error.message }, 'the queue reported an error'),
    );
    // The engine only reports it; the work is ours to stop.
    this.#worker.on('lockRenewalFailed', (ids: string[]) => {
      for (const id of ids) this.#worker.cancelJob(id, lockLost);
    });
  }

  /** Resolves when the worker takes jobs. */
  async ready(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** True while a step that sends writes is in progress. */
  get isWriting(): boolean {
    return this.#writes > 0;
  }

  /** How many jobs it works on at once from now on. */
  setConcurrency(jobs: number): void {
    this.#worker.concurrency = jobs;
  }

  /** Takes no more jobs, gives back those that have not started a write, and waits for the others. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#worker.close();
  }

  /** Ends at once; running jobs are resumed by the next worker. */
  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#worker.close(true);
  }

  async #process(job: Job, token: string, taken?: AbortSignal): Promise<unknown> {
    const parsed = parseJob(job);
    const { stops, isOfOthers } = this.#parts;
    if (await isOfOthers(parsed.data.portal)) throw await this.#giveBack(job, token, parsed.data.portal);
    if (!('runId' in parsed.data)) return this.#work(job, parsed, { token, taken, cancelled: never, paused: never });
    const of = { runId: parsed.data.runId, portal: parsed.data.portal };
    const { cancelled, paused } = await stops.enter(of);
    try {
      // The job of a run that is cancelled already is the one that ends it.
      const isEnding = parsed.kind === 'run' && cancelled.aborted;
      return await this.#work(job, parsed, {
        token,
        taken,
        cancelled: isEnding ? never : cancelled,
        paused: isEnding ? never : paused,
      });
    } finally {
      stops.leave(of);
    }
  }

  /** People see the error that the engine keeps; a full Redis also fails the write of an error. */
  async #explained(work: Promise<unknown>): Promise<unknown> {
    try {
      return await work;
    } catch (error) {
      throw machineFault(error);
    }
  }

  async #work(
    job: Job,
    { kind, data: parsed }: ParsedJob,
    { token, taken, cancelled, paused }: Taken,
  ): Promise<unknown> {
    const { queues, breaker, exclusive, handlers } = this.#parts;
    // The engine cancels by the job's id, which may stand for a later activation in this same worker by now.
    const refused = new AbortController();
    const lost = AbortSignal.any([refused.signal, ...(taken ? [taken] : [])]);
    const others = AbortSignal.any([this.#stop.signal, cancelled, lost]);
    const inSteps = AbortSignal.any([others, paused]);
    // Between its steps, a run only follows its jobs, and ends with them.
    const signal = kind === 'run' ? others : inSteps;
    let data = parsed;
    const journal = new JobJournal(job, queues, this.#leaseOf(job, token, refused));
    const save = (changes: object): void => {
      data = { ...data, ...changes };
      journal.save(data);
    };
    const runId = 'runId' in data ? data.runId : undefined;
    const facts = { jobId: job.id, kind, portal: data.portal, ...(runId === undefined ? {} : { runId }) };
    const log = this.#parts.log.child({ ...facts, ...('key' in data ? { key: data.key } : {}) });
    const worked = (): void => void breaker.worked(data.portal);
    const trace = new JobTrace({
      data: data.trace ?? noTrace,
      by: this.#parts.heartbeat.id,
      journal,
      isolation: this.#isolation,
      signal: inSteps,
      lost,
      log: this.#parts.log,
      facts,
      logOf: (key) => (key === '' || runId === undefined ? undefined : this.#parts.logKey(itemId(runId, key))),
      save: (now) => save({ trace: now }),
      writing: (work) => this.#writing(work),
      worked,
    });
    const context = createContext({
      job,
      token,
      data: () => data,
      save,
      signal,
      log,
      queues,
      journal,
      trace,
      exclusive,
    });
    const handler = handlers[kind] as Handler; // the table is keyed by kind
    let endAlone = (): void => undefined;
    try {
      if (job.attemptsMade > 0) await context.note(`attempt ${job.attemptsMade + 1}`);
      journal.hurry(); // what is written down of a kill must outlive the next
      endAlone = await this.#answerKills(job, trace, journal, signal);
      if (signal.aborted) throw new GiveBack();
      const result = await handler.run(context);
      await journal.flush();
      // The parent of a child would keep what it returns a second time, and reads the records of the run instead.
      return job.parent ? undefined : result;
    } catch (error) {
      // What was learned is written down while the job is still ours; a failure of that is reported below.
      await journal.flush().catch(() => undefined);
      if (lost.aborted || isLockGone(error)) {
        journal.drop();
        log.warn({ action: 'lost' }, lockLost);
        throw new WaitingError(lockLost);
      }
      const fault =
        cancelled.aborted && !isEngineSignal(error)
          ? await this.#cancel(job, token, context, handler)
          : await this.#sort(error, { job, token, journal }, context, handler);
      await journal.flush();
      throw fault;
    } finally {
      endAlone();
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

  /**
   * Counts the kills of a job before it continues. One that was hit more than once continues alone, so that bystanders are
   * not hit with it again; the returned function ends that.
   * @throws PoisonJobError when the job itself, and not one of its items, was hit too often in the same step
   */
  async #answerKills(job: Job, trace: JobTrace, journal: JobJournal, signal: AbortSignal): Promise<() => void> {
    await countKill(job, trace, this.#parts.heartbeat.lives);
    await journal.flush();
    const poison = poisonOf(trace.data, '');
    if (poison) throw poison;
    if (!isSuspect(trace.data)) return () => undefined;
    trace.silently(waitsAlone);
    await journal.flush();
    const end = await this.#isolation.begin(job.id ?? '', signal);
    try {
      trace.silently(null);
      await journal.flush();
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  #leaseOf(job: Job, token: string, refused: AbortController): JobLease {
    const key = `${job.queueQualifiedName}:${job.id}:lock`;
    return new JobLease({
      key,
      token,
      ask: async () => {
        const left = await leftOfLock.run(this.#parts.queues.connection, [key], [token]);
        return typeof left === 'number' ? left : null;
      },
      lost: () => refused.abort(lockLost),
    });
  }

  /** Decides what becomes of the job: move back, try again later, or failed for good with its reason kept. */
  async #sort(
    thrown: unknown,
    { job, token, journal }: { job: Job; token: string; journal: JobJournal },
    context: JobContext,
    handler: Handler,
  ): Promise<unknown> {
    const error = machineFault(thrown instanceof UnfinishedItemsError ? thrown.first : thrown);
    const giveBack = async (): Promise<Error> => {
      await journal.flush(); // what is noted of the job goes while it is ours
      return this.#giveBack(job, token, context.data.portal);
    };
    if (isEngineSignal(error)) return error;
    if (isGiveBack(error) || this.#isOfStop(error)) return giveBack();
    if (error instanceof PortalLoginError) {
      await context.note(`portal paused: ${error.message}`);
      await this.#parts.pauses.pause(context.data.portal, reasonOf(error));
      return giveBack();
    }
    if (await this.#parts.breaker.failed(context.data.portal, error)) {
      await context.note(`waits without using an attempt, because the portal is paused: ${reasonOf(error).message}`);
      return giveBack();
    }
    const last = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    if (isRetryable(error) && !last) return error;
    const reason = reasonOf(error);
    if (!(error instanceof SluiceError)) context.log.error({ err: error }, 'job failed because of a bug');
    await this.#giveUp(context, handler, reason, thrown);
    return new UnrecoverableError(reason.message);
  }

  /** Its run is cancelled: a child ends, and the job of the run is taken again at once to end the run. */
  async #cancel(job: Job, token: string, context: JobContext, handler: Handler): Promise<unknown> {
    const { data } = context;
    if (data.kind === 'run') {
      await job.moveToWait(token);
      return new WaitingError();
    }
    const error = cancelledError('runId' in data ? data : { runId: '' });
    const reason = reasonOf(error);
    await context.note('cancelled');
    await handler.failed?.(context, reason, error);
    await context.save({ failure: reason } as object);
    return new UnrecoverableError(reason.message);
  }

  /** True for what a stop cut off between two steps, such as a read of the portal. */
  #isOfStop(error: unknown): boolean {
    const { aborted, reason } = this.#stop.signal;
    return aborted && (error === reason || (error instanceof Error && error.cause === reason));
  }

  async #giveUp(context: JobContext, handler: Handler, reason: Reason, error: unknown): Promise<void> {
    await context.note(`failed for good: ${reason.code}: ${reason.message}`);
    context.log.warn({ action: 'give-up', reason }, 'job failed for good');
    await handler.failed?.(context, reason, error);
    await context.save({ failure: reason } as object);
  }

  /** The queue of runs is never paused: a run of a paused portal is retried after the next probe, or when it is resumed. */
  async #giveBack(job: Job, token: string, portal: string): Promise<WaitingError | DelayedError> {
    const { queue, pauses } = this.#parts;
    if (queue === runsQueue && !this.#stop.signal.aborted) {
      const pause = await pauses.state(portal);
      const nextAt = pause && pause.probe === null ? Date.now() + heldMs : (pause?.probe?.nextAt ?? 0);
      await job.moveToDelayed(Math.max(nextAt, Date.now()) + afterProbeMs, token);
      if (pause && (await pauses.state(portal)) === null) await pauses.wakeRuns(portal);
      return new DelayedError();
    }
    await job.moveToWait(token);
    return new WaitingError();
  }
}

/** A pause aborts what goes on between two steps with it. */
const isGiveBack = (error: unknown): boolean =>
  error instanceof GiveBack || (error instanceof Error && error.cause instanceof GiveBack);

/** True for the engine's error when it moves a job whose lock has expired, as after a while without Redis. */
const isLockGone = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === ErrorCode.JobLockNotExist || error.code === ErrorCode.JobLockMismatch);

/** How a job was taken, and what ends it after its step. */
interface Taken {
  token: string;
  taken: AbortSignal | undefined;
  cancelled: AbortSignal;
  paused: AbortSignal;
}

interface ParsedJob {
  kind: JobKind;
  data: JobDataOf[JobKind];
}

const parseJob = (job: Job): ParsedJob => {
  const schema = jobSchemas[job.name as JobKind] as (typeof jobSchemas)[JobKind] | undefined; // absent for foreign names
  if (!schema) throw new UnrecoverableError(`no handler for jobs named ${job.name}`);
  const parsed = schema.safeParse(job.data);
  if (!parsed.success) throw new UnrecoverableError(`the job data is invalid: ${parsed.error.message}`);
  return { kind: parsed.data.kind, data: parsed.data };
};

// One turn of a job in a worker: its kills are answered, its handler runs, what it wrote is flushed, and its end is settled.
import { DelayedError, ErrorCode, type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { machineFault, PortalLoginError, reasonOf, SluiceError } from '../model/errors.ts';
import {
  GiveBack,
  type Handler,
  itemId,
  type JobContext,
  type JobDataOf,
  type JobKind,
  noTrace,
  UnfinishedItemsError,
} from '../model/job.ts';
import { JobLease } from '../model/lease.ts';
import type { Log } from '../model/log.ts';
import { RedisScript } from '../state/redis/script.ts';
import { cancelledError } from './cancel.ts';
import type { Exclusive } from './exclusive.ts';
import { JobJournal } from './journal.ts';
import type { CircuitBreaker, PortalPauses } from './pause.ts';
import { type Queues, runsQueue } from './queues.ts';
import { countKill, isRetryable, isSuspect, poisonOf, waitsAlone } from './retry.ts';
import { isEngineSignal, type JobIsolation, JobTrace } from './trace.ts';

/** A handler for every kind of job. */
export type Handlers = { [K in JobKind]: Handler<K> };

/** What all turns of a worker share. */
export interface TurnParts {
  queue: string;
  queues: Queues;
  handlers: Handlers;
  pauses: PortalPauses;
  breaker: CircuitBreaker;
  exclusive: Exclusive;
  /** Heartbeat of this worker, and whether that of another still beats. */
  heartbeat: { id: string; lives: (id: string) => Promise<boolean> };
  /** Redis key of a log by its id. */
  logKey: (id: string) => string;
  /** Called when a job of a run has ended. */
  ended: (runId: string) => Promise<void>;
  log: Log;
}

/** What the worker gives a turn besides. */
interface TurnOf {
  job: Job;
  token: string;
  data: JobDataOf[JobKind];
  isolation: JobIsolation;
  /** Aborted when the worker stops, when the engine has lost the job, when its run is cancelled, when its portal is paused. */
  stopped: AbortSignal;
  taken: AbortSignal | undefined;
  cancelled: AbortSignal;
  paused: AbortSignal;
  /** Runs the work of a step that sends writes, for which a stop waits. */
  writing: <T>(work: () => Promise<T>) => Promise<T>;
}

/** How long after the next probe of its portal a run is tried again, milliseconds. */
const afterProbeMs = 1000;

/** Retry interval of a run whose portal only people can resume, milliseconds. */
const heldMs = 60_000;

/** Why a job that is no longer ours ends here. */
export const lockLost = 'the lock of the job was lost; another worker resumes it';

const leftOfLock = new RedisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
return redis.call('PTTL', KEYS[1])
`);

/** See the head of this file. */
export class Turn {
  readonly #parts: TurnParts;
  readonly #of: TurnOf;
  readonly #handler: Handler;
  readonly #refused = new AbortController();
  /** Aborted once another worker may have the job. */
  readonly #lost: AbortSignal;
  readonly #journal: JobJournal;
  readonly #trace: JobTrace;
  readonly #context: JobContext;
  #data: JobDataOf[JobKind];
  #endAlone: () => void = () => undefined;

  constructor(parts: TurnParts, of: TurnOf) {
    const { job, data, taken } = of;
    this.#parts = parts;
    this.#of = of;
    this.#data = data;
    this.#handler = parts.handlers[data.kind] as Handler; // the table is keyed by kind
    // The engine cancels by the job's id, which may stand for a later activation in this same worker by now.
    this.#lost = AbortSignal.any([this.#refused.signal, ...(taken ? [taken] : [])]);
    this.#journal = new JobJournal(job, parts.queues, this.#lease());
    this.#trace = this.#newTrace();
    this.#context = this.#newContext();
  }

  /** Resolves when the job has ended, well or not; throws what the engine is to do with one that has not. */
  async run(): Promise<unknown> {
    try {
      await this.#answerKills();
      const result = await this.#handler.run(this.#context);
      await this.#journal.flush();
      await this.#advance();
      return result;
    } catch (error) {
      return await this.#settle(error);
    } finally {
      this.#endAlone();
    }
  }

  get #runId(): string | undefined {
    return 'runId' in this.#data ? this.#data.runId : undefined;
  }

  /**
   * Counts the kills of a job before it continues. One that was hit more than once continues alone, so that bystanders are
   * not hit with it again.
   * @throws PoisonJobError when the job itself, and not one of its items, was hit too often in the same step
   */
  async #answerKills(): Promise<void> {
    const { job, isolation } = this.#of;
    const { signal } = this.#context;
    const [trace, journal] = [this.#trace, this.#journal];
    if (job.attemptsMade > 0) await this.#context.note(`attempt ${job.attemptsMade + 1}`);
    journal.hurry(); // what is written down of a kill must outlive the next
    await countKill(job, trace, this.#parts.heartbeat.lives);
    await journal.flush();
    const poison = poisonOf(trace.data, '');
    if (poison) throw poison;
    if (isSuspect(trace.data)) {
      trace.silently(waitsAlone);
      await journal.flush();
      this.#endAlone = await isolation.begin(job.id ?? '', signal);
      trace.silently(null);
      await journal.flush();
    }
    if (signal.aborted) throw new GiveBack();
  }

  /** Something of the run has ended. Where that cannot be followed up now, the sweep does it. */
  async #advance(): Promise<void> {
    const runId = this.#runId;
    if (runId === undefined) return;
    await this.#parts
      .ended(runId)
      .catch((err: unknown) => this.#context.log.warn({ err }, 'the run could not be advanced'));
  }

  /** Decides what becomes of a job whose handler has thrown: it is moved back, tried again later, or given up. */
  async #settle(thrown: unknown): Promise<unknown> {
    // What was learned is written down while the job is still ours; a failure of that is reported below.
    await this.#journal.flush().catch(() => undefined);
    if (this.#lost.aborted || isLockGone(thrown)) {
      this.#journal.drop();
      this.#context.log.warn({ action: 'lost' }, lockLost);
      throw new WaitingError(lockLost);
    }
    if (isEngineSignal(thrown)) throw thrown;
    if (this.#of.cancelled.aborted) return this.#cancel();
    const { job } = this.#of;
    const { portal } = this.#data;
    const error = machineFault(thrown instanceof UnfinishedItemsError ? thrown.first : thrown);
    // Whatever fails while the job is to stop may have failed for that; if not, it fails again.
    if (isGiveBack(error) || this.#context.signal.aborted) return this.giveBack();
    if (error instanceof PortalLoginError) {
      await this.#context.note(`portal paused: ${error.message}`);
      await this.#parts.pauses.pause(portal, reasonOf(error));
      return this.giveBack();
    }
    if (await this.#parts.breaker.failed(portal, error)) {
      const why = reasonOf(error).message;
      await this.#context.note(`waits without using an attempt, because the portal is paused: ${why}`);
      return this.giveBack();
    }
    const isLast = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    if (isRetryable(error) && !isLast) {
      await this.#journal.flush();
      throw error;
    }
    if (!(error instanceof SluiceError)) this.#context.log.error({ err: error }, 'job failed because of a bug');
    const reason = reasonOf(error);
    await this.#context.note(`failed for good: ${reason.code}: ${reason.message}`);
    this.#context.log.warn({ action: 'give-up', reason }, 'job failed for good');
    return this.#giveUp(error, thrown);
  }

  /** Its run is cancelled: the job ends what it is for. One that closes the run begins again, to end it early. */
  async #cancel(): Promise<unknown> {
    if (this.#data.kind === 'close') {
      await this.#of.job.moveToWait(this.#of.token);
      throw new WaitingError();
    }
    await this.#context.note('cancelled');
    const error = cancelledError(this.#data as { runId: string }); // only jobs of runs are cancelled
    return this.#giveUp(error, error);
  }

  /** Ends what the job is for with the error. To the engine it is done then: a job that is in its way stays for people. */
  async #giveUp(error: unknown, thrown: unknown): Promise<undefined> {
    const reason = reasonOf(error);
    if (!this.#handler.failed) throw new UnrecoverableError(reason.message);
    await this.#handler.failed(this.#context, reason, thrown);
    await this.#journal.flush();
    await this.#advance();
  }

  /** Moves the job back. The queue of runs is never paused: a run of a paused portal is retried after the next probe, or when it is resumed. */
  async giveBack(): Promise<never> {
    const { job, token, stopped } = this.#of;
    const { queue, pauses } = this.#parts;
    const { portal } = this.#data;
    await this.#journal.flush(); // what is noted of the job goes while it is ours
    if (queue !== runsQueue || stopped.aborted) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const pause = await pauses.state(portal);
    const nextAt = pause && pause.probe === null ? Date.now() + heldMs : (pause?.probe?.nextAt ?? 0);
    await job.moveToDelayed(Math.max(nextAt, Date.now()) + afterProbeMs, token);
    if (pause && (await pauses.state(portal)) === null) await pauses.wakeRuns(portal);
    throw new DelayedError();
  }

  #lease(): JobLease {
    const { job, token } = this.#of;
    const key = `${job.queueQualifiedName}:${job.id}:lock`;
    return new JobLease({
      key,
      token,
      ask: async () => {
        const left = await leftOfLock.run(this.#parts.queues.connection, [key], [token]);
        return typeof left === 'number' ? left : null;
      },
      lost: () => this.#refused.abort(lockLost),
    });
  }

  #save(changes: object): void {
    this.#data = { ...this.#data, ...changes };
    this.#journal.save(this.#data);
  }

  #newTrace(): JobTrace {
    const { stopped, cancelled, paused, isolation, writing } = this.#of;
    const { heartbeat, logKey, breaker, log } = this.#parts;
    const { kind, portal, trace = noTrace } = this.#data;
    const runId = this.#runId;
    const logOf = (key: string): string | undefined => {
      if (runId === undefined) return undefined;
      if (key !== '') return logKey(itemId(runId, key));
      return kind === 'run' || kind === 'close' ? logKey(runId) : undefined;
    };
    return new JobTrace({
      data: trace,
      by: heartbeat.id,
      journal: this.#journal,
      isolation,
      signal: AbortSignal.any([stopped, cancelled, this.#lost, paused]),
      lost: this.#lost,
      log,
      facts: { kind, portal, ...(runId === undefined ? {} : { runId }) },
      logOf,
      save: (now) => this.#save({ trace: now }),
      writing,
      worked: () => void breaker.worked(portal),
    });
  }

  #newContext(): JobContext {
    const { job, stopped, cancelled, paused } = this.#of;
    const [trace, journal] = [this.#trace, this.#journal];
    const { log, exclusive } = this.#parts;
    const { kind, portal } = this.#data;
    const runId = this.#runId;
    // Between its steps, a job of the run itself needs nothing of the portal.
    const isOfRun = kind === 'run' || kind === 'close';
    const signal = AbortSignal.any([stopped, cancelled, this.#lost, ...(isOfRun ? [] : [paused])]);
    const data = (): JobDataOf[JobKind] => this.#data;
    return {
      ...trace.own,
      id: job.id ?? '',
      get data() {
        return data();
      },
      due: job.opts.prevMillis ?? job.timestamp + (job.opts.delay ?? 0),
      attempt: job.attemptsMade + 1,
      isLast: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
      signal,
      writer: journal,
      log: log.child({ jobId: job.id, kind, portal, runId, ...('key' in this.#data ? { key: this.#data.key } : {}) }),
      item: (key) => trace.item(key),
      poisonOf: (key) => poisonOf(trace.data, key),
      exclusive: (name, stop, work) => exclusive.run(name, journal.lease, stop, work),
    };
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

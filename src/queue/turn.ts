// One turn of a job in a worker: its kills are answered, its handler runs, its steps are logged and persisted, what it wrote
// is flushed, and its end is settled.
import { DelayedError, ErrorCode, type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { isRetryable, machineFault, PortalLoginError, reasonOf, SluiceError } from '../model/errors.ts';
import {
  GiveBack,
  type Handler,
  type ItemLog,
  itemId,
  type JobContext,
  type JobDataOf,
  type JobKind,
  noTrace,
  type StepLabel,
  type StepLog,
  type StepWork,
  type Trace,
  UnfinishedItemsError,
} from '../model/job.ts';
import { type JobLease, jobLease } from '../model/lease.ts';
import { endText } from '../model/ledger-entry.ts';
import type { Log } from '../model/log.ts';
import { meterOf, movedText } from '../model/moved.ts';
import { reasonText } from '../model/report.ts';
import { inSpan } from '../util/tracing.ts';
import { cancelledError } from './cancel.ts';
import type { Exclusive } from './exclusive.ts';
import type { JobIsolation } from './isolation.ts';
import { JobJournal, leftOfLock } from './journal.ts';
import type { CircuitBreaker, PortalPauses } from './pause.ts';
import { type Queues, runsQueue } from './queues.ts';
import { isSuspect, poisonOf, waitsAlone, withKill } from './retry.ts';

export type Handlers = { [K in JobKind]: Handler<K> };

export interface TurnParts {
  queue: string;
  queues: Queues;
  handlers: Handlers;
  pauses: PortalPauses;
  breaker: CircuitBreaker;
  exclusive: Exclusive;
  /** Heartbeat of this worker, and whether that of another still beats. */
  heartbeat: { id: string; lives: (id: string) => Promise<boolean> };
  logKey: (id: string) => string;
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

/**
 * Milliseconds: how long after the next probe of its portal a run is tried again, how often one whose portal only people can
 * resume, and how often the log says how far a large file is.
 */
const [afterProbeMs, heldMs, noteEveryMs] = [1000, 60_000, 15_000];

/** Why a job that is no longer ours ends here. */
export const lockLost = 'the lock of the job was lost; another worker resumes it';

/** See the head of this file; it is what the handler gets. */
export class Turn implements JobContext {
  data: JobDataOf[JobKind];
  readonly id: string;
  readonly due: number;
  readonly attempt: number;
  readonly isLast: boolean;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly writer: JobJournal;
  readonly step: StepLog['step'];
  readonly note: StepLog['note'];
  readonly #parts: TurnParts;
  readonly #of: TurnOf;
  readonly #handler: Handler;
  readonly #refused = new AbortController();
  readonly #lost: AbortSignal;
  /** Aborted when a step must not begin, or must end. */
  readonly #stopsStep: AbortSignal;
  #endAlone: () => void = () => undefined;

  constructor(parts: TurnParts, of: TurnOf) {
    const { job, data, taken, stopped, cancelled, paused } = of;
    this.#parts = parts;
    this.#of = of;
    this.data = data;
    this.#handler = parts.handlers[data.kind] as Handler; // the table is keyed by kind
    this.id = job.id ?? '';
    this.due = job.opts.prevMillis ?? job.timestamp + (job.opts.delay ?? 0);
    this.attempt = job.attemptsMade + 1;
    this.isLast = this.attempt >= (job.opts.attempts ?? 1);
    // The engine cancels by the job's id, which may stand for a later activation in this same worker by now.
    this.#lost = AbortSignal.any([this.#refused.signal, ...(taken ? [taken] : [])]);
    const stops = [stopped, cancelled, this.#lost];
    this.#stopsStep = AbortSignal.any([...stops, paused]);
    // Between its steps, a job of the run itself needs nothing of the portal.
    this.signal = this.#isOfRun ? AbortSignal.any(stops) : this.#stopsStep;
    this.writer = new JobJournal(job, parts.queues, this.#lease());
    this.log = parts.log.child(this.#about('key' in data ? data.key : ''));
    ({ step: this.step, note: this.note } = this.#stepLog(''));
  }

  item(key: string): ItemLog {
    const { step, note } = this.#stepLog(key);
    let last: string | null = null;
    return {
      resumed: this.#trace.interrupted.includes(key),
      get lastStep() {
        return last;
      },
      step: (label, work, format) => {
        last = label.name;
        return step(label, work, format);
      },
      note,
      end: () => this.#leave(key),
    };
  }

  poisonOf(key: string): SluiceError | null {
    return poisonOf(this.#trace, key);
  }

  readonly exclusive: JobContext['exclusive'] = async (name, stop, work) => {
    const leave = await this.#of.isolation.enterLocked(this.id, this.signal);
    return this.#parts.exclusive(name, this.writer.lease, stop, work).finally(leave);
  };

  /** Resolves when the job has ended, well or not; throws what the engine is to do with one that has not. */
  async run(): Promise<unknown> {
    try {
      await this.#answerKills();
      const result = await this.#handler.run(this);
      await this.writer.flush();
      await this.#advance();
      return result;
    } catch (error) {
      return await this.#settle(error);
    } finally {
      this.#endAlone();
    }
  }

  get #runId(): string | undefined {
    return 'runId' in this.data ? this.data.runId : undefined;
  }

  get #isOfRun(): boolean {
    return this.data.kind === 'run' || this.data.kind === 'close';
  }

  get #trace(): Trace {
    return this.data.trace ?? noTrace;
  }

  /**
   * Counts the kills of a job before it continues. One that was hit more than once continues alone, so that bystanders are
   * not hit with it again.
   * @throws PoisonJobError when the job itself, and not one of its items, was hit too often in the same step
   */
  async #answerKills(): Promise<void> {
    const { job, isolation } = this.#of;
    if (this.attempt > 1) await this.note(`attempt ${this.attempt}`);
    if (job.stalledCounter > this.#trace.stalls) {
      const { by } = this.#trace;
      const isLoss = by !== undefined && (await this.#parts.heartbeat.lives(by));
      const { trace, lines } = withKill(this.#trace, job.stalledCounter, isLoss ? 'losses' : 'kills');
      for (const [key, line] of lines) this.#line(key, line);
      this.#save(trace);
    }
    await this.writer.flush(); // what is written down of a kill must outlive the next
    const poison = this.poisonOf('');
    if (poison) throw poison;
    if (isSuspect(this.#trace)) {
      this.#enter('', waitsAlone);
      await this.writer.flush();
      this.#endAlone = await isolation.begin(this.id, this.signal);
      this.#leave('');
      await this.writer.flush();
    }
    if (this.signal.aborted) throw new GiveBack();
  }

  /** Something of the run has ended. Where that cannot be followed up now, the sweep does it. */
  async #advance(): Promise<void> {
    if (this.#runId === undefined) return;
    await this.#parts
      .ended(this.#runId)
      .catch((err: unknown) => this.log.warn({ err }, 'the run could not be advanced'));
  }

  /** Decides what becomes of a job whose handler has thrown: it is moved back, tried again later, or given up. */
  async #settle(thrown: unknown): Promise<unknown> {
    // What was learned is written down while the job is still ours; a failure of that is reported below.
    await this.writer.flush().catch(() => undefined);
    if (this.#lost.aborted || isLockGone(thrown)) {
      this.writer.drop();
      this.log.warn({ action: 'lost' }, lockLost);
      throw new WaitingError(lockLost);
    }
    if (this.#of.cancelled.aborted) return this.#cancel();
    const { portal } = this.data;
    const error = machineFault(thrown instanceof UnfinishedItemsError ? thrown.first : thrown);
    // Whatever fails while the job is to stop may have failed for that; if not, it fails again. A pause is a cause.
    const causes = error instanceof Error ? [error, error.cause] : [];
    if (causes.some((each) => each instanceof GiveBack) || this.signal.aborted) return this.giveBack();
    if (error instanceof PortalLoginError) {
      await this.note(`portal paused: ${error.message}`);
      await this.#parts.pauses.pause(portal, reasonOf(error));
      return this.giveBack();
    }
    if (await this.#parts.breaker.failed(portal, error)) {
      await this.note(`waits without using an attempt, because the portal is paused: ${reasonOf(error).message}`);
      return this.giveBack();
    }
    if (isRetryable(error) && !this.isLast) {
      await this.writer.flush();
      throw error;
    }
    if (!(error instanceof SluiceError)) this.log.error({ err: error }, 'job failed because of a bug');
    const reason = reasonOf(error);
    await this.note(endText(reason));
    this.log.warn({ action: 'give-up', reason }, 'job failed for good');
    return this.#giveUp(error, thrown);
  }

  /** Its run is cancelled: the job ends what it is for. One that closes the run begins again, to end it early. */
  async #cancel(): Promise<unknown> {
    if (this.data.kind === 'close') {
      await this.#of.job.moveToWait(this.#of.token);
      throw new WaitingError();
    }
    await this.note('cancelled');
    const error = cancelledError(this.data as { runId: string }); // only jobs of runs are cancelled
    return this.#giveUp(error, error);
  }

  /** Ends what the job is for with the error. To the engine it is done then: a job that is in its way stays for people. */
  async #giveUp(error: unknown, thrown: unknown): Promise<undefined> {
    const reason = reasonOf(error);
    if (!this.#handler.failed) throw new UnrecoverableError(reason.message);
    await this.#handler.failed(this, reason, thrown);
    await this.writer.flush();
    await this.#advance();
  }

  /** Moves the job back. The queue of runs is never paused: a run of a paused portal is retried after the next probe, or when it is resumed. */
  async giveBack(): Promise<never> {
    const { job, token, stopped } = this.#of;
    const { queue, pauses } = this.#parts;
    const { portal } = this.data;
    await this.writer.flush(); // what is noted of the job goes while it is ours
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
    return jobLease({
      key,
      token,
      ask: () => leftOfLock(this.#parts.queues.connection, [key], [token]),
      lost: () => this.#refused.abort(lockLost),
    });
  }

  /** What lines of the log say of an item, or with '' of the job. */
  #about(key: string): object {
    const { kind, portal } = this.data;
    return { jobId: this.id, kind, portal, runId: this.#runId, ...(key === '' ? {} : { key }) };
  }

  /** Adds a line to the log of an item, or with '' of the job. */
  #line(key: string, text: string): void {
    const runId = this.#runId;
    if (runId === undefined || (key === '' && !this.#isOfRun)) this.writer.line(text);
    else this.writer.line(text, this.#parts.logKey(key === '' ? runId : itemId(runId, key)));
  }

  #save(trace: Trace): void {
    this.data = { ...this.data, trace: { ...trace, by: this.#parts.heartbeat.id, at: Date.now() } };
    this.writer.save(this.data);
  }

  /** A step begins, `since` then; or it stands until the next one. */
  #enter(key: string, step: string, since?: number): void {
    const { interrupted, steps, going } = this.#trace;
    const others = interrupted.filter((each) => each !== key);
    const now = { ...without(going, key), ...(since && { [key]: { since, moved: null } }) };
    this.#save({ ...this.#trace, interrupted: others, steps: { ...steps, [key]: step }, going: now });
  }

  #leave(key: string): void {
    const { steps, going } = this.#trace;
    this.#save({ ...this.#trace, steps: without(steps, key), going: without(going, key) });
  }

  #stepLog(key: string): StepLog {
    return {
      note: async (line) => {
        this.#parts.log.info({ ...this.#about(key), action: 'note' }, line);
        this.#line(key, line);
      },
      step: async (label, work, format) => {
        if (this.#stopsStep.aborted) throw new GiveBack();
        await this.writer.lease.check(); // under load a lost lock may be noticed late
        const leave = await this.#of.isolation.enter({ job: this.id, item: key }, this.#stopsStep);
        try {
          const { portal, kind } = this.data;
          const job = { 'sluice.portal': portal, 'sluice.run': this.#runId ?? '', 'sluice.job': kind };
          const run = () => this.#inStep(key, label, work, format);
          return await inSpan(`step ${label.name}`, { ...job, 'sluice.key': key }, run);
        } finally {
          leave();
        }
      },
    };
  }

  async #inStep<T>(
    key: string,
    { name, on, writes = false, light = false }: StepLabel,
    work: StepWork<T>,
    format: (result: T) => string = () => 'ok',
  ): Promise<T> {
    const [begun, since] = [performance.now(), Date.now()];
    let toldAt = since;
    const meter = meterOf((moved) => {
      this.#save({ ...this.#trace, going: { ...this.#trace.going, [key]: { since, moved } } });
      if (moved.at - toldAt < noteEveryMs) return;
      toldAt = moved.at;
      this.#line(key, `${name} ${on}: ${movedText(moved, moved.at)}`);
    });
    const before = this.#trace.steps[key];
    const end = (facts: object, line: string, text: string): void => {
      const ms = Math.round(performance.now() - begun);
      this.#parts.log.info({ ...this.#about(key), action: name, on, ms, ...facts }, line);
      this.#line(key, `${name} ${on}: ${text} (${ms} ms)`);
    };
    this.#enter(key, name, since);
    // The note before a write takes the step's name along; other work on this host may crash the worker.
    if (!writes && !light) this.writer.hurry();
    try {
      // A step that writes is never cut off by a stop, only when the job is no longer ours.
      const run = () => work(writes ? this.#lost : this.#stopsStep, meter.tell);
      const result = await (writes ? this.#of.writing(run) : run());
      if (writes) void this.#parts.breaker.worked(this.data.portal);
      const outcome = format(result);
      end({ outcome }, 'step done', outcome);
      return result;
    } catch (error) {
      if (error instanceof GiveBack || (this.#stopsStep.aborted && !writes)) throw new GiveBack();
      const reason = reasonOf(error);
      end({ reason }, 'step failed', `failed, ${reasonText(reason)}`);
      throw error;
    } finally {
      meter.end();
      // Between two steps the last one stands, so that kills there do not add up to kills in one place.
      this.#enter(key, before ?? name);
    }
  }
}

const without = <T>(of: Readonly<Record<string, T>>, key: string): Record<string, T> =>
  Object.fromEntries(Object.entries(of).filter(([each]) => each !== key));

/** True for the engine's error when it moves a job whose lock has expired, as after a while without Redis. */
const isLockGone = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === ErrorCode.JobLockNotExist || error.code === ErrorCode.JobLockMismatch);

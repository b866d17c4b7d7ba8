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
import { jobLease } from '../model/lease.ts';
import { endText } from '../model/ledger-entry.ts';
import type { Log } from '../model/log.ts';
import { meterOf, movedText } from '../model/moved.ts';
import { reasonText } from '../model/report.ts';
import { inSpan } from '../util/tracing.ts';
import { cancelledError } from './cancel.ts';
import type { exclusiveIn } from './exclusive.ts';
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
  exclusive: ReturnType<typeof exclusiveIn>;
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

/** See the head of this file; `run` and `giveBack` resolve when the job has ended, or throw what the engine is to do with it. */
export const jobTurn = (parts: TurnParts, of: TurnOf) => {
  const { queue, queues, pauses, breaker, heartbeat } = parts;
  const { job, token, isolation, taken, stopped, cancelled, paused } = of;
  let { data } = of;
  const id = job.id ?? '';
  const { kind, portal } = data;
  const runId = 'runId' in data ? data.runId : undefined;
  const isOfRun = kind === 'run' || kind === 'close';
  const handler = parts.handlers[kind] as Handler; // the table is keyed by kind
  const attempt = job.attemptsMade + 1;
  const isLast = attempt >= (job.opts.attempts ?? 1);
  const refused = new AbortController();
  // The engine cancels by the job's id, which may stand for a later activation in this same worker by now.
  const lost = AbortSignal.any([refused.signal, ...(taken ? [taken] : [])]);
  const stops = [stopped, cancelled, lost];
  /** Aborted when a step must not begin, or must end. */
  const stopsStep = AbortSignal.any([...stops, paused]);
  // Between its steps, a job of the run itself needs nothing of the portal.
  const signal = isOfRun ? AbortSignal.any(stops) : stopsStep;
  const lockKey = `${job.queueQualifiedName}:${job.id}:lock`;
  const lease = jobLease({
    key: lockKey,
    token,
    ask: () => leftOfLock(queues.connection, [lockKey], [token]),
    lost: () => refused.abort(lockLost),
  });
  const writer = new JobJournal(job, queues, lease);
  let endAlone = (): void => undefined;

  const traceNow = (): Trace => data.trace ?? noTrace;

  /** What lines of the log say of an item, or with '' of the job. */
  const about = (key: string): object => ({ jobId: id, kind, portal, runId, ...(key === '' ? {} : { key }) });

  /** Adds a line to the log of an item, or with '' of the job. */
  const line = (key: string, text: string): void => {
    if (runId === undefined || (key === '' && !isOfRun)) writer.line(text);
    else writer.line(text, parts.logKey(key === '' ? runId : itemId(runId, key)));
  };

  const save = (trace: Trace): void => {
    data = { ...data, trace: { ...trace, by: heartbeat.id, at: Date.now() } };
    writer.save(data);
  };

  /** A step begins, `since` then; or it stands until the next one. */
  const enter = (key: string, step: string, since?: number): void => {
    const { interrupted, steps, going } = traceNow();
    const others = interrupted.filter((each) => each !== key);
    const now = { ...without(going, key), ...(since && { [key]: { since, moved: null } }) };
    save({ ...traceNow(), interrupted: others, steps: { ...steps, [key]: step }, going: now });
  };

  const leave = (key: string): void => {
    const { steps, going } = traceNow();
    save({ ...traceNow(), steps: without(steps, key), going: without(going, key) });
  };

  const inStep = async <T>(
    key: string,
    { name, on, writes = false, light = false }: StepLabel,
    work: StepWork<T>,
    format: (result: T) => string = () => 'ok',
  ): Promise<T> => {
    const [begun, since] = [performance.now(), Date.now()];
    let toldAt = since;
    const meter = meterOf((moved) => {
      save({ ...traceNow(), going: { ...traceNow().going, [key]: { since, moved } } });
      if (moved.at - toldAt < noteEveryMs) return;
      toldAt = moved.at;
      line(key, `${name} ${on}: ${movedText(moved, moved.at)}`);
    });
    const before = traceNow().steps[key];
    const end = (facts: object, logged: string, text: string): void => {
      const ms = Math.round(performance.now() - begun);
      parts.log.info({ ...about(key), action: name, on, ms, ...facts }, logged);
      line(key, `${name} ${on}: ${text} (${ms} ms)`);
    };
    enter(key, name, since);
    // The note before a write takes the step's name along; other work on this host may crash the worker.
    if (!writes && !light) writer.hurry();
    try {
      // A step that writes is never cut off by a stop, only when the job is no longer ours.
      const run = () => work(writes ? lost : stopsStep, meter.tell);
      const result = await (writes ? of.writing(run) : run());
      if (writes) void breaker.worked(portal);
      const outcome = format(result);
      end({ outcome }, 'step done', outcome);
      return result;
    } catch (error) {
      if (error instanceof GiveBack || (stopsStep.aborted && !writes)) throw new GiveBack();
      const reason = reasonOf(error);
      end({ reason }, 'step failed', `failed, ${reasonText(reason)}`);
      throw error;
    } finally {
      meter.end();
      // Between two steps the last one stands, so that kills there do not add up to kills in one place.
      enter(key, before ?? name);
    }
  };

  const stepLog = (key: string): StepLog => ({
    note: async (text) => {
      parts.log.info({ ...about(key), action: 'note' }, text);
      line(key, text);
    },
    step: async (label, work, format) => {
      if (stopsStep.aborted) throw new GiveBack();
      await lease.check(); // under load a lost lock may be noticed late
      const end = await isolation.enter({ job: id, item: key }, stopsStep);
      try {
        const facts = { 'sluice.portal': portal, 'sluice.run': runId ?? '', 'sluice.job': kind, 'sluice.key': key };
        return await inSpan(`step ${label.name}`, facts, () => inStep(key, label, work, format));
      } finally {
        end();
      }
    },
  });

  const { step, note } = stepLog('');
  const context: JobContext = {
    id,
    get data() {
      return data;
    },
    due: job.opts.prevMillis ?? job.timestamp + (job.opts.delay ?? 0),
    attempt,
    isLast,
    signal,
    log: parts.log.child(about('key' in data ? data.key : '')),
    writer,
    step,
    note,

    item: (key): ItemLog => {
      const own = stepLog(key);
      let last: string | null = null;
      return {
        resumed: traceNow().interrupted.includes(key),
        get lastStep() {
          return last;
        },
        step: (label, work, format) => {
          last = label.name;
          return own.step(label, work, format);
        },
        note: own.note,
        end: () => leave(key),
      };
    },

    poisonOf: (key) => poisonOf(traceNow(), key),

    exclusive: async (name, stop, work) => {
      const end = await isolation.enterLocked(id, signal);
      return parts.exclusive(name, lease, stop, work).finally(end);
    },
  };
  const { log } = context;

  /**
   * Counts the kills of a job before it continues. One that was hit more than once continues alone, so that bystanders are
   * not hit with it again.
   * @throws PoisonJobError when the job itself, and not one of its items, was hit too often in the same step
   */
  const answerKills = async (): Promise<void> => {
    if (attempt > 1) await note(`attempt ${attempt}`);
    const { stalls, by } = traceNow();
    if (job.stalledCounter > stalls) {
      const isLoss = by !== undefined && (await heartbeat.lives(by));
      const { trace, lines } = withKill(traceNow(), job.stalledCounter, isLoss ? 'losses' : 'kills');
      for (const [key, text] of lines) line(key, text);
      save(trace);
    }
    await writer.flush(); // what is written down of a kill must outlive the next
    const poison = poisonOf(traceNow(), '');
    if (poison) throw poison;
    if (isSuspect(traceNow())) {
      enter('', waitsAlone);
      await writer.flush();
      endAlone = await isolation.begin(id, signal);
      leave('');
      await writer.flush();
    }
    if (signal.aborted) throw new GiveBack();
  };

  /** Something of the run has ended. Where that cannot be followed up now, the sweep does it. */
  const advance = async (): Promise<void> => {
    if (runId === undefined) return;
    await parts.ended(runId).catch((err: unknown) => log.warn({ err }, 'the run could not be advanced'));
  };

  /** Moves the job back. The queue of runs is never paused: a run of a paused portal is retried after the next probe, or when it is resumed. */
  const giveBack = async (): Promise<never> => {
    await writer.flush(); // what is noted of the job goes while it is ours
    if (queue !== runsQueue || stopped.aborted) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const pause = await pauses.state(portal);
    const nextAt = pause && pause.probe === null ? Date.now() + heldMs : (pause?.probe?.nextAt ?? 0);
    await job.moveToDelayed(Math.max(nextAt, Date.now()) + afterProbeMs, token);
    if (pause && (await pauses.state(portal)) === null) await pauses.wakeRuns(portal);
    throw new DelayedError();
  };

  /** Ends what the job is for with the error. To the engine it is done then: a job that is in its way stays for people. */
  const giveUp = async (error: unknown, thrown: unknown): Promise<undefined> => {
    const reason = reasonOf(error);
    if (!handler.failed) throw new UnrecoverableError(reason.message);
    await handler.failed(context, reason, thrown);
    await writer.flush();
    await advance();
  };

  const fail = async (error: unknown, thrown: unknown): Promise<undefined> => {
    if (!(error instanceof SluiceError)) log.error({ err: error }, 'job failed because of a bug');
    const reason = reasonOf(error);
    await note(endText(reason));
    log.warn({ action: 'give-up', reason }, 'job failed for good');
    return giveUp(error, thrown);
  };

  /** Its run is cancelled: the job ends what it is for. One that closes the run begins again, to end it early. */
  const cancel = async (): Promise<unknown> => {
    if (kind === 'close') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    await note('cancelled');
    const error = cancelledError(data as { runId: string }); // only jobs of runs are cancelled
    return giveUp(error, error);
  };

  /** Decides what becomes of a job whose handler has thrown: it is moved back, tried again later, or given up. */
  const settle = async (thrown: unknown): Promise<unknown> => {
    // What was learned is written down while the job is still ours; a failure of that is reported below.
    await writer.flush().catch(() => undefined);
    if (lost.aborted || isLockGone(thrown)) {
      writer.drop();
      log.warn({ action: 'lost' }, lockLost);
      throw new WaitingError(lockLost);
    }
    if (cancelled.aborted) return cancel();
    const error = machineFault(thrown instanceof UnfinishedItemsError ? thrown.first : thrown);
    // Whatever fails while the job is to stop may have failed for that; if not, it fails again. A pause is a cause.
    const causes = error instanceof Error ? [error, error.cause] : [];
    if (causes.some((each) => each instanceof GiveBack) || signal.aborted) return giveBack();
    if (error instanceof PortalLoginError) {
      await note(`portal paused: ${error.message}`);
      await pauses.pause(portal, reasonOf(error));
      return giveBack();
    }
    if (await breaker.failed(portal, error)) {
      await note(`waits without using an attempt, because the portal is paused: ${reasonOf(error).message}`);
      return giveBack();
    }
    if (isRetryable(error) && !isLast) {
      await writer.flush();
      throw error;
    }
    return fail(error, thrown);
  };

  const run = async (): Promise<unknown> => {
    try {
      await answerKills();
      const result = await handler.run(context);
      await writer.flush();
      await advance();
      return result;
    } catch (error) {
      return await settle(error);
    } finally {
      endAlone();
    }
  };

  return { run, giveBack };
};

const without = <T>(of: Readonly<Record<string, T>>, key: string): Record<string, T> =>
  Object.fromEntries(Object.entries(of).filter(([each]) => each !== key));

/** True for the engine's error when it moves a job whose lock has expired, as after a while without Redis. */
const isLockGone = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === ErrorCode.JobLockNotExist || error.code === ErrorCode.JobLockMismatch);

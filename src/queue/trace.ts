// The steps of a job and of its items: logged, persisted before they begin where they may crash the worker, isolated
// on request.

import { EventEmitter, once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { reasonOf } from '../model/errors.ts';
import { GiveBack, type ItemLog, type StepLabel, type StepLog, type Trace } from '../model/job.ts';
import type { Log } from '../model/log.ts';
import { inSpan } from '../util/tracing.ts';
import type { JobJournal } from './journal.ts';

/** What a trace is made of. */
interface TraceParts {
  data: Trace;
  /** Heartbeat of this worker. */
  by: string;
  journal: JobJournal;
  isolation: JobIsolation;
  /** Aborted when the worker must stop or has lost the job; `lost` in the second case only. */
  signal: AbortSignal;
  lost: AbortSignal;
  log: Log;
  /** What each log line says of the job. */
  facts: { kind: string; portal: string; runId?: string };
  /** Redis key of the log of an item; undefined for the log that the queue keeps of the job. */
  logOf: (key: string) => string | undefined;
  /** Persists the trace with the job's data. */
  save: (trace: Trace) => void;
  /** Runs the work of a step that sends writes, for which a stop waits. */
  writing: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called when such a step has succeeded. */
  worked: () => void;
}

/** The steps in progress in one attempt of a job. */
export class JobTrace {
  readonly #parts: TraceParts;
  readonly #logs = new Map<string, Log>();
  #data: Trace;

  constructor(parts: TraceParts) {
    this.#parts = parts;
    this.#data = parts.data;
  }

  get data(): Trace {
    return this.#data;
  }

  /** The steps of the job itself. */
  get own(): StepLog {
    return this.#stepLog('');
  }

  /** The steps of one item. */
  item(key: string): ItemLog {
    let last: string | null = null;
    const resumed = this.#data.interrupted.includes(key);
    const { step, note } = this.#stepLog(key);
    return {
      resumed,
      log: this.#log(key),
      get lastStep() {
        return last;
      },
      step: (label, work, format) => {
        last = label.name;
        return step(label, work, format);
      },
      note,
      end: () => this.#end(key),
    };
  }

  /** Adds a line to the log of an item, or with '' of the job. */
  line(key: string, text: string): void {
    this.#parts.journal.line(text, this.#parts.logOf(key));
  }

  /** Replaces what is known of interrupted work, durably. */
  save(data: Trace): void {
    this.#data = { ...data, by: this.#parts.by, at: Date.now() };
    this.#parts.save(this.#data);
  }

  /** Persists that the job itself is in a step that is not logged. */
  silently(step: string | null): void {
    if (step === null) this.#end('');
    else this.#enter('', step);
  }

  #enter(key: string, step: string): void {
    const interrupted = this.#data.interrupted.filter((each) => each !== key);
    this.save({ ...this.#data, interrupted, steps: { ...this.#data.steps, [key]: step } });
  }

  #end(key: string): void {
    const { [key]: _last, ...others } = this.#data.steps;
    this.save({ ...this.#data, steps: others });
  }

  #log(key: string): Log {
    const known = this.#logs.get(key);
    if (known) return known;
    const log = this.#parts.log.child({ ...this.#parts.facts, ...(key === '' ? {} : { key }) });
    this.#logs.set(key, log);
    return log;
  }

  #stepLog(key: string): StepLog {
    return {
      note: async (line) => {
        this.#log(key).info({ action: 'note' }, line);
        this.line(key, line);
      },
      step: async (label, work, format) => {
        const { signal, isolation, journal } = this.#parts;
        if (signal.aborted) throw new GiveBack();
        await journal.lease.check(); // under load a lost lock may be noticed late
        const leave = await isolation.enter({ job: journal.job.id ?? '', item: key }, signal);
        try {
          const { portal, runId = '', kind } = this.#parts.facts;
          const about = { 'sluice.portal': portal, 'sluice.run': runId ?? '', 'sluice.job': kind, 'sluice.key': key };
          return await inSpan(`step ${label.name}`, about, () => this.#inStep(key, label, work, format));
        } finally {
          leave();
        }
      },
    };
  }

  async #inStep<T>(
    key: string,
    label: StepLabel,
    work: (signal: AbortSignal) => Promise<T>,
    format?: (result: T) => string,
  ): Promise<T> {
    const { signal, lost, journal, writing, worked } = this.#parts;
    const { name, on, writes = false, light = false } = label;
    const begun = performance.now();
    const ms = (): number => Math.round(performance.now() - begun);
    const before = this.#data.steps[key] ?? null;
    this.#enter(key, name);
    // The note before a write takes the step's name along; other work on this host may crash the worker.
    if (!writes && !light) journal.hurry();
    try {
      // A step that writes is never cut off by a stop, only when the job is no longer ours.
      const result = await (writes ? writing(() => work(lost)) : work(signal));
      if (writes) worked();
      const outcome = format?.(result) ?? 'ok';
      this.#log(key).info({ action: name, on, ms: ms(), outcome }, 'step done');
      this.line(key, `${name} ${on}: ${outcome} (${ms()} ms)`);
      return result;
    } catch (error) {
      if (error instanceof GiveBack || (signal.aborted && !writes)) throw new GiveBack();
      if (isEngineSignal(error)) throw error;
      const reason = reasonOf(error);
      this.#log(key).info({ action: name, on, ms: ms(), reason }, 'step failed');
      this.line(key, `${name} ${on}: failed, ${reason.code}: ${reason.message} (${ms()} ms)`);
      throw error;
    } finally {
      // Between two steps the last one stands, so that kills there do not add up to kills in one place.
      if (before !== null) this.#enter(key, before);
    }
  }
}

/** The engine's own errors that move a job are control flow, not failures. */
export const isEngineSignal = (error: unknown): boolean =>
  error instanceof Error && ['WaitingError', 'DelayedError'].includes(error.name);

/** How long a job waits for steps of others that are in progress, and how long it has the worker to itself, milliseconds. */
const [patienceMs, longestMs] = [2000, 10_000];

/** Knows which jobs of a worker are in a step, and whether one of them is alone. */
export class JobIsolation {
  readonly #inSteps = new Set<string>();
  readonly #events = new EventEmitter().setMaxListeners(0);
  #alone: string | null = null;

  /** Resolves when the job may begin a step; the returned function ends it. Rejects when the signal aborts. */
  async enter({ job, item = '' }: { job: string; item?: string }, signal: AbortSignal): Promise<() => void> {
    const id = `${job} ${item}`;
    if (this.#inSteps.has(id)) return () => undefined; // a step within a step
    while (this.#alone !== null && this.#alone !== job) await this.#change(signal);
    this.#inSteps.add(id);
    return () => {
      this.#inSteps.delete(id);
      this.#events.emit('change');
    };
  }

  /**
   * Resolves when no other job is in a step, and none will begin one until the returned function is called. Neither lasts
   * forever: it does not wait for a long step, and isolation ends by itself. Rejects when the signal aborts.
   */
  async begin(id: string, signal: AbortSignal): Promise<() => void> {
    while (this.#alone !== null) await this.#change(signal);
    this.#alone = id;
    const end = (): void => {
      clearTimeout(timer);
      if (this.#alone !== id) return;
      this.#alone = null;
      this.#events.emit('change');
    };
    const timer = setTimeout(end, patienceMs + longestMs);
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    try {
      while (this.#inSteps.size > 0) await this.#change(patience);
    } catch (error) {
      if (!signal.aborted) return end;
      end();
      throw error;
    }
    return end;
  }

  /** Resolves after a change; the caller checks the state in the same turn, before another one does. */
  async #change(signal: AbortSignal): Promise<void> {
    await once(this.#events, 'change', { signal });
  }
}

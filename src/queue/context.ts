// What a handler gets of its job: data, steps that are logged, children.
import { performance } from 'node:perf_hooks';
import type { Job } from 'bullmq';
import { reasonOf } from '../errors.ts';
import type { Fence } from '../fence.ts';
import type { ChildOutcome, JobContext, JobDataOf, JobKind, StepLabel } from '../job.ts';
import { jobId } from '../job.ts';
import type { JobLog } from '../log.ts';
import type { Bookkeeping } from './bookkeeping.ts';
import { runChildren } from './children.ts';
import type { Queues } from './queues.ts';
import type { Solitude } from './solitude.ts';

/** Thrown inside a handler to give the job back unharmed; the worker moves it to wait without spending an attempt. */
export class GiveBack extends Error {}

/** What the context of a job is made of. */
export interface ContextParts<K extends JobKind> {
  job: Job;
  token: string;
  data: JobDataOf[K];
  signal: AbortSignal;
  fence: Fence;
  /** Aborted when the job is another worker's now. */
  lost: AbortSignal;
  log: JobLog;
  queues: Queues;
  books: Bookkeeping;
  solitude: Solitude;
  /** Told when a write came through. */
  worked: () => void;
}

type StepWork<T> = (signal: AbortSignal) => Promise<T>;

/** Makes the context of a job. */
export const createContext = <K extends JobKind>(parts: ContextParts<K>): JobContext<K> => {
  const { job, token, signal, fence, lost, queues, books, solitude } = parts;
  let data = parts.data;
  const id = job.id ?? '';
  const log = parts.log;
  const resumed = job.stalledCounter > ('stalls' in data ? data.stalls : 0);

  const save = async (changes: Partial<JobDataOf[K]>): Promise<void> => {
    data = { ...data, ...changes };
    books.save(data);
  };
  const inStep = async <T>(label: StepLabel, work: StepWork<T>, tell?: (result: T) => string): Promise<T> => {
    const begun = performance.now();
    const ms = (): number => Math.round(performance.now() - begun);
    if ('step' in data) await save({ step: label.name } as unknown as Partial<JobDataOf[K]>); // an item's data, just checked
    if (isToldAtOnce(label)) books.hurry();
    try {
      // A step that writes is never cut off by a stop, only when the job is not ours any more.
      const result = await work(label.writes ? lost : signal);
      if (label.writes) parts.worked();
      const outcome = tell?.(result) ?? 'ok';
      log.info({ action: label.name, on: label.on, ms: ms(), outcome }, 'step done');
      books.line(`${label.name} ${label.on}: ${outcome} (${ms()} ms)`);
      return result;
    } catch (error) {
      if (signal.aborted && !label.writes) throw new GiveBack();
      if (isEngineSignal(error)) throw error;
      const reason = reasonOf(error);
      log.info({ action: label.name, on: label.on, ms: ms(), reason }, 'step failed');
      books.line(`${label.name} ${label.on}: failed, ${reason.code}: ${reason.message} (${ms()} ms)`);
      throw error;
    }
  };
  const step = async <T>(label: StepLabel, work: StepWork<T>, tell?: (result: T) => string): Promise<T> => {
    if (signal.aborted) throw new GiveBack();
    const leave = await solitude.enter(id, signal);
    try {
      return await inStep(label, work, tell);
    } finally {
      leave();
    }
  };

  return {
    id,
    get data() {
      return data;
    },
    due: job.opts.prevMillis ?? job.timestamp + (job.opts.delay ?? 0),
    attempt: job.attemptsMade + 1,
    isLast: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    resumed,
    signal,
    fence,
    log,
    save,
    step,
    note: async (line) => {
      log.info({ action: 'note' }, line);
      books.line(line);
    },
    children: async <C extends 'dataset' | 'resource'>(
      kind: C,
      list: JobDataOf[C][],
    ): Promise<Map<string, ChildOutcome>> => {
      const settled = books.settled();
      settled.catch(() => undefined); // told when the job is about to leave this worker
      const children = list.map((child) => ({ id: jobId(child.runId, kind, child.key), name: kind, data: child }));
      return runChildren({ parent: job, token, queues, settled }, children);
    },
  };
};

/** Work on this host may cost the worker its life; the note before a write takes the step's name along. */
const isToldAtOnce = ({ writes = false, light = false }: StepLabel): boolean => !writes && !light;

/** The engine's own errors that move a job are control flow, not failures. */
const isEngineSignal = (error: unknown): boolean =>
  error instanceof Error && ['WaitingChildrenError', 'WaitingError', 'DelayedError'].includes(error.name);

// The kinds of job: one schema each, the rule that makes their ids, and what a handler gets from the queue.
import { z } from 'zod';
import type { SluiceError } from './errors.ts';
import { kindOfKey, uuidOfKey } from './key.ts';
import type { JobWriter } from './lease.ts';
import type { Log } from './log.ts';
import { movedSchema, type TellMoved } from './moved.ts';
import { driftPolicies, heldDecisions, removalModes } from './policy.ts';
import { exportSchema, type Reason } from './report.ts';
import { scheduleSchema } from './schedule-times.ts';

const requestData = {
  manifestPath: z.string(),
  manifest: z.string(),
  portal: z.string(),
  why: z.enum(['command', 'schedule', 'drop', 'retry']),
  /** Keys the run is limited to; null for all. */
  only: z.array(z.string()).nullable().default(null),
  /** Id of a stored plan that the run must do exactly; null for none. */
  plan: z.string().nullable().default(null),
  /** Run that a guard held and an operator released; null for none. */
  release: z.string().nullable().default(null),
  /** One item to be taken down, and nothing else done; null for a run that publishes. */
  remove: z
    .object({ key: z.string(), how: z.enum(removalModes) })
    .nullable()
    .default(null),
  decision: z.object({ keys: z.array(z.string()), how: z.enum(heldDecisions) }).exactOptional(),
  /** A run that exports the portal into a folder instead of publishing; it writes its own manifest. */
  export: exportSchema.exactOptional(),
  /** Takes precedence over the manifest's `onDrift`; null to follow the manifest. */
  onDrift: z.enum(driftPolicies).nullable().default(null),
  /** True: the ledger is first compared with the portal's own listing. */
  refresh: z.boolean().default(false),
  /** True: what cannot be found on the portal is created, although it may be there. */
  createMissing: z.boolean().default(false),
};

export const runRequestSchema = z.object(requestData);

/** What a worker was doing for a job, for the poison rule and for people. */
export const traceSchema = z.object({
  /** Steps in progress: by item key, or by '' for the job itself. */
  steps: z.record(z.string(), z.string()),
  /** When they began, Unix milliseconds, and how far those are that move large files; none between two steps. */
  going: z.record(z.string(), z.object({ since: z.number(), moved: movedSchema.nullable() })).default({}),
  /** Keys of items that a worker was killed in or lost, until they are started again. */
  interrupted: z.array(z.string()).default([]),
  /** How often a worker was killed in a step, by `<item key> <step>`. */
  kills: z.record(z.string(), z.number().int()),
  /** How often a worker that stayed alive lost the job in a step, likewise. */
  losses: z.record(z.string(), z.number().int()).default({}),
  /** Heartbeat of the worker that wrote this, and when, Unix milliseconds. */
  by: z.string().exactOptional(),
  at: z.number().exactOptional(),
  /** The engine's stall counter when they were last counted. */
  stalls: z.number().int(),
});

export type Trace = z.infer<typeof traceSchema>;

export const noTrace: Trace = { steps: {}, going: {}, interrupted: [], kills: {}, losses: {}, stalls: 0 };

const runData = { runId: z.string(), ...requestData };

const itemData = {
  runId: z.string(),
  manifest: z.string(),
  portal: z.string(),
  /** Key of the item that names the job: the dataset, or the first of the resources to prove. */
  key: z.string(),
};

const dataOf = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.object({ kind: z.literal(kind), ...shape, trace: traceSchema.exactOptional() });

export const jobSchemas = {
  /** A schedule or an event requests a run. */
  trigger: dataOf('trigger', {
    ...requestData,
    /** The rules under which the run begins; null: at once. */
    schedule: scheduleSchema.nullable().default(null),
    /** True for a trigger that waited for its window or its jitter. */
    waited: z.boolean().default(false),
  }),
  run: dataOf('run', runData),
  dataset: dataOf('dataset', itemData),
  export: dataOf('export', { ...itemData, export: exportSchema }),
  /** Proves that the tables of a group of resources are whole, after everything was sent. */
  prove: dataOf('prove', { ...itemData, group: z.number().int() }),
  /** Closes a run: its report, its dropped files, notices, the gate. */
  close: dataOf('close', runData),
} as const;

export type JobKind = keyof typeof jobSchemas;
export type JobDataOf = { [Kind in JobKind]: z.infer<(typeof jobSchemas)[Kind]> };
export type TriggerData = JobDataOf['trigger'];
export type RunData = JobDataOf['run'];
export type ItemData = JobDataOf['dataset' | 'export' | 'prove'];

/** What to do after a run that published or exported was cancelled. */
export const cancelledHint = ({ export: order }: { export?: object | undefined }): string =>
  `${order ? 'export' : 'publish'} again to continue where the run stopped; completed work is kept`;

export type RunRequest = z.infer<typeof runRequestSchema>;

/** A request of a run; what it leaves out is not asked for. */
export const runRequest = (of: z.input<typeof runRequestSchema>): RunRequest => runRequestSchema.parse(of);

/** Id of the work of a run on an item, and of its log: `<runId>.<kind>.<uuid of the key>` (the engine refuses `:` and pure integers). */
export const itemId = (runId: string, key: string): string => `${runId}.${kindOfKey(key)}.${uuidOfKey(key)}`;

/** Id of a job on items of a run; it follows from the run and what the job ends. */
export const jobIdOf = (data: ItemData): string =>
  data.kind === 'prove' ? `${data.runId}.prove.${data.group}` : itemId(data.runId, data.key);

export const closeId = (runId: string): string => `${runId}.close`;

export interface StepLabel {
  name: string;
  on: string;
  /** True for a step that sends writes: a stop request lets it finish. */
  writes?: boolean;
  /** True for a step that cannot crash the worker (it waits, or handles some kilobytes): its start is not persisted. */
  light?: boolean;
}

export type StepWork<T> = (signal: AbortSignal, moved: TellMoved) => Promise<T>;

/** Steps and notes of one thing that a job works on, with a log of its own. */
export interface StepLog {
  /** Runs one step and logs one line for it, with `format` of the result; shows how far `work` tells that it is. */
  step<T>(label: StepLabel, work: StepWork<T>, format?: (result: T) => string): Promise<T>;
  note(line: string): Promise<void>;
}

export interface ItemLog extends StepLog {
  /** Name of the step in progress, or of the last one. */
  readonly lastStep: string | null;
  /** True when a worker was killed or lost the job in a step of this item, so that a write may be in progress. */
  readonly resumed: boolean;
  /** The item has ended: a later kill of the worker does not count against it. */
  end(): void;
}

/** What the queue gives a handler; a handler never sees the engine. */
export interface JobContext<K extends JobKind = JobKind> extends StepLog {
  readonly id: string;
  readonly data: JobDataOf[K];
  /** When the job was to begin, Unix milliseconds. */
  readonly due: number;
  /** Attempts started, this one included. */
  readonly attempt: number;
  /** True when a failure of this attempt is not tried again. */
  readonly isLast: boolean;
  /** Aborted when the worker must stop or has lost the job to another worker. */
  readonly signal: AbortSignal;
  /** Everything written in the name of this job goes through it; null outside a queue. */
  readonly writer: JobWriter | null;
  readonly log: Log;
  item(key: string): ItemLog;
  /** Why an item is given up: workers were killed in the same step of it, or lost it there, too often. Null otherwise. */
  poisonOf(key: string): SluiceError | null;
  /** Runs `work` while no job of any worker runs work of that name; the lock is lost only with this job's lease. */
  exclusive<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export interface Handler<K extends JobKind = JobKind> {
  run(job: JobContext<K>): Promise<unknown>;
  /** Called once when the job has failed for good; it ends what the job was for. */
  failed?(job: JobContext<K>, reason: Reason, error: unknown): Promise<void>;
}

/** Thrown inside a handler to give the job back unharmed; the worker moves it to wait without spending an attempt. */
export class GiveBack extends Error {}

/** Thrown by a handler whose job is to be retried for some of its items; the others have ended. */
export class UnfinishedItemsError extends Error {
  /** What prevents each item from ending, by key. */
  readonly items: ReadonlyMap<string, unknown>;

  /** `items` has at least one entry. */
  constructor(items: ReadonlyMap<string, unknown>) {
    super(`${items.size} items are not done yet`);
    this.items = items;
  }

  /** Determines when the job is retried. */
  get first(): unknown {
    return this.items.values().next().value;
  }
}

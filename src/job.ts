// The kinds of job: one schema each, the rule that makes their ids, and what a handler gets from the queue.

import { z } from 'zod';
import { uuidOfKey } from './dkan/identity.ts';
import type { Fence } from './fence.ts';
import type { JobLog } from './log.ts';
import { scheduleSchema } from './manifest/schedule-times.ts';
import { itemActions, type Reason } from './report.ts';

/** What a run is asked for. */
const requestData = {
  /** Absolute path of the manifest. */
  manifestPath: z.string(),
  manifest: z.string(),
  portal: z.string(),
  why: z.enum(['command', 'schedule', 'drop', 'retry']),
  /** Keys the run is limited to; null for all. */
  only: z.array(z.string()).nullable(),
  /** Id of a stored plan that the run must do exactly; null for none. */
  plan: z.string().nullable().default(null),
  /** Run that a guard held and an operator released; null for none. */
  release: z.string().nullable().default(null),
  /** One item to be taken down, and nothing else done; null for a run that publishes. */
  remove: z
    .object({ key: z.string(), how: z.enum(['orphan', 'unpublish', 'delete']) })
    .nullable()
    .default(null),
  /** Goes before the manifest's `onDrift`; null to obey the manifest. */
  onDrift: z.enum(['hold', 'overwrite', 'keep']).nullable().default(null),
  /** True: what we remember is compared with the portal's own listing first. */
  refresh: z.boolean().default(false),
};

/** What a run is asked for, without the job around it. */
export const runRequestSchema = z.object(requestData);

/** A schedule or an event asks for a run. */
export const triggerDataSchema = z.object({
  kind: z.literal('trigger'),
  ...requestData,
  /** The rules under which the run begins; null: at once. */
  schedule: scheduleSchema.nullable().default(null),
  /** True for a trigger that waited for its window or its jitter. */
  waited: z.boolean().default(false),
});

/** One execution of a manifest. */
export const runDataSchema = z.object({ kind: z.literal('run'), runId: z.string(), ...requestData });

const itemData = {
  runId: z.string(),
  manifest: z.string(),
  portal: z.string(),
  key: z.string(),
  /** What was done to the item so far, over all attempts. */
  actions: z.array(z.enum(itemActions)),
  /** Milliseconds of work so far, over all attempts. */
  workedMs: z.number().int(),
  /** The step reached, for the poison rule and for people who look. */
  step: z.string().nullable(),
  /** How often a worker was killed, by the step it was in. */
  kills: z.record(z.string(), z.number().int()),
  /** The engine's stall counter when `kills` was last counted. */
  stalls: z.number().int(),
};

/** Publish one dataset node, then its resources. */
export const datasetDataSchema = z.object({ kind: z.literal('dataset'), ...itemData });

/** Publish one resource: node, file, datastore. */
export const resourceDataSchema = z.object({
  kind: z.literal('resource'),
  ...itemData,
  datasetKey: z.string(),
  datasetNid: z.string(),
});

/** Data of a `trigger` job. */
export type TriggerData = z.infer<typeof triggerDataSchema>;
/** Data of a `run` job. */
export type RunData = z.infer<typeof runDataSchema>;
/** Data of a `dataset` job. */
export type DatasetData = z.infer<typeof datasetDataSchema>;
/** Data of a `resource` job. */
export type ResourceData = z.infer<typeof resourceDataSchema>;

/** A request that is pinned to nothing and obeys the manifest. */
export const plainRequest = { plan: null, release: null, remove: null, onDrift: null, refresh: false } as const;

/** See {@link runRequestSchema}. */
export type RunRequest = z.infer<typeof runRequestSchema>;

/** The schema of every job kind. */
export const jobSchemas = {
  trigger: triggerDataSchema,
  run: runDataSchema,
  dataset: datasetDataSchema,
  resource: resourceDataSchema,
} as const;

/** A kind of job. */
export type JobKind = keyof typeof jobSchemas;

/** Data by job kind. */
export type JobDataOf = {
  trigger: TriggerData;
  run: RunData;
  dataset: DatasetData;
  resource: ResourceData;
};

/** Deterministic id of a job: `<runId>.<kind>.<uuid of the key>` (the engine refuses `:` and pure integers). */
export const jobId = (runId: string, kind: JobKind, key: string): string => `${runId}.${kind}.${uuidOfKey(key)}`;

/** Fresh bookkeeping of an item's job. */
export const freshItem = { actions: [], workedMs: 0, step: null, kills: {}, stalls: 0 } satisfies Partial<DatasetData>;

/** How a child job ended. */
export type ChildOutcome =
  | { state: 'completed'; value: unknown }
  | { state: 'failed'; reason: Reason; attempts: number; data: unknown }
  | { state: 'lost' };

/** A step of a handler as it is logged. */
export interface StepLabel {
  name: string;
  /** On what: a file name, a nid, a title. */
  on: string;
  /** True for a step that sends writes: a stop request lets it finish. */
  writes?: boolean;
  /**
   * True for a step that cannot cost a worker its life, so that nothing need be told of it before it begins: it asks and
   * waits, or handles a few kilobytes.
   */
  light?: boolean;
}

/** What the queue gives a handler; a handler never sees the engine. */
export interface JobContext<K extends JobKind = JobKind> {
  readonly id: string;
  readonly data: JobDataOf[K];
  /** When the job was to begin, Unix milliseconds. */
  readonly due: number;
  /** Attempts begun, this one included. */
  readonly attempt: number;
  /** True when a failure of this attempt is not tried again. */
  readonly isLast: boolean;
  /** True when the worker that had the job before was killed, so that a write may be under way. */
  readonly resumed: boolean;
  /** Aborted when the worker must stop or has lost the job to another worker. */
  readonly signal: AbortSignal;
  /** Keeps what is written in the name of this job from happening once another worker has it; null outside a queue. */
  readonly fence: Fence | null;
  readonly log: JobLog;
  /** Changes the job's data, durably. */
  save(changes: Partial<JobDataOf[K]>): Promise<void>;
  /** Runs one step and logs one line for it: what, on what, milliseconds, outcome (`tell` of the result). */
  step<T>(label: StepLabel, work: (signal: AbortSignal) => Promise<T>, tell?: (result: T) => string): Promise<T>;
  /** Adds a line to the job log. */
  note(line: string): Promise<void>;
  /**
   * Adds child jobs (again, on every attempt) and gives their outcomes by key once all have ended; until then the job
   * leaves the worker and is begun anew later.
   */
  children<C extends 'dataset' | 'resource'>(kind: C, list: JobDataOf[C][]): Promise<Map<string, ChildOutcome>>;
}

/** A handler of one kind of job. */
export interface Handler<K extends JobKind = JobKind> {
  run(job: JobContext<K>): Promise<unknown>;
  /** Called once when the job has failed for good, before the engine is told. */
  failed?(job: JobContext<K>, reason: Reason): Promise<void>;
}

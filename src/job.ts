// The kinds of job: one schema each, and the rule that makes their ids.
import { z } from 'zod';
import { uuidOfKey } from './dkan/identity.ts';

/** A schedule or an event asks for a run. */
export const triggerDataSchema = z.object({
  kind: z.literal('trigger'),
  /** Absolute path of the manifest. */
  manifestPath: z.string(),
  manifest: z.string(),
  portal: z.string(),
  why: z.enum(['command', 'schedule', 'drop', 'retry']),
  /** Keys the run is limited to; null for all. */
  only: z.array(z.string()).nullable(),
});

/** One execution of a manifest; what it was asked for stands in the run's request record. */
export const runDataSchema = z.object({
  kind: z.literal('run'),
  runId: z.string(),
  manifest: z.string(),
  portal: z.string(),
});

const itemData = {
  runId: z.string(),
  manifest: z.string(),
  portal: z.string(),
  key: z.string(),
  /** The step reached, for the job's own resumption and for the poison rule. */
  step: z.string().nullable(),
  /** How often a worker was killed in that step. */
  kills: z.number().int(),
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

/** The schema of every job kind. */
export const jobSchemas = {
  trigger: triggerDataSchema,
  run: runDataSchema,
  dataset: datasetDataSchema,
  resource: resourceDataSchema,
} as const;

/** A kind of job. */
export type JobKind = keyof typeof jobSchemas;

/** Data of any job. */
export type JobData = TriggerData | RunData | DatasetData | ResourceData;

/** Deterministic id of a job: `<runId>.<kind>.<uuid of the key>` (the engine refuses `:` and pure integers). */
export const jobId = (runId: string, kind: JobKind, key: string): string => `${runId}.${kind}.${uuidOfKey(key)}`;

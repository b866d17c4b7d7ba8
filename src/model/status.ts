// What `sluice status --json` prints. Parsing with the schema leaves out all else that is known, and makes times ISO 8601.
import { z } from 'zod';
import { itemKinds } from './key.ts';
import { itemFates, stateWords } from './ledger-entry.ts';
import { removalModes } from './policy.ts';
import { reasonSchema, rejectedRowsSchema } from './report.ts';
import { rowChangesSchema } from './table-history.ts';

/** Unix milliseconds as ISO 8601, UTC. */
const time = z
  .number()
  .transform((ms) => new Date(ms).toISOString())
  .pipe(z.iso.datetime());

const states = Object.keys(stateWords) as (keyof typeof stateWords)[]; // its own keys

const itemSchema = z.object({
  key: z.string(),
  kind: z.enum(itemKinds),
  title: z.string(),
  portal: z.string(),
  state: z.enum(states),
  live: z.boolean(),
  stale: z.boolean().describe('True while the portal still serves an older version.'),
  nid: z.string().nullable(),
  uuid: z.string(),
  url: z.string().nullable(),
  identifier: z.string().nullable().describe('Name of the dataset at its source.'),
  source: z.string().nullable().describe('Path or address of its file.'),
  file: z.object({ name: z.string(), bytes: z.number().int(), sha256: z.string() }).nullable(),
  rows: z.number().int().nullable(),
  rejected: rejectedRowsSchema.nullable(),
  fixes: z.array(z.string()),
  changes: rowChangesSchema.nullable().describe('What changed in the last version of the table, live or held.'),
  warnings: z.array(z.string()),
  reason: reasonSchema.nullable(),
  removed: z.enum(removalModes).nullable(),
  asOf: time.nullable().describe('When this was verified; null where it never was.'),
  runId: z.string().nullable(),
});

export const pauseSchema = z.object({
  since: time,
  reason: reasonSchema,
  probe: z.object({ failed: z.number().int(), nextAt: time }).nullable(),
});

export const endedPauseSchema = z.object({ since: time, until: time, reason: reasonSchema });

const targetSchema = z.object({
  manifest: z.string(),
  portal: z.string(),
  live: z.number().int(),
  stale: z.number().int(),
  notLive: z.number().int(),
  drafts: z.number().int(),
  removed: z.number().int(),
  leftBehind: z.array(z.string()).describe('Keys that the manifest no longer names and that are still on the portal.'),
  running: z.string().nullable().describe('The run in progress.'),
  pause: pauseSchema.nullable(),
  lastPause: endedPauseSchema.nullable(),
  standstill: z.object({ until: time, why: z.string() }).nullable(),
  stuck: z.object({ at: time, why: z.string(), repairs: z.number().int() }).nullable(),
});

export const listedRunSchema = z.object({
  runId: z.string(),
  manifest: z.string().nullable(),
  portal: z.string().nullable(),
  state: z.enum(['queued', 'running', 'done']),
  unattended: z.boolean().describe('True while it is open and no process works on it.'),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  total: z.number().int().describe('Items with work.'),
  done: z.number().int(),
  unproven: z.number().int().describe('Of the done ones, tables that are sent and still to be verified.'),
  failed: z.number().int(),
  items: z.partialRecord(z.enum(itemFates), z.number().int()).nullable().describe('What became of all items.'),
  reason: reasonSchema.nullable(),
});

const inboxSchema = z.object({
  manifest: z.string(),
  folder: z.string(),
  settling: z.array(z.object({ path: z.string(), bytes: z.number().int(), since: time })),
  ignored: z.array(z.object({ path: z.string(), reason: z.string() })),
  inProgress: z.number().int(),
  cancelled: z.number().int(),
});

const waitingSchema = z.object({
  what: z.string().describe('The key or file.'),
  state: z.enum(['publishing', 'settling', 'unwatched', 'in progress', 'ignored', 'unpublished']),
  manifest: z.string(),
  portal: z.string().nullable(),
  runId: z.string().nullable(),
  since: time.nullable(),
  why: z.string(),
});

/** Of a key or file there are `items` and `waiting` only. */
export const statusSchema = z.object({
  items: z.array(itemSchema),
  waiting: z.array(waitingSchema).describe('What was asked for and is not published yet.'),
  fault: reasonSchema.nullable().exactOptional().describe('Why the state takes no more data; null while it does.'),
  targets: z.array(targetSchema).exactOptional(),
  held: z
    .array(z.object({ runId: z.string(), manifest: z.string(), portal: z.string(), why: z.string(), since: time }))
    .exactOptional(),
  overdue: z
    .array(
      z.object({
        kind: z.string(),
        manifest: z.string().nullable(),
        portal: z.string().nullable(),
        key: z.string().nullable(),
        expectedBy: z.string(),
        why: z.string(),
        hint: z.string(),
      }),
    )
    .exactOptional(),
  runs: z.array(listedRunSchema).exactOptional(),
  inboxes: z.array(inboxSchema).exactOptional(),
});

// The report of a run: what happened to every dataset and resource, as `--json` prints it, and failures by cause.
import { z } from 'zod';
import { lineOfFile } from '../util/file-line.ts';
import { itemKinds, kindOfKey } from './key.ts';
import { exportedFiles } from './policy.ts';
import { rowChangesSchema } from './table-history.ts';

export const itemActions = [
  'created',
  'adopted',
  'updated',
  'recreated',
  'attached',
  'imported',
  'restored',
  'orphaned',
  'unpublished',
  'deleted',
  'exported',
  'marked as removed',
] as const;

export type ItemAction = (typeof itemActions)[number];

const itemOutcomes = ['done', 'unchanged', 'failed', 'quarantined', 'held', 'cancelled'] as const;

export type ItemOutcome = (typeof itemOutcomes)[number];

/** Why an item is not live; lines and columns count from 1. */
export const reasonSchema = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  /** Where the dropped file is now: set aside, to be fixed and dropped again. */
  file: z.string().optional(),
  /** The file on this machine that has that line, where it was not dropped. What is in the line is stored nowhere. */
  path: z.string().optional(),
});

/** See {@link reasonSchema}; `code` is an error code of `errors.ts`, or `bug`. */
export type Reason = z.infer<typeof reasonSchema>;

/** The line at fault, read where the file is; null where it cannot be. */
export const faultyLine = ({ line, file, path = file }: Pick<Reason, 'line' | 'file' | 'path'>): string | null =>
  line === undefined || path === undefined ? null : lineOfFile(path, line);

/** What to do about a dropped file that was set aside, whose name there would make it a new resource; null for others. */
export const dropAgain = ({ file }: Pick<Reason, 'file'>): string | null => {
  if (file === undefined) return null;
  // Its path ends in `<dataset>/<resource>-<UTC time>.csv`.
  const [, dataset, resource, ending] = /([^/]+)\/([^/]+)-\d{8}T\d{6}\.\d{3}Z((?:\.[^/]*)?)$/.exec(file) ?? [];
  const name = dataset === resource ? `${resource}${ending}` : `${dataset}/${resource}${ending}`;
  return `the file is in ${file}: fix it, and drop it again${resource === undefined ? '' : ` as ${name}`}`;
};

/** Code and message; the message alone where it begins with the code: `held by its guard: …`. */
export const reasonText = ({ code, message }: Pick<Reason, 'code' | 'message'>): string =>
  message.startsWith(`${code} `) ? message : `${code}: ${message}`;

/** A message about a portal, for a text that has named it. */
export const saidOf = (portal: string, message: string): string => {
  const head = [`portal ${portal}: `, `portal ${portal} `].find((each) => message.startsWith(each)) ?? '';
  return message.slice(head.length);
};

/** Rows that were left out of a table as bad; `path` of the file they are in, null where they are in none. */
export const rejectedRowsSchema = z.object({ rows: z.number().int(), path: z.string().nullable() });

export const reportItemSchema = z.object({
  key: z.string(),
  kind: z.enum(itemKinds),
  nid: z.string().nullable().default(null),
  uuid: z.string(),
  url: z.string().nullable().default(null),
  actions: z.array(z.enum(itemActions)).default([]),
  outcome: z.enum(itemOutcomes),
  live: z.boolean().default(false),
  stale: z.boolean().default(false),
  /** Data rows in the datastore, null where nothing is imported. */
  rows: z.number().int().nullable().default(null),
  file: z.object({ name: z.string(), bytes: z.number().int(), sha256: z.string() }).nullable().default(null),
  rejected: rejectedRowsSchema.nullable().default(null),
  /** Fixes made in the file before it was sent, one line each. */
  fixes: z.array(z.string()).default([]),
  /** Differences between what is live and what was wanted, one sentence each: fields not held, rows dropped. */
  warnings: z.array(z.string()).default([]),
  reason: reasonSchema.nullable().default(null),
  /** Of a new version of a table, held or not: what changed, with examples of rows. */
  changes: rowChangesSchema.exactOptional(),
  /** Of a table that its guard held in this run: the last versions that went live, newest first. */
  versions: z
    .array(z.object({ at: z.string(), rows: z.number().int(), bytes: z.number().int(), columns: z.number().int() }))
    .exactOptional(),
  jobId: z.string().nullable().default(null),
  attempts: z.number().int().default(0),
  ms: z.number().int().default(0),
});

export type ReportItem = z.infer<typeof reportItemSchema>;

/** An item of a report; what is not known of it is null or empty. */
export const reportItem = (known: Omit<z.input<typeof reportItemSchema>, 'kind'>): ReportItem =>
  reportItemSchema.parse({ kind: kindOfKey(known.key), ...known });

export const exportSchema = z.object({
  folder: z.string(),
  files: z.enum(exportedFiles),
  /** Uuids, node ids and titles of datasets, where not all are exported; a title may hold `*`. */
  only: z.array(z.string()).nullable(),
  /** True: without a login, what the public may read. */
  isPublic: z.boolean(),
});

export type ExportOrder = z.infer<typeof exportSchema>;

export const reportSchema = z.object({
  runId: z.string(),
  manifest: z.string(),
  portal: z.string(),
  /** ISO 8601, UTC. */
  startedAt: z.string(),
  endedAt: z.string(),
  counts: z.object({
    dataset: z.record(z.string(), z.number().int()),
    resource: z.record(z.string(), z.number().int()),
    actions: z.record(z.string(), z.number().int()),
  }),
  /** Set when the run as a whole failed before or beside its items. */
  reason: reasonSchema.nullable(),
  /** What is not published as the source has it, such as keys of a catalogue that portals have no field for. */
  remarks: z.array(z.string()).exactOptional(),
  export: exportSchema.exactOptional(),
  items: z.array(reportItemSchema),
});

export type Report = z.infer<typeof reportSchema>;

/** Items of a report, by key; a list of them, or one that parses each as it is read. */
export interface ReportItems extends Iterable<ReportItem> {
  readonly length: number;
  values(): IteratorObject<ReportItem>;
}

/** A report whose items need not be in memory. */
export type StoredReport = Omit<Report, 'items'> & { items: ReportItems };

/** True for a run of which everything is live or was live before. */
export const isSuccess = ({ reason, counts }: Pick<StoredReport, 'reason' | 'counts'>): boolean =>
  reason === null &&
  [counts.dataset, counts.resource].every((table) =>
    Object.keys(table).every((outcome) => !table[outcome] || outcome === 'done' || outcome === 'unchanged'),
  );

export type CountedItem = Pick<ReportItem, 'kind' | 'outcome' | 'actions'>;

/** Counts an item, or takes it from the counts (`by` -1): its outcome, and its actions. */
export const countItem = (counts: Report['counts'], { kind, outcome, actions }: CountedItem, by: 1 | -1 = 1): void => {
  const add = (table: Record<string, number>, name: string): void => {
    table[name] = (table[name] ?? 0) + by;
  };
  add(counts[kind], outcome);
  for (const action of actions) add(counts.actions, action);
};

export const causesSchema = z.array(
  z.object({
    /** The reason of the first item; the others share its code. */
    reason: reasonSchema,
    count: z.number().int(),
    items: z.array(z.object({ key: z.string(), message: z.string() })),
  }),
);

export type Cause = z.infer<typeof causesSchema>[number];

/** Groups items with a reason by its code, the largest group first, each with its first `shown` items. */
export const causesOf = (items: Iterable<{ key: string; reason: Reason | null }>, shown = 10): Cause[] => {
  const causes = new Map<string, Cause>();
  for (const { key, reason } of items) {
    if (reason === null) continue;
    const cause = causes.get(reason.code) ?? { reason, count: 0, items: [] };
    causes.set(reason.code, cause);
    cause.count += 1;
    if (cause.items.length < shown) cause.items.push({ key, message: reason.message });
  }
  return [...causes.values()].sort((a, b) => b.count - a.count);
};

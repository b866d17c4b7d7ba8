// Summaries of closed runs, so that lists need not read reports.
import { z } from 'zod';
import { type ReportItem, reasonSchema, type StoredReport } from '../model/report.ts';

/** What became of the items of a run. */
export const itemFates = [
  'added',
  'updated',
  'removed',
  'unchanged',
  'failed',
  'quarantined',
  'held',
  'cancelled',
] as const;

/** See {@link itemFates}. */
export type ItemFate = (typeof itemFates)[number];

/** See {@link summaryOf}. */
export const runSummarySchema = z.object({
  /** ISO 8601, UTC. */
  startedAt: z.string(),
  endedAt: z.string(),
  /** Items by what became of them; those with none are left out. */
  fates: z.partialRecord(z.enum(itemFates), z.number().int()),
  /** Why the run as a whole failed or was held. */
  reason: reasonSchema.nullable(),
});

/** See {@link summaryOf}. */
export type RunSummary = z.infer<typeof runSummarySchema>;

const removals: ReadonlySet<string> = new Set(['orphaned', 'unpublished', 'deleted']);
const additions: ReadonlySet<string> = new Set(['created', 'adopted']);

/** What became of an item. */
export const fateOf = ({ outcome, actions }: Pick<ReportItem, 'outcome' | 'actions'>): ItemFate => {
  if (outcome !== 'done') return outcome;
  if (actions.some((action) => removals.has(action))) return 'removed';
  if (actions.some((action) => additions.has(action))) return 'added';
  return actions.length > 0 ? 'updated' : 'unchanged';
};

/** The summary of a report. */
export const summaryOf = ({ startedAt, endedAt, items, reason }: StoredReport): RunSummary => {
  const fates: RunSummary['fates'] = {};
  for (const item of items) {
    const fate = fateOf(item);
    fates[fate] = (fates[fate] ?? 0) + 1;
  }
  return { startedAt, endedAt, fates, reason };
};

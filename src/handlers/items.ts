// Report items made from ledger entries.
import type { JobContext } from '../job.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import type { ItemOutcome, Reason, ReportItem } from '../report.ts';

/** How an item ended, beside what its ledger entry tells. */
export interface ItemEnd {
  outcome: ItemOutcome;
  reason: Reason | null;
}

/** The report item of a job that has ended. */
export const itemOfJob = (
  job: JobContext<'dataset'> | JobContext<'resource'>,
  entry: LedgerEntry,
  end: ItemEnd,
): ReportItem => ({
  ...itemOfEntry(entry, end),
  actions: job.data.actions,
  jobId: job.id,
  attempts: job.attempt,
  ms: job.data.workedMs,
});

/** The report item of a key for which no job ran. */
export const itemOfEntry = (entry: LedgerEntry, { outcome, reason }: ItemEnd): ReportItem => ({
  key: entry.key,
  kind: entry.kind,
  nid: entry.nid,
  uuid: entry.uuid,
  url: entry.url,
  actions: [],
  outcome,
  live: entry.live,
  stale: entry.stale,
  rows: entry.rows,
  file: entry.file ? { name: entry.file.name, bytes: entry.file.bytes, sha256: entry.file.sha256 } : null,
  rejected: entry.rejected,
  reason,
  jobId: null,
  attempts: 0,
  ms: 0,
});

/** How a failure is told: faults of the file itself are quarantined, everything else failed. */
export const outcomeOf = (reason: Reason): ItemOutcome => {
  if (reason.code === 'drift' || reason.code === 'plan-moved' || reason.code === 'held') return 'held';
  return reason.code.startsWith('table-') || reason.code === 'source-refused' || reason.code === 'entry-fault'
    ? 'quarantined'
    : 'failed';
};

/** The entry of an item that failed for good: what the portal still serves is older than the wish. */
export const failedEntry = (entry: LedgerEntry, reason: Reason, runId: string): LedgerEntry => ({
  ...entry,
  live: false,
  stale: entry.nid !== null && (entry.kind === 'dataset' || entry.file !== null),
  reason,
  runId,
  syncedAt: Date.now(),
});

// The work of a run on one item: a dataset or a resource, with its log, its actions and how it ended.
import { performance } from 'node:perf_hooks';
import { JobLostError } from '../../model/errors.ts';
import { type ItemLog, itemId, type JobContext } from '../../model/job.ts';
import { kindOfKey } from '../../model/key.ts';
import { type Intent, type LedgerEntry, newEntry, warningsOf } from '../../model/ledger-entry.ts';
import type { ItemAction, ItemOutcome, Reason, ReportItem } from '../../model/report.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { ItemRecord, Runs, Unproven } from '../../state/runs.ts';

/** How an item ended, beside what its ledger entry says. */
interface ItemEnd {
  outcome: ItemOutcome;
  reason: Reason | null;
  /** Of a table that was held in this run. */
  versions?: ReportItem['versions'];
}

/** Where an item belongs, and the attempt that works on it. */
type ItemJob = Pick<JobContext<'dataset' | 'prove'>, 'data' | 'attempt' | 'isLast' | 'signal' | 'exclusive'>;

/** The work on one item in one attempt; what it did is kept over attempts, kills and workers. */
export class Item {
  /** Id of its log. */
  readonly id: string;
  readonly key: string;
  readonly runId: string;
  readonly portal: string;
  readonly attempt: number;
  /** True when a failure of this attempt is not tried again. */
  readonly isLast: boolean;
  readonly signal: AbortSignal;
  /** See {@link JobContext.exclusive}. */
  readonly exclusive: JobContext['exclusive'];
  readonly #runs: Runs;
  readonly #log: ItemLog;
  readonly #begun = performance.now();
  #record: ItemRecord;

  constructor(job: ItemJob, key: string, parts: { runs: Runs; log: ItemLog; record: ItemRecord }) {
    this.id = itemId(job.data.runId, key);
    this.key = key;
    this.runId = job.data.runId;
    this.portal = job.data.portal;
    this.attempt = job.attempt;
    this.isLast = job.isLast;
    this.signal = job.signal;
    this.exclusive = job.exclusive;
    this.#runs = parts.runs;
    this.#log = parts.log;
    this.#record = parts.record;
  }

  /** What the run has done to the item, over all attempts. */
  get actions(): readonly ItemAction[] {
    return this.#record.actions;
  }

  /** True when a worker was killed in a step of this item, so that a write may be in progress. */
  get resumed(): boolean {
    return this.#log.resumed;
  }

  /** Name of the step in progress, or of the last one of this attempt. */
  get lastStep(): string | null {
    return this.#log.lastStep;
  }

  /** How the item has ended; null while it has not. */
  get ended(): ReportItem | null {
    return this.#record.ended;
  }

  get step(): ItemLog['step'] {
    return this.#log.step;
  }

  get note(): ItemLog['note'] {
    return this.#log.note;
  }

  /** The table of a resource that was ordered to be imported, until it is proven. */
  get unproven(): Unproven | null {
    return this.#record.unproven;
  }

  /** Leaves the item open until its table is proven. */
  async awaitProof(unproven: Unproven): Promise<void> {
    this.#record = { ...this.#record, unproven, attempts: this.attempt, ms: this.#ms };
    await this.#keep(this.#record);
    this.#log.end();
  }

  /** Remembers an action, once. */
  async did(action: ItemAction): Promise<void> {
    if (this.#record.actions.includes(action)) return;
    this.#record = { ...this.#record, actions: [...this.#record.actions, action] };
    await this.#keep(this.#record);
  }

  /** Adds the time of this attempt; for an attempt that does not end the item. */
  async pause(): Promise<void> {
    await this.#keep({ ...this.#record, ms: this.#ms });
  }

  /** Records how the item ended. */
  async end(entry: LedgerEntry, end: ItemEnd): Promise<void> {
    const { actions, attempts } = this.#record;
    const ms = this.#ms;
    const ended = {
      ...itemOfEntry(entry, end),
      actions,
      jobId: this.id,
      attempts: Math.max(this.attempt, attempts),
      ms,
    };
    this.#record = { actions, unproven: null, attempts, ms, ended };
    await this.#keep(this.#record);
    this.#log.end();
  }

  get #ms(): number {
    return this.#record.ms + Math.round(performance.now() - this.#begun);
  }

  async #keep(record: ItemRecord): Promise<void> {
    await this.#runs.keep(this.runId, this.key, record);
  }
}

/** After a kill, adds a line to the job's log that says what the ledger knows and whether a write was in progress. */
export const noteFound = async (item: Item, entry: LedgerEntry | null, intent: Intent | null): Promise<void> => {
  if (!item.resumed) return;
  const known = entry?.nid ? `node ${entry.nid}${entry.file ? ` with file ${entry.file.fid}` : ''}` : 'no node yet';
  const next = intent ? `${writeOf[intent.action]} under way: looking whether it took effect` : 'no write under way';
  await item.note(`found ${known}, ${next}`);
};

const writeOf: Record<Intent['action'], string> = {
  create: 'a create',
  update: 'an update',
  attach: 'an attach',
  import: 'an import',
};

/** The error of a job whose run does not name its item any more. */
export const workLost = (runId: string, key: string): JobLostError =>
  new JobLostError(`run ${runId} no longer has work on ${key}`, { hint: 'publish again' });

/** The report item of a key as its ledger entry has it, without any work on it. */
export const itemOfEntry = (entry: LedgerEntry, { outcome, reason, versions }: ItemEnd): ReportItem => ({
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
  mended: entry.mended,
  warnings: warningsOf(entry),
  reason,
  ...(versions === undefined ? {} : { versions }),
  jobId: null,
  attempts: 0,
  ms: 0,
});

/** How a failure is reported: faults of the file itself are quarantined, everything else failed. */
export const outcomeOf = (reason: Reason): ItemOutcome => {
  if (reason.code === 'cancelled') return 'cancelled';
  if (reason.code === 'drift' || reason.code === 'plan-moved' || reason.code === 'held') return 'held';
  return reason.code.startsWith('table-') || reason.code === 'source-refused' || reason.code === 'entry-fault'
    ? 'quarantined'
    : 'failed';
};

/** What the ledger knows of an item of a run; a new entry where that is nothing. */
export const knownEntry = async (
  { ledger, runs }: { ledger: Ledger; runs: Runs },
  { runId, portal }: { runId: string; portal: string },
  key: string,
): Promise<LedgerEntry> => {
  const known = await ledger.entry(portal, key);
  if (known) return known;
  const kind = kindOfKey(key);
  const work = kind === 'dataset' ? await runs.datasetWork(runId, key) : await runs.resourceWork(runId, key);
  const { uuid = '', title = key } = work?.wish ?? {};
  return newEntry({ key, kind, uuid, title });
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

// The items of a job, each with its log, its actions and its end; and what a failure of one means for the job.
import { performance } from 'node:perf_hooks';
import {
  isOutage,
  isRetryable,
  JobLostError,
  machineFault,
  PortalLoginError,
  reasonOf,
  SluiceError,
} from '../../model/errors.ts';
import { GiveBack, type ItemLog, itemId, type JobContext, UnfinishedItemsError } from '../../model/job.ts';
import { kindOfKey, parentKey } from '../../model/key.ts';
import { endText, isPassing, type LedgerEntry, newEntry, outcomeOf, warningsOf } from '../../model/ledger-entry.ts';
import { type ItemAction, type Reason, type ReportItem, reportItem } from '../../model/report.ts';
import { sourcePathOf } from '../../model/wish.ts';
import { asideOf } from '../../sources/drop/spool.ts';
import { type Begun, notBegun, type Unproven } from '../../state/run-work.ts';
import type { ItemState, Runs } from '../../state/runs.ts';
import type { HandlerDeps } from './deps.ts';

/** How an item ended, in addition to its ledger entry. */
type ItemEnd = Pick<ReportItem, 'outcome' | 'reason' | 'versions'>;

type ItemJob = Pick<JobContext<'dataset' | 'prove'>, 'data' | 'attempt' | 'isLast' | 'signal' | 'exclusive'>;

/** The work on one item in one attempt; its actions are kept over attempts, kills and workers. */
export class Item {
  readonly id: string;
  readonly key: string;
  readonly runId: string;
  readonly portal: string;
  readonly job: ItemJob;
  readonly signal: AbortSignal;
  readonly log: ItemLog;
  readonly step: ItemLog['step'];
  readonly note: ItemLog['note'];
  /** True until some work on it has ended in this run. */
  readonly isNew: boolean;
  readonly #runs: Runs;
  readonly #since = performance.now();
  #begun: Begun;
  #ended: ReportItem | null;

  constructor(job: ItemJob, key: string, { runs, log, state }: { runs: Runs; log: ItemLog; state: ItemState }) {
    const { runId, portal } = job.data;
    this.id = itemId(runId, key);
    this.key = key;
    this.runId = runId;
    this.portal = portal;
    this.job = job;
    this.signal = job.signal;
    this.log = log;
    this.step = log.step;
    this.note = log.note;
    this.#runs = runs;
    const { begun, ended } = state;
    this.isNew = begun === notBegun && ended === null;
    this.#begun = ended ? { ...begun, actions: ended.actions, attempts: ended.attempts, ms: ended.ms } : begun;
    this.#ended = ended;
  }

  /** What the run has done to the item, over all attempts. */
  get actions(): readonly ItemAction[] {
    return this.#begun.actions;
  }

  /** True when its node was created in this run, so that nothing of an older file is there. */
  get isNewNode(): boolean {
    return hasNewNode(this.actions);
  }

  /** How the item has ended; null while it has not. */
  get ended(): ReportItem | null {
    return this.#ended;
  }

  /** The table whose import was ordered, until it is proven. */
  get unproven(): Unproven | null {
    return this.#begun.unproven;
  }

  /** Leaves the item to the job that proves its table. */
  async awaitProof(unproven: Unproven): Promise<void> {
    this.#begun = { ...this.#begun, unproven, attempts: this.job.attempt };
    await this.#runs.leaveToProof(this.runId, this.key, { ...this.#begun, ms: this.#ms });
    this.log.end();
  }

  /** Remembers an action, once. */
  async did(action: ItemAction): Promise<void> {
    if (this.actions.includes(action)) return;
    this.#begun = { ...this.#begun, actions: [...this.actions, action] };
    await this.#runs.note(this.runId, this.key, this.#begun);
  }

  /** Adds a warning to the report of this run only, once; it is written with what is recorded next. */
  tell(warning: string): void {
    this.#begun = { ...this.#begun, told: [...new Set([...(this.#begun.told ?? []), warning])] };
  }

  /** Adds the time of this attempt; for an attempt that does not end the item. */
  async pause(): Promise<void> {
    await this.#runs.note(this.runId, this.key, { ...this.#begun, ms: this.#ms });
  }

  /** Records how the item ended; by default as live, with or without work. */
  async end(entry: LedgerEntry, end: ItemEnd = endOf(this, null)): Promise<void> {
    const { actions, told = [], attempts } = this.#begun;
    const isOfRun = actions.includes('attached') || end.outcome === 'held';
    const item = { ...itemOfEntry(entry, end), ...(isOfRun && entry.changes ? { changes: entry.changes } : {}) };
    this.#ended = {
      ...item,
      warnings: [...item.warnings, ...told],
      actions,
      jobId: this.id,
      attempts: Math.max(this.job.attempt, attempts),
      ms: this.#ms,
    };
    this.#begun = { ...this.#begun, unproven: null };
    await this.#runs.end(this.runId, this.#ended);
    this.log.end();
  }

  get #ms(): number {
    return this.#begun.ms + Math.round(performance.now() - this.#since);
  }
}

const hasNewNode = (actions: readonly ItemAction[]): boolean =>
  actions.includes('created') || actions.includes('recreated');

/** Outages of the portal in a row after which the other items of a job are not tried in this attempt. */
const enoughOutages = 2;

/** The items of one attempt of a job. */
export class ItemRunner {
  readonly job: JobContext<'dataset'> | JobContext<'prove'>;
  /** What keeps items from ending in this attempt, by key. */
  readonly unfinished = new Map<string, unknown>();
  readonly #deps: Pick<HandlerDeps, 'ledger' | 'runs'>;
  readonly #ended = new Map<string, ReportItem>();
  #outages = 0;

  constructor(deps: Pick<HandlerDeps, 'ledger' | 'runs'>, job: JobContext<'dataset'> | JobContext<'prove'>) {
    this.#deps = deps;
    this.job = job;
  }

  /** Works on an item unless it has ended; a transient failure is left to the next attempt. Rejects for the whole job only. */
  async run(key: string, work: (item: Item) => Promise<void>): Promise<void> {
    try {
      const item = await this.#open(key);
      if (!item.ended) {
        const poison = this.job.poisonOf(key);
        if (poison) throw poison;
        await work(item).finally(() => item.ended ?? item.pause());
        this.#outages = 0;
      }
      if (item.ended) this.#ended.set(key, item.ended);
    } catch (error) {
      if (this.job.signal.aborted || isOfJob(error)) throw error;
      if (isTriedAgain(error, this.job.isLast)) this.unfinished.set(key, error);
      else await this.fail(key, reasonOf(error), error);
      this.#outages = isOutage(error) ? this.#outages + 1 : this.#outages;
      if (this.#outages >= enoughOutages) this.finish();
    }
  }

  /** Why an item failed; null for one that has not. */
  failureOf(key: string): Reason | null {
    const ended = this.#ended.get(key);
    return ended && ended.outcome !== 'done' && ended.outcome !== 'unchanged' && !ended.live ? ended.reason : null;
  }

  /** True where the table of an item was sent and only its proof is missing. */
  async awaitsProof(key: string): Promise<boolean> {
    const item = await this.#open(key);
    return item.ended === null && item.unproven !== null;
  }

  /** Ends an item as failed, unless it has ended already. */
  async fail(key: string, reason: Reason, error?: unknown): Promise<void> {
    const { ledger, runs } = this.#deps;
    const { runId, portal } = this.job.data;
    const item = await this.#open(key);
    if (item.ended) return;
    if (error !== undefined && !(machineFault(error) instanceof SluiceError))
      this.job.log.error({ err: error }, 'item failed because of a bug');
    await item.note(endText(reason));
    const work = kindOfKey(key) === 'resource' ? await runs.resourceWork(runId, key) : null;
    const isWanted = work?.removal === null;
    // For an item that was not tried, the reason of its dataset decides.
    const decides = reason.code === 'dataset-failed' ? (this.failureOf(parentKey(key)) ?? reason) : reason;
    const told = isWanted && !isPassing(decides) ? { ...reason, ...asideOf(work.wish, reason) } : reason;
    const failed = failedEntry(await knownEntry(this.#deps, this.job.data, key), told, item);
    const entry = isWanted ? { ...failed, sourcePath: sourcePathOf(work.wish.source) } : failed;
    await ledger.put(portal, entry);
    await item.end(entry, endOf(item, told));
    if (item.ended) this.#ended.set(key, item.ended);
  }

  /** Ends an item with a new node as failed, whatever its end was; `undo` gives its entry, null where it stays as it is. */
  async takeBack(
    key: string,
    reason: Reason,
    undo: (item: Item, entry: LedgerEntry) => Promise<LedgerEntry | null>,
  ): Promise<void> {
    const item = await this.#open(key);
    const entry = item.isNewNode ? await undo(item, await knownEntry(this.#deps, this.job.data, key)) : null;
    if (entry === null) return;
    const why = item.ended?.reason ?? reason;
    const failed = { ...failedEntry(entry, why, item), stale: false };
    await this.#deps.ledger.put(item.portal, failed);
    await item.end(failed, endOf(item, why));
  }

  /** Ends an item that only waited for others, by its ledger entry; false where that is not live. */
  async endAsLive(key: string): Promise<boolean> {
    const entry = await this.#deps.ledger.entry(this.job.data.portal, key);
    const item = await this.#open(key);
    if (!entry?.live || entry.reason !== null || item.ended) return item.ended !== null;
    await item.end(entry);
    return true;
  }

  /** @throws UnfinishedItemsError while an item waits for the next attempt */
  finish(): void {
    if (this.unfinished.size > 0) throw new UnfinishedItemsError(this.unfinished);
  }

  async #open(key: string): Promise<Item> {
    const { runs } = this.#deps;
    const state = await runs.item(this.job.data.runId, key);
    return new Item(this.job, key, { runs, log: this.job.item(key), state });
  }
}

/** True for what ends the whole job, not one of its items. */
const isOfJob = (error: unknown): boolean =>
  [GiveBack, JobLostError, PortalLoginError, UnfinishedItemsError].some((kind) => error instanceof kind);

/** Also true for an outage in the last attempt: the portal may be paused. */
const isTriedAgain = (error: unknown, isLast: boolean): boolean => isRetryable(error) && (!isLast || isOutage(error));

/** Says in the job log why there is work; after a kill, what the ledger knows and whether a write was in progress. */
export const noteFound = async (item: Item, entry: LedgerEntry | null, why?: string | null): Promise<void> => {
  if (!item.log.resumed) return why && item.isNew ? item.note(`planned: ${why}`) : undefined;
  const known = entry?.nid ? `node ${entry.nid}${entry.file ? ` with file ${entry.file.fid}` : ''}` : 'no node yet';
  const what = entry?.pending?.what;
  const write = what === 'create' ? 'a create' : `an ${what}`;
  const next = what ? `${write} under way: looking whether it took effect` : 'no write under way';
  await item.note(`found ${known}, ${next}`);
};

export const workLost = (runId: string, key: string): JobLostError =>
  new JobLostError(`run ${runId} no longer has work on ${key}`, { hint: 'publish again' });

/**
 * The report item of a ledger entry, without any work on it, nor the changes of an earlier run. What else an entry has the
 * schema of reports leaves out.
 */
export const itemOfEntry = ({ changes: _changes, ...entry }: LedgerEntry, end: ItemEnd): ReportItem =>
  reportItem({ ...entry, warnings: warningsOf(entry), ...end });

/** How an item ended: as live, with or without work, or for a reason. */
export const endOf = ({ actions }: Pick<Item, 'actions'>, reason: Reason | null): ItemEnd => {
  if (reason) return { outcome: outcomeOf(reason), reason };
  return { outcome: actions.length > 0 ? 'done' : 'unchanged', reason };
};

/** The ledger entry of an item of a run; a new one where the ledger has none. */
export const knownEntry = async (
  { ledger, runs }: Pick<HandlerDeps, 'ledger' | 'runs'>,
  { runId, portal }: { runId: string; portal: string },
  key: string,
): Promise<LedgerEntry> => {
  const known = await ledger.entry(portal, key);
  if (known) return known;
  const { uuid = '', title = key } = (await runs.work(runId, key))?.wish ?? {};
  return newEntry({ key, kind: kindOfKey(key), uuid, title });
};

/** True where some version was verified on the portal: of a table, with its rows; of a dataset, with its list. */
const wasProven = ({ kind, nid, file, datastore, good, ...entry }: LedgerEntry): boolean => {
  const isSeen = nid !== null && entry.metadataFingerprint !== null;
  if (kind === 'dataset') return isSeen && (entry.links !== null || entry.live || entry.stale);
  return nid !== null && file !== null && (datastore === 'none' ? isSeen : good !== null);
};

/** The entry of an item that failed for good: an older version that the portal still serves is stale. */
export const failedEntry = (
  entry: LedgerEntry,
  reason: Reason,
  { runId, actions }: Pick<Item, 'runId' | 'actions'>,
): LedgerEntry => ({
  ...entry,
  live: false,
  stale: !hasNewNode(actions) && wasProven(entry),
  reason,
  ...asOf({ runId }),
});

/** What an entry records of the run that has written it. */
export const asOf = ({ runId }: Pick<Item, 'runId'>) => ({ runId, syncedAt: Date.now() });

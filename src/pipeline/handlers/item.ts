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
import { notBegun, type Unproven } from '../../state/run-work.ts';
import type { ItemState, Runs } from '../../state/runs.ts';
import type { HandlerDeps } from './deps.ts';

/** How an item ended, in addition to its ledger entry. */
type ItemEnd = Pick<ReportItem, 'outcome' | 'reason' | 'versions'>;

export type Item = ReturnType<typeof jobItem>;

/** The work on one item in one attempt; its actions are kept over attempts, kills and workers. */
export const jobItem = (
  job: Pick<JobContext<'dataset' | 'prove'>, 'data' | 'attempt' | 'isLast' | 'signal' | 'exclusive'>,
  key: string,
  { runs, log, state }: { runs: Runs; log: ItemLog; state: ItemState },
) => {
  const { runId, portal } = job.data;
  const id = itemId(runId, key);
  const since = performance.now();
  let { begun, ended } = state;
  /** True until some work on it has ended in this run. */
  const isNew = begun === notBegun && ended === null;
  if (ended) begun = { ...begun, actions: ended.actions, attempts: ended.attempts, ms: ended.ms };
  const msOf = (): number => begun.ms + Math.round(performance.now() - since);

  return {
    id,
    key,
    runId,
    portal,
    job,
    signal: job.signal,
    log,
    step: log.step,
    note: log.note,
    isNew,

    /** What the run has done to the item, over all attempts. */
    get actions(): readonly ItemAction[] {
      return begun.actions;
    },

    /** True when its node was created in this run, so that nothing of an older file is there. */
    get isNewNode(): boolean {
      return hasNewNode(begun.actions);
    },

    /** How the item has ended; null while it has not. */
    get ended(): ReportItem | null {
      return ended;
    },

    /** The table whose import was ordered, until it is proven. */
    get unproven(): Unproven | null {
      return begun.unproven;
    },

    /** Leaves the item to the job that proves its table. */
    awaitProof: async (unproven: Unproven): Promise<void> => {
      begun = { ...begun, unproven, attempts: job.attempt };
      await runs.leaveToProof(runId, key, { ...begun, ms: msOf() });
      log.end();
    },

    /** Remembers an action, once. */
    did: async (action: ItemAction): Promise<void> => {
      if (begun.actions.includes(action)) return;
      begun = { ...begun, actions: [...begun.actions, action] };
      await runs.note(runId, key, begun);
    },

    /** Adds a warning to the report of this run only, once; it is written with what is recorded next. */
    tell: (warning: string): void => {
      begun = { ...begun, told: [...new Set([...(begun.told ?? []), warning])] };
    },

    /** Adds the time of this attempt; for an attempt that does not end the item. */
    pause: (): Promise<void> => runs.note(runId, key, { ...begun, ms: msOf() }),

    /** Records how the item ended; by default as live, with or without work. */
    end: async (entry: LedgerEntry, end: ItemEnd = endOf(begun, null)): Promise<void> => {
      const { actions, told = [], attempts } = begun;
      const isOfRun = actions.includes('attached') || end.outcome === 'held';
      const line = { ...itemOfEntry(entry, end), ...(isOfRun && entry.changes ? { changes: entry.changes } : {}) };
      ended = {
        ...line,
        warnings: [...line.warnings, ...told],
        actions,
        jobId: id,
        attempts: Math.max(job.attempt, attempts),
        ms: msOf(),
      };
      begun = { ...begun, unproven: null };
      await runs.end(runId, ended);
      log.end();
    },
  };
};

const hasNewNode = (actions: readonly ItemAction[]): boolean =>
  actions.includes('created') || actions.includes('recreated');

/** Outages of the portal in a row after which the other items of a job are not tried in this attempt. */
const enoughOutages = 2;

export type ItemRunner = ReturnType<typeof itemRunner>;

/** The items of one attempt of a job. */
export const itemRunner = (
  deps: Pick<HandlerDeps, 'ledger' | 'runs'>,
  job: JobContext<'dataset'> | JobContext<'prove'>,
) => {
  const { ledger, runs } = deps;
  const { runId, portal } = job.data;
  /** What keeps items from ending in this attempt, by key. */
  const unfinished = new Map<string, unknown>();
  const ended = new Map<string, ReportItem>();
  let outages = 0;

  const open = async (key: string): Promise<Item> =>
    jobItem(job, key, { runs, log: job.item(key), state: await runs.item(runId, key) });

  /** Why an item failed; null for one that has not. */
  const failureOf = (key: string): Reason | null => {
    const line = ended.get(key);
    return line && line.outcome !== 'done' && line.outcome !== 'unchanged' && !line.live ? line.reason : null;
  };

  /** Ends an item as failed, unless it has ended already. */
  const fail = async (key: string, reason: Reason, error?: unknown): Promise<void> => {
    const item = await open(key);
    if (item.ended) return;
    if (error !== undefined && !(machineFault(error) instanceof SluiceError))
      job.log.error({ err: error }, 'item failed because of a bug');
    await item.note(endText(reason));
    const work = kindOfKey(key) === 'resource' ? await runs.resourceWork(runId, key) : null;
    const isWanted = work?.removal === null;
    // For an item that was not tried, the reason of its dataset decides.
    const decides = reason.code === 'dataset-failed' ? (failureOf(parentKey(key)) ?? reason) : reason;
    const told = isWanted && !isPassing(decides) ? { ...reason, ...asideOf(work.wish, reason) } : reason;
    const failed = failedEntry(await knownEntry(deps, job.data, key), told, item);
    const entry = isWanted ? { ...failed, sourcePath: sourcePathOf(work.wish.source) } : failed;
    await ledger.put(portal, entry);
    await item.end(entry, endOf(item, told));
    if (item.ended) ended.set(key, item.ended);
  };

  const attempt = async (item: Item, work: (item: Item) => Promise<void>): Promise<void> => {
    const poison = job.poisonOf(item.key);
    if (poison) throw poison;
    await work(item).finally(() => item.ended ?? item.pause());
    outages = 0;
  };

  /** @throws UnfinishedItemsError while an item waits for the next attempt */
  const finish = (): void => {
    if (unfinished.size > 0) throw new UnfinishedItemsError(unfinished);
  };

  return {
    job,
    unfinished,
    failureOf,
    fail,
    finish,

    /** Works on an item unless it has ended; a transient failure is left to the next attempt. Rejects for the whole job only. */
    run: async (key: string, work: (item: Item) => Promise<void>): Promise<void> => {
      try {
        const item = await open(key);
        if (!item.ended) await attempt(item, work);
        if (item.ended) ended.set(key, item.ended);
      } catch (error) {
        if (job.signal.aborted || isOfJob(error)) throw error;
        if (isTriedAgain(error, job.isLast)) unfinished.set(key, error);
        else await fail(key, reasonOf(error), error);
        outages = isOutage(error) ? outages + 1 : outages;
        if (outages >= enoughOutages) finish();
      }
    },

    /** True where the table of an item was sent and only its proof is missing. */
    awaitsProof: async (key: string): Promise<boolean> => {
      const item = await open(key);
      return item.ended === null && item.unproven !== null;
    },

    /** Ends an item with a new node as failed, whatever its end was; `undo` gives its entry, null where it stays as it is. */
    takeBack: async (
      key: string,
      reason: Reason,
      undo: (item: Item, entry: LedgerEntry) => Promise<LedgerEntry | null>,
    ): Promise<void> => {
      const item = await open(key);
      const entry = item.isNewNode ? await undo(item, await knownEntry(deps, job.data, key)) : null;
      if (entry === null) return;
      const why = item.ended?.reason ?? reason;
      const failed = { ...failedEntry(entry, why, item), stale: false };
      await ledger.put(portal, failed);
      await item.end(failed, endOf(item, why));
    },

    /** Ends an item that only waited for others, by its ledger entry; false where that is not live. */
    endAsLive: async (key: string): Promise<boolean> => {
      const entry = await ledger.entry(portal, key);
      const item = await open(key);
      if (!entry?.live || entry.reason !== null || item.ended) return item.ended !== null;
      await item.end(entry);
      return true;
    },
  };
};

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

/** True where the portal has a version that was verified: of a table, with its rows; of a dataset, with its list. */
const wasProven = ({ kind, nid, file, datastore, good, ...entry }: LedgerEntry): boolean => {
  const isSeen = nid !== null && entry.metadataFingerprint !== null;
  if (kind === 'dataset') return isSeen && (entry.links !== null || entry.live || entry.stale);
  const hasRows = good !== null && (datastore === 'imported' || entry.rows !== 0); // 0: removed for others
  return nid !== null && file !== null && (datastore === 'none' ? isSeen : hasRows);
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

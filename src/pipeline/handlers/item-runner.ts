// Runs the items of a dataset job one by one or concurrently, and decides what a failure of one means for the job.
import {
  JobLostError,
  machineFault,
  PortalLoginError,
  PortalReplyError,
  PortalUnreachableError,
  reasonOf,
  SluiceError,
} from '../../model/errors.ts';
import { GiveBack, type JobContext, UnfinishedItemsError } from '../../model/job.ts';
import { kindOfKey } from '../../model/key.ts';
import type { Reason, ReportItem } from '../../model/report.ts';
import { sourcePathOf } from '../../model/wish.ts';
import type { HandlerDeps } from './deps.ts';
import { failedEntry, Item, knownEntry, outcomeOf } from './item.ts';

/** Failures of the portal in a row after which the other items of a job need not be tried now. */
const enoughOutages = 2;

/** The items of one attempt of a dataset job. */
export class ItemRunner {
  readonly #deps: HandlerDeps;
  readonly #job: JobContext<'dataset'> | JobContext<'prove'>;
  readonly #unfinished = new Map<string, unknown>();
  readonly #ended = new Map<string, ReportItem>();
  #outages = 0;

  constructor(deps: HandlerDeps, job: JobContext<'dataset'> | JobContext<'prove'>) {
    this.#deps = deps;
    this.#job = job;
  }

  /** Name of the portal. */
  get portal(): string {
    return this.#job.data.portal;
  }

  /**
   * Works on an item unless it has ended in this run. A failure that may pass leaves it to the next attempt, any other one
   * ends it. Rejects only with what concerns the whole job.
   */
  async run(key: string, work: (item: Item) => Promise<void>): Promise<void> {
    try {
      const item = await this.#open(key);
      const poison = item.ended ? null : this.#job.poisonOf(key);
      if (poison) throw poison;
      if (!item.ended) await this.#work(item, work);
      if (item.ended) this.#ended.set(key, item.ended);
    } catch (error) {
      if (this.#isOfJob(error)) throw error;
      if (isTriedAgain(error, this.#job.isLast)) this.#unfinished.set(key, error);
      else await this.fail(key, reasonOf(error), error);
      this.#outages = isOutage(error) ? this.#outages + 1 : this.#outages;
      if (this.#outages >= enoughOutages) this.finish();
    }
  }

  /** True while an item waits for the next attempt. */
  get hasUnfinished(): boolean {
    return this.#unfinished.size > 0;
  }

  /** True while this item waits for the next attempt. */
  isUnfinished(key: string): boolean {
    return this.#unfinished.has(key);
  }

  /** 1 for the first attempt of the job. */
  get attempt(): number {
    return this.#job.attempt;
  }

  /** Aborted when the job is to stop. */
  get signal(): AbortSignal {
    return this.#job.signal;
  }

  /** Why an item failed; null for one that has not. */
  failureOf(key: string): Reason | null {
    const ended = this.#ended.get(key);
    return ended && ended.outcome !== 'done' && ended.outcome !== 'unchanged' && !ended.live ? ended.reason : null;
  }

  /** Ends an item as failed, unless it has ended already. */
  async fail(key: string, reason: Reason, error?: unknown): Promise<void> {
    const { ledger, runs } = this.#deps;
    const { runId, portal } = this.#job.data;
    const item = await this.#open(key);
    if (item.ended) return;
    if (error !== undefined && !(machineFault(error) instanceof SluiceError))
      this.#job.log.error({ err: error }, 'item failed because of a bug');
    await item.note(`failed for good: ${reason.code}: ${reason.message}`);
    const failed = failedEntry(await knownEntry(this.#deps, this.#job.data, key), reason, runId);
    const work = kindOfKey(key) === 'resource' ? await runs.resourceWork(runId, key) : null;
    const entry = work && work.removal === null ? { ...failed, sourcePath: sourcePathOf(work.wish.source) } : failed;
    await ledger.put(portal, entry);
    await item.end(entry, { outcome: outcomeOf(reason), reason });
    if (item.ended) this.#ended.set(key, item.ended);
  }

  /** Ends an item that only waited for others, as the ledger has it; false where that does not call it live. */
  async endAsLive(key: string): Promise<boolean> {
    const entry = await this.#deps.ledger.entry(this.#job.data.portal, key);
    const item = await this.#open(key);
    if (!entry?.live || entry.reason !== null || item.ended) return item.ended !== null;
    await item.end(entry, { outcome: item.actions.length > 0 ? 'done' : 'unchanged', reason: null });
    return true;
  }

  /** @throws UnfinishedItemsError while an item waits for the next attempt */
  finish(): void {
    if (this.#unfinished.size > 0) throw new UnfinishedItemsError(this.#unfinished);
  }

  async #open(key: string): Promise<Item> {
    const { runs } = this.#deps;
    const log = this.#job.item(key);
    return new Item(this.#job, key, { runs, log, record: await runs.record(this.#job.data.runId, key) });
  }

  async #work(item: Item, work: (item: Item) => Promise<void>): Promise<void> {
    try {
      await work(item);
      this.#outages = 0;
    } finally {
      if (!item.ended) await item.pause();
    }
  }

  #isOfJob(error: unknown): boolean {
    return (
      this.#job.signal.aborted ||
      error instanceof GiveBack ||
      error instanceof JobLostError ||
      error instanceof PortalLoginError ||
      error instanceof UnfinishedItemsError
    );
  }
}

/** Faults of a portal that is down: they are the job's to answer, also in its last attempt, because the portal may be paused. */
const isOutage = (error: unknown): boolean =>
  error instanceof PortalUnreachableError || error instanceof PortalReplyError;

const isTriedAgain = (thrown: unknown, isLast: boolean): boolean => {
  const error = machineFault(thrown);
  return error instanceof SluiceError && error.retryable && (!isLast || isOutage(error));
};

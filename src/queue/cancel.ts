// Cancelled runs and paused portals: the mark that every worker sees, and the signals that end jobs after their step.
import type { Redis } from 'ioredis';
import { CancelledError } from '../model/errors.ts';
import { cancelledHint, GiveBack } from '../model/job.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { repeat } from '../util/concurrency.ts';
import type { PortalPauses } from './pause.ts';

/** How often marks are checked while jobs are running, milliseconds. */
const checkMs = 250;

/** The error of everything that a cancelled run leaves undone. */
export const cancelledError = (of: { runId: string; export?: object }): CancelledError =>
  new CancelledError(`run ${of.runId} was cancelled before this was done`, { hint: cancelledHint(of) });

interface WatchedJob {
  runId: string;
  portal: string;
  cancelled: AbortController;
  paused: AbortController;
}

/** Tells the jobs of this process when their run is cancelled, or when their portal is paused until a person acts. */
export class StopWatch {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #pauses: Pick<PortalPauses, 'state'>;
  readonly #jobs = new Set<WatchedJob>();
  #endChecks: (() => Promise<void>) | null = null;
  #checkedAt = 0;

  constructor(redis: Redis, keys: RedisKeys, pauses: Pick<PortalPauses, 'state'>) {
    this.#redis = redis;
    this.#keys = keys;
    this.#pauses = pauses;
  }

  /** A job begins: its signals abort once the run is cancelled or the portal is paused. To be followed by {@link leave}. */
  async enter(of: { runId: string; portal: string }): Promise<WatchedJob> {
    const job = { ...of, cancelled: new AbortController(), paused: new AbortController() };
    this.#jobs.add(job);
    const failed = () => undefined; // the next one may succeed
    this.#endChecks ??= repeat(checkMs, () => this.#check(), failed);
    if (Date.now() - this.#checkedAt >= checkMs) await this.#check().catch(failed);
    return job;
  }

  leave(job: WatchedJob): void {
    this.#jobs.delete(job);
    if (this.#jobs.size > 0) return;
    void this.#endChecks?.();
    this.#endChecks = null;
  }

  async #check(): Promise<void> {
    this.#checkedAt = Date.now();
    const cancelled = new Set(await this.#redis.hkeys(this.#keys.cancelled));
    for (const { runId, ...job } of this.#jobs)
      if (cancelled.has(runId)) job.cancelled.abort(cancelledError({ runId }));
    for (const [portal, jobs] of Map.groupBy(this.#jobs, (job) => job.portal)) {
      const pause = await this.#pauses.state(portal);
      if (pause?.probe === null) for (const job of jobs) job.paused.abort(new GiveBack(pause.reason.message));
    }
  }
}

// Cancelled runs: the mark that every worker sees, and the signal that ends the jobs of a run after their step.
import type { Redis } from 'ioredis';
import { CancelledError } from '../model/errors.ts';
import type { RedisKeys } from '../model/redis-keys.ts';

/** How often marks are searched for while jobs are running, milliseconds. */
const lookMs = 250;

/** The error of everything that a cancelled run leaves undone. */
export const cancelledError = (runId: string): CancelledError =>
  new CancelledError(`run ${runId} was cancelled before this was done`, {
    hint: 'publish again to continue where the run stopped; completed work is kept',
  });

/** Marks a run as cancelled, for good; false when it was marked already. */
export const markCancelled = async (redis: Redis, keys: RedisKeys, runId: string): Promise<boolean> =>
  (await redis.hsetnx(keys.cancelled, runId, Date.now())) === 1;

/** True when the run is marked and has not closed since. */
export const isCancelled = async (redis: Redis, keys: RedisKeys, runId: string): Promise<boolean> =>
  (await redis.hexists(keys.cancelled, runId)) === 1;

/** Tells the jobs of this process when their run is cancelled. */
export class CancelWatch {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #runs = new Map<string, { controller: AbortController; jobs: number }>();
  #timer: NodeJS.Timeout | null = null;
  #lookedAt = 0;

  constructor(redis: Redis, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** A job of a run begins: the signal is aborted as soon as the run is seen to be cancelled. To be followed by {@link leave}. */
  async enter(runId: string): Promise<AbortSignal> {
    const run = this.#runs.get(runId) ?? { controller: new AbortController(), jobs: 0 };
    this.#runs.set(runId, run);
    run.jobs += 1;
    this.#timer ??= setInterval(() => void this.#look().catch(() => undefined), lookMs).unref(); // the next one may succeed
    if (Date.now() - this.#lookedAt >= lookMs) await this.#look().catch(() => undefined);
    return run.controller.signal;
  }

  /** The job has ended. */
  leave(runId: string): void {
    const run = this.#runs.get(runId);
    if (!run) return;
    run.jobs -= 1;
    if (run.jobs === 0) this.#runs.delete(runId);
    if (this.#runs.size > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  async #look(): Promise<void> {
    this.#lookedAt = Date.now();
    for (const runId of await this.#redis.hkeys(this.#keys.cancelled))
      this.#runs.get(runId)?.controller.abort(cancelledError(runId));
  }
}

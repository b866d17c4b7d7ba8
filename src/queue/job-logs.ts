// Logs of items and runs, and the removal of the jobs of a closed run.
import type { Redis } from 'ioredis';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { Queues } from './queues.ts';

/** Jobs that are removed together. */
const chunk = 500;

/** Reads logs and removes jobs. The logs of items are lists of our own, which expire by themselves. */
export class JobLogs {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #queues: Queues;

  constructor(redis: Redis, keys: RedisKeys, queues: Queues) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
  }

  /** Log lines of the work on an item from line `from` (0-based), oldest first, whether its run is open or closed. */
  read(id: string, from = 0): Promise<string[]> {
    return this.#redis.lrange(this.#keys.itemLog(id), from, -1);
  }

  /** Log lines of a run's own job. */
  async readRun(runId: string, from = 0): Promise<string[]> {
    const { logs } = await this.#queues.runs.getJobLogs(runId, from, -1);
    return logs;
  }

  /** Removes the jobs of a run; returns how many stay because a worker has them. Idempotent. */
  async closeRun(portal: string, ids: string[]): Promise<number> {
    const queue = this.#queues.portal(portal);
    let kept = 0;
    for (let at = 0; at < ids.length; at += chunk) {
      const some = ids.slice(at, at + chunk);
      const removed = await Promise.all(some.map((id) => queue.remove(id, { removeChildren: false })));
      kept += removed.filter((count) => count === 0).length;
    }
    return kept;
  }
}

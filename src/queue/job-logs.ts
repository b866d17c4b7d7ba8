// Logs of jobs: those of running jobs in the engine, those of closed runs in our own lists with their own retention.
import type { Redis } from 'ioredis';
import { jobId } from '../job.ts';
import type { RedisKeys } from '../ledger/keys.ts';
import { RedisScript } from '../redis/script.ts';
import type { Queues } from './queues.ts';

const chunk = 500;

// KEYS: a job's log as the queue keeps it, and as we do, in turn. A log that was kept before stays as it is.
const keepLogs = new RedisScript(`
for i = 1, #KEYS, 2 do
  redis.call('COPY', KEYS[i], KEYS[i + 1])
  redis.call('EXPIRE', KEYS[i + 1], ARGV[1])
end
`);

/** Kind of the item that a key names: `<manifest>/<dataset>` or `<manifest>/<dataset>/<resource>`. */
export const kindOfKey = (key: string): 'dataset' | 'resource' => (key.split('/').length > 2 ? 'resource' : 'dataset');

/** Reads and keeps job logs. */
export class JobLogs {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #queues: Queues;

  constructor(redis: Redis, keys: RedisKeys, queues: Queues) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
  }

  /** Log lines of an item's job from line `from` (0-based), oldest first, whether its run is open or closed. */
  async read(portal: string, id: string, from = 0): Promise<string[]> {
    const kept = await this.#redis.lrange(this.#keys.jobLog(id), from, -1);
    if (kept.length > 0) return kept;
    const { logs } = await this.#queues.portal(portal).getJobLogs(id, from, -1);
    return logs;
  }

  /** Log lines of a run's own job. */
  async readRun(runId: string, from = 0): Promise<string[]> {
    const { logs } = await this.#queues.runs.getJobLogs(runId, from, -1);
    return logs;
  }

  /** Copies the logs of a run's jobs to lists of our own that expire by themselves, then removes the jobs. Idempotent. */
  async closeRun(portal: string, runId: string, keys: string[]): Promise<void> {
    const queue = this.#queues.portal(portal);
    const seconds = Math.ceil(this.#queues.settings.keepMs / 1000);
    for (let at = 0; at < keys.length; at += chunk) {
      const ids = keys.slice(at, at + chunk).map((key) => jobId(runId, kindOfKey(key), key));
      const logs = ids.flatMap((id) => [`${queue.toKey(id)}:logs`, this.#keys.jobLog(id)]);
      await keepLogs.run(this.#redis, logs, [seconds]);
      await Promise.all(ids.map((id) => queue.remove(id, { removeChildren: false })));
    }
  }
}

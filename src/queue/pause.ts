// Pausing a portal with a reason that everybody can see, and remembering how the last pause ended.
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { Reason } from '../model/report.ts';
import { reasonSchema } from '../model/report.ts';
import { RedisScript } from '../state/redis/script.ts';
import type { Queues } from './queues.ts';

/** Delayed runs that one call to the queue reads. */
const runsRead = 500;

/** Why and since when a portal is paused. */
const pauseSchema = z.object({
  reason: reasonSchema,
  /** Unix milliseconds. */
  since: z.number().int(),
  /**
   * How often the portal was asked without success whether it answers, and when it is asked next (Unix milliseconds). Null for a
   * pause that only people can end.
   */
  probe: z.object({ failed: z.number().int(), nextAt: z.number().int() }).nullable().default(null),
});

/** See {@link pauseSchema}. */
export type Pause = z.infer<typeof pauseSchema>;

/** A pause that has ended. */
const endedPauseSchema = z.object({
  reason: reasonSchema,
  /** Unix milliseconds. */
  since: z.number().int(),
  until: z.number().int(),
});

/** See {@link endedPauseSchema}. */
export type EndedPause = z.infer<typeof endedPauseSchema>;

// Field `pause` of the portal's hash. The first reason stays, but a refused login takes the place of an outage, and an
// operator's pause that of both: nothing else may end it.
const beginPause = new RedisScript(`
local rank = {['paused'] = 2, ['portal-login'] = 1}
local known = redis.call('HGET', KEYS[1], 'pause')
if known then
  local code = cjson.decode(known)['reason']['code']
  if (rank[ARGV[2]] or 0) <= (rank[code] or 0) then return 0 end
end
redis.call('HSET', KEYS[1], 'pause', ARGV[1])
redis.call('HDEL', KEYS[1], 'failures', 'confirm')
return 1
`);

// `doubt` stays until a job succeeds: the portal answers, but nothing shows yet that it works.
const endPause = new RedisScript(`
local known = redis.call('HGET', KEYS[1], 'pause')
if not known or (ARGV[2] ~= '' and known ~= ARGV[2]) then return false end
local ended = cjson.decode(known)
redis.call('HDEL', KEYS[1], 'pause', 'failures', 'confirm')
redis.call('HSET', KEYS[1], 'doubt', '1', 'last-pause', '{"reason":' .. cjson.encode(ended['reason'])
  .. ',"since":' .. string.format('%d', ended['since']) .. ',"until":' .. ARGV[1] .. '}')
return known
`);

const replacePause = new RedisScript(`
if redis.call('HGET', KEYS[1], 'pause') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'pause', ARGV[2])
return 1
`);

/**
 * Pauses and resumes the queues of portals; the queue of runs continues. The record in Redis is the truth: the engine's
 * queue is paused exactly while there is one, and {@link PortalPauses.reconcile} repairs what a kill left in between.
 */
export class PortalPauses {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #queues: Queues;

  constructor(redis: Redis, keys: RedisKeys, queues: Queues) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
  }

  /**
   * Pauses a portal; the first reason stays until it is resumed, only a refused login and an operator take its place.
   * Returns true when this call paused it or changed the reason. `probe` is for a pause that ends by itself once the portal answers.
   */
  async pause(portal: string, reason: Reason, probe: Pause['probe'] = null): Promise<boolean> {
    const pause: Pause = { reason, since: Date.now(), probe };
    const text = JSON.stringify(pause);
    const isNew = await beginPause.run(this.#redis, [this.#keys.portal(portal)], [text, reason.code]);
    await this.hold(portal);
    return isNew === 1;
  }

  /** Makes the engine hold the queue of a paused portal; undoes that when the pause has ended meanwhile. */
  async hold(portal: string): Promise<void> {
    await this.#queues.portal(portal).pause();
    if (!(await this.#redis.hexists(this.#keys.portal(portal), 'pause'))) await this.#queues.portal(portal).resume();
  }

  /** The pause of a portal, or null when it is working. */
  async state(portal: string): Promise<Pause | null> {
    const text = await this.#redis.hget(this.#keys.portal(portal), 'pause');
    return text === null ? null : pauseSchema.parse(JSON.parse(text));
  }

  /** The last pause that has ended, or null. */
  async last(portal: string): Promise<EndedPause | null> {
    const text = await this.#redis.hget(this.#keys.portal(portal), 'last-pause');
    return text === null ? null : endedPauseSchema.parse(JSON.parse(text));
  }

  /** Changes a pause, unless it was changed or ended meanwhile: then false. */
  async replace(portal: string, before: Pause, after: Pause): Promise<boolean> {
    const texts = [JSON.stringify(before), JSON.stringify(after)];
    return (await replacePause.run(this.#redis, [this.#keys.portal(portal)], texts)) === 1;
  }

  /**
   * Ends a pause; with `expected` only while it is still that one. Returns it as it has ended, null when there was none.
   */
  async resume(portal: string, expected: Pause | null = null): Promise<EndedPause | null> {
    const only = expected ? JSON.stringify(expected) : '';
    const until = Date.now();
    const ended = await endPause.run(this.#redis, [this.#keys.portal(portal)], [String(until), only]);
    if (expected === null || ended !== null) await this.#release(portal);
    if (typeof ended !== 'string') return null;
    const { reason, since } = pauseSchema.parse(JSON.parse(ended));
    return { reason, since, until };
  }

  /** Brings the engine's queue into step with the record, after a kill between the two. */
  async reconcile(portal: string, pause: Pause | null): Promise<void> {
    const queue = this.#queues.portal(portal);
    if ((await queue.isPaused()) === (pause !== null)) return;
    if (pause) await this.hold(portal);
    else if ((await this.state(portal)) === null) await this.#release(portal);
  }

  /** Has the runs of a portal taken at once that wait for the end of its pause. */
  async wakeRuns(portal: string): Promise<void> {
    const { runs } = this.#queues;
    const waiting: Job[] = [];
    for (let from = 0, more = true; more; from += runsRead) {
      const jobs: (Job | undefined)[] = await runs.getDelayed(from, from + runsRead - 1); // one may have gone meanwhile
      waiting.push(...jobs.flatMap((job) => (job?.name === 'run' && job.data.portal === portal ? [job] : [])));
      more = jobs.length === runsRead;
    }
    for (const job of waiting) await job.promote().catch(() => undefined); // it went by itself
  }

  /** The queue is resumed last: as long as it is paused, {@link reconcile} repeats this after a kill. */
  async #release(portal: string): Promise<void> {
    await this.wakeRuns(portal);
    await this.#queues.portal(portal).resume();
  }
}

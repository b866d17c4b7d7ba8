// May a portal be worked on? Its pause, with a reason that everybody can see, and the circuit breaker that begins one by
// itself. Fields of the portal's hash:
// - `pause`: present while it is paused; with a `probe` it ends once the portal answers, without one only people end it;
// - `failures`: passing faults of the portal in a row, over all workers;
// - `confirm`: the reason of the pause that the next probe is to confirm;
// - `last-pause`: the pause that ended last.
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isOutage, type SluiceError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { type Reason, reasonSchema } from '../model/report.ts';
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
   * How many probes have failed, and when the next one is due (Unix milliseconds). Null for a pause that only people can
   * end.
   */
  probe: z.object({ failed: z.number().int(), nextAt: z.number().int() }).nullable().default(null),
});

export type Pause = z.infer<typeof pauseSchema>;

/** A pause that has ended. */
const endedPauseSchema = z.object({
  reason: reasonSchema,
  /** Unix milliseconds. */
  since: z.number().int(),
  until: z.number().int(),
});

export type EndedPause = z.infer<typeof endedPauseSchema>;

// The first reason stays, but a refused login replaces an outage, and an operator's pause replaces both: nothing else may
// end it.
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

const endPause = new RedisScript(`
local known = redis.call('HGET', KEYS[1], 'pause')
if not known or (ARGV[2] ~= '' and known ~= ARGV[2]) then return false end
local ended = cjson.decode(known)
redis.call('HDEL', KEYS[1], 'pause', 'failures', 'confirm')
redis.call('HSET', KEYS[1], 'last-pause', '{"reason":' .. cjson.encode(ended['reason'])
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
   * Pauses a portal; the first reason stays until it is resumed, unless a refused login or an operator replaces it. Returns
   * true when this call paused it or changed the reason. `probe` is for a pause that ends by itself once the portal answers.
   */
  async pause(portal: string, reason: Reason, probe: Pause['probe'] = null): Promise<boolean> {
    const pause: Pause = { reason, since: Date.now(), probe };
    const text = JSON.stringify(pause);
    const isNew = await beginPause.run(this.#redis, [this.#keys.portal(portal)], [text, reason.code]);
    await this.hold(portal);
    return isNew === 1;
  }

  /** Pauses the engine's queue of a paused portal; undoes that when the pause has ended meanwhile. */
  async hold(portal: string): Promise<void> {
    await this.#queues.portal(portal).pause();
    if (!(await this.#redis.hexists(this.#keys.portal(portal), 'pause'))) await this.#queues.portal(portal).resume();
  }

  /** The pause of a portal, or null while it is worked on. */
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
   * Ends a pause; with `expected` only while it is still that one. Returns the ended pause, or null when there was none.
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

  /** Starts the runs at once that wait for the end of the portal's pause. */
  async wakeRuns(portal: string): Promise<void> {
    const { runs } = this.#queues;
    const waiting: Job[] = [];
    for (let from = 0, more = true; more; from += runsRead) {
      const jobs: (Job | undefined)[] = await runs.getDelayed(from, from + runsRead - 1); // one may have gone meanwhile
      waiting.push(...jobs.flatMap((job) => (isOfRun(job) && job.data.portal === portal ? [job] : [])));
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

/** Triggers wait for their time. */
const isOfRun = (job: Job | undefined): job is Job => job?.name === 'run' || job?.name === 'close';

/** When a portal counts as down, and how often it is probed then. */
interface BreakerSettings {
  /** Passing faults in a row. */
  failures: number;
  /** Milliseconds before the first probe; doubled for each further one. */
  probeMs: number;
  /** Longest time between two probes, milliseconds. */
  maxProbeMs: number;
  /** A portal that requests a longer pause by `Retry-After` than this (milliseconds) is paused at once. */
  longestRequestedMs: number;
}

const countFailure = new RedisScript(`
if redis.call('HEXISTS', KEYS[1], 'pause') == 1 then return 'open' end
local count = redis.call('HINCRBY', KEYS[1], 'failures', 1)
if ARGV[3] == '1' then return 'opens' end
if count >= tonumber(ARGV[1]) then redis.call('HSETNX', KEYS[1], 'confirm', ARGV[2]) end
return 'closed'
`);

/** Successes are reported at most this often, milliseconds: they only undo what others counted. */
const reportEveryMs = 250;

/** Counts the faults and successes of jobs at their portals, over all workers of one Redis. */
export class CircuitBreaker {
  readonly settings: BreakerSettings;
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #pauses: PortalPauses;
  readonly #log: Log;
  /** When success was last reported, by portal, Unix milliseconds; after a fault seen here the next success is reported at once. */
  readonly #reportedAt = new Map<string, number>();

  constructor(parts: { redis: Redis; keys: RedisKeys; pauses: PortalPauses; settings: BreakerSettings; log: Log }) {
    this.settings = parts.settings;
    this.#redis = parts.redis;
    this.#keys = parts.keys;
    this.#pauses = parts.pauses;
    this.#log = parts.log;
  }

  /**
   * Counts a job's fault, if it is one of the portal. True when the portal is paused, by this fault or already: the job is to
   * be given back without spending an attempt. Faults in a row pause it only when a probe fails too ({@link unconfirmed}):
   * otherwise they lie in the work, and the jobs' own attempts end it.
   */
  async failed(portal: string, error: unknown): Promise<boolean> {
    if (!isOutage(error)) return false;
    this.#reportedAt.delete(portal);
    const askedMs = error.request.retryAfterMs ?? 0;
    const isAsked = askedMs > this.settings.longestRequestedMs;
    const reason = isAsked ? requestedPause(portal, error, askedMs) : this.#reason(portal, error);
    const state = await countFailure.run(
      this.#redis,
      [this.#keys.portal(portal)],
      [this.settings.failures, JSON.stringify(reason), isAsked ? '1' : '0'],
    );
    if (state === 'closed') return false;
    if (state === 'open') await this.#pauses.hold(portal);
    else await this.#open(portal, reason, askedMs);
    return true;
  }

  /** Pauses a portal until a probe succeeds; `askedMs` is what the portal asked for by `Retry-After`. */
  async #open(portal: string, reason: Reason, askedMs = 0): Promise<void> {
    const { probeMs, maxProbeMs } = this.settings;
    const probe = { failed: 0, nextAt: Date.now() + Math.min(maxProbeMs, Math.max(probeMs, askedMs)) };
    if (!(await this.#pauses.pause(portal, reason, probe))) return;
    this.#log.error({ action: 'pause', portal, reason }, 'portal paused: its jobs wait until it answers again');
  }

  /** A write or a whole item has succeeded: the portal works. Never rejects. */
  async worked(portal: string): Promise<void> {
    const now = Date.now();
    if (now - (this.#reportedAt.get(portal) ?? 0) < reportEveryMs) return;
    this.#reportedAt.set(portal, now);
    await this.#redis.hdel(this.#keys.portal(portal), 'failures', 'confirm').catch((error: unknown) => {
      this.#log.debug({ portal, err: error }, 'the circuit breaker could not be updated');
    });
  }

  /** The reason of a pause that the next probe is to {@link confirm} or {@link dismiss}; null when there is none. */
  async unconfirmed(portal: string): Promise<Reason | null> {
    const text = await this.#redis.hget(this.#keys.portal(portal), 'confirm');
    return text === null ? null : reasonSchema.parse(JSON.parse(text));
  }

  /** The probe failed too: pauses the portal. */
  async confirm(portal: string, reason: Reason): Promise<void> {
    await this.#open(portal, reason);
    await this.#startOver(portal);
  }

  /** The portal answers a read, so the fault lies in the work. */
  async dismiss(portal: string, reason: Reason): Promise<void> {
    this.#log.warn(
      { action: 'probe', portal, reason },
      'portal answers, but its jobs fail: they use their own attempts',
    );
    await this.#startOver(portal);
  }

  async #startOver(portal: string): Promise<void> {
    await this.#redis.hdel(this.#keys.portal(portal), 'failures', 'confirm');
  }

  #reason(portal: string, error: SluiceError): Reason {
    const todo = error.hint ?? 'see its own log';
    const times = this.settings.failures === 1 ? 'once' : `${this.settings.failures} times in a row`;
    return {
      code: 'portal-unreachable',
      message: `portal ${portal} failed ${times}, the last time with: ${error.message}`,
      hint: todo.startsWith('nothing to do')
        ? todo
        : `nothing to do unless it stays down: sluice probes it and resumes by itself; ${todo}`,
    };
  }
}

const requestedPause = (portal: string, error: SluiceError, ms: number): Reason => ({
  code: 'portal-unreachable',
  message: `portal ${portal} requested a pause of ${Math.ceil(ms / 1000)} s: ${error.message}`,
  hint: 'nothing to do: sluice probes the portal and resumes by itself, earlier if the pause is very long',
});

// May a portal be worked on? Its pause, with a reason that everybody can see, and the circuit breaker that begins one by
// itself. Fields of the portal's hash:
// - `pauses`: the pause while there is one, and the one that ended last;
// - `failures`, `since`, `failing`: how many passing faults of the portal there were in a row, over all workers, since when,
//   and the last.
import { isDeepStrictEqual } from 'node:util';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isOutage, reasonOf, type SluiceError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { type Reason, reasonSchema, saidOf } from '../model/report.ts';
import { changeField } from '../state/redis/script.ts';
import type { Queues } from './queues.ts';

const pauseSchema = z.object({
  reason: reasonSchema,
  since: z.number().int(),
  /**
   * How many probes have failed, and when the next one is due (Unix milliseconds). Null for a pause that only people can
   * end.
   */
  probe: z.object({ failed: z.number().int(), nextAt: z.number().int() }).nullable().default(null),
});

export type Pause = z.infer<typeof pauseSchema>;

const endedPauseSchema = z.object({
  reason: reasonSchema,
  since: z.number().int(),
  until: z.number().int(),
});

export type EndedPause = z.infer<typeof endedPauseSchema>;

const counted = ['failures', 'failing', 'since'] as const;

/** The pause of a portal while it is paused, and the last one that has ended. */
const recordSchema = z.object({ now: pauseSchema.nullable(), last: endedPauseSchema.nullable() });

type PauseRecord = z.infer<typeof recordSchema>;

/**
 * The first reason stays, but a refused login replaces an outage, and an operator's pause replaces both: nothing else may end
 * it.
 */
const rankOf = (reason: Reason | undefined): number =>
  reason === undefined ? -1 : ['portal-login', 'paused'].indexOf(reason.code) + 1;

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
    const since = Date.now();
    const isNew = await this.#change(portal, ({ now, last }) =>
      rankOf(reason) > rankOf(now?.reason) ? { now: { reason, since, probe }, last } : undefined,
    );
    await this.hold(portal);
    return isNew;
  }

  /** Pauses the engine's queue of a paused portal; undoes that when the pause has ended meanwhile. */
  async hold(portal: string): Promise<void> {
    await this.#queues.portal(portal).pause();
    if ((await this.state(portal)) === null) await this.#queues.portal(portal).resume();
  }

  async state(portal: string): Promise<Pause | null> {
    return (await this.record(portal)).now;
  }

  /** The last fault of a portal at which nothing has worked since; null for none. */
  async failing(portal: string): Promise<Reason | null> {
    const text = await this.#redis.hget(this.#keys.portal(portal), 'failing');
    return text === null ? null : reasonSchema.parse(JSON.parse(text));
  }

  async record(portal: string): Promise<PauseRecord> {
    const text = await this.#redis.hget(this.#keys.portal(portal), 'pauses');
    return text === null ? { now: null, last: null } : recordSchema.parse(JSON.parse(text));
  }

  /** Changes a pause, unless it was changed or ended meanwhile: then false. */
  replace(portal: string, before: Pause, after: Pause): Promise<boolean> {
    return this.#change(portal, ({ now, last }) => (isDeepStrictEqual(now, before) ? { now: after, last } : undefined));
  }

  /**
   * Ends a pause; with `expected` only while it is still that one. Returns the ended pause, or null when there was none.
   */
  async resume(portal: string, expected: Pause | null = null): Promise<EndedPause | null> {
    const until = Date.now();
    let ended: EndedPause | null = null;
    await this.#change(portal, ({ now }) => {
      ended = null;
      if (now === null || (expected && !isDeepStrictEqual(now, expected))) return undefined;
      ended = { reason: now.reason, since: now.since, until };
      return { now: null, last: ended };
    });
    if (expected === null || ended !== null) await this.#release(portal);
    return ended;
  }

  async #change(portal: string, change: (record: PauseRecord) => PauseRecord | undefined): Promise<boolean> {
    const hash = this.#keys.portal(portal);
    const before = await changeField(this.#redis, { hash, field: 'pauses', schema: recordSchema }, (record) =>
      change(record ?? { now: null, last: null }),
    );
    if (before !== undefined) await this.#redis.hdel(hash, ...counted);
    return before !== undefined;
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
    const delayed: (Job | undefined)[] = await this.#queues.runs.getDelayed(); // one may have gone meanwhile
    const waiting = delayed.filter(isOfRun).filter(({ data }) => data.portal === portal);
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
  failures: number;
  /** Milliseconds before the first probe; doubled for each further one. */
  probeMs: number;
  maxProbeMs: number;
  /** A portal that requests a longer pause by `Retry-After` than this (milliseconds) is paused at once. */
  longestRequestedMs: number;
}

/** A portal that only fails for so long is probed, however few of its faults were counted, milliseconds. */
const longestFailingMs = 8000;

interface BreakerParts {
  redis: Redis;
  keys: RedisKeys;
  pauses: PortalPauses;
  settings: BreakerSettings;
  log: Log;
}

/** Counts the faults and successes of jobs at their portals, over all workers of one Redis. */
export class CircuitBreaker {
  readonly settings: BreakerSettings;
  readonly #parts: BreakerParts;

  constructor(parts: BreakerParts) {
    this.settings = parts.settings;
    this.#parts = parts;
  }

  /**
   * Counts a job's fault, if it is one of the portal. True when the portal is paused, by this fault or already: the job is to
   * be given back without spending an attempt. Faults in a row, or for long, pause it only when a probe fails too ({@link unconfirmed}):
   * otherwise they lie in the work, and the jobs' own attempts end it.
   */
  async failed(portal: string, error: unknown): Promise<boolean> {
    if (!isOutage(error)) return false;
    const askedMs = error.request.retryAfterMs ?? 0;
    const isAsked = askedMs > this.settings.longestRequestedMs;
    const { redis, keys, pauses } = this.#parts;
    if (await pauses.state(portal)) await pauses.hold(portal);
    else if (isAsked) await this.pause(portal, requestedPause(portal, error, askedMs), askedMs);
    else {
      const key = keys.portal(portal);
      const failing = JSON.stringify(reasonOf(error));
      await redis.multi().hincrby(key, 'failures', 1).hsetnx(key, 'since', Date.now()).hset(key, { failing }).exec();
      return false;
    }
    return true;
  }

  /** Pauses a portal until a probe succeeds; `askedMs` is what the portal asked for by `Retry-After`. */
  async pause(portal: string, reason: Reason, askedMs = 0): Promise<void> {
    const { probeMs, maxProbeMs } = this.settings;
    const probe = { failed: 0, nextAt: Date.now() + Math.min(maxProbeMs, Math.max(probeMs, askedMs)) };
    if (!(await this.#parts.pauses.pause(portal, reason, probe))) return;
    this.#parts.log.error({ action: 'pause', portal, reason }, 'portal paused: its jobs wait until it answers again');
  }

  /** A write or a whole item has succeeded: the portal works. Never rejects. */
  async worked(portal: string): Promise<void> {
    await this.startOver(portal).catch((error: unknown) => {
      this.#parts.log.debug({ portal, err: error }, 'the circuit breaker could not be updated');
    });
  }

  /** The reason of a pause that the next probe is to confirm, see {@link pause}; null while too little has failed. */
  async unconfirmed(portal: string): Promise<Reason | null> {
    const [failures, failing, since] = await this.#parts.redis.hmget(this.#parts.keys.portal(portal), ...counted);
    const times = Math.min(Number(failures), this.settings.failures);
    const isEnough = times === this.settings.failures || Date.now() - Number(since) >= longestFailingMs;
    if (!failing || !isEnough) return null;
    const { message, hint } = reasonSchema.parse(JSON.parse(failing));
    const often = times === 1 ? 'with' : `${times} times in a row, the last time with`;
    const todo = hint ?? 'see its own log';
    return {
      code: 'portal-unreachable',
      message: `portal ${portal} failed ${often}: ${saidOf(portal, message)}`,
      hint: todo.startsWith('nothing to do')
        ? todo
        : `nothing to do unless it stays down: sluice probes it and resumes by itself; ${todo}`,
    };
  }

  /** Counts from 0 again; true for the one caller who took the reason that {@link unconfirmed} told of. */
  async startOver(portal: string): Promise<boolean> {
    return (await this.#parts.redis.hdel(this.#parts.keys.portal(portal), ...counted)) > 0;
  }
}

const requestedPause = (portal: string, { message }: SluiceError, ms: number): Reason => ({
  code: 'portal-unreachable',
  message: `portal ${portal} requested a pause of ${Math.ceil(ms / 1000)} s: ${saidOf(portal, message)}`,
  hint: 'nothing to do: sluice probes the portal and resumes by itself, earlier if the pause is very long',
});

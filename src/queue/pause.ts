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

const endedPauseSchema = pauseSchema.omit({ probe: true }).extend({ until: z.number().int() });

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

export type PortalPauses = ReturnType<typeof portalPauses>;

/**
 * Pauses and resumes the queues of portals; the queue of runs continues. The record in Redis is the truth: the engine's
 * queue is paused exactly while there is one, and `reconcile` repairs what a kill left in between.
 */
export const portalPauses = (redis: Redis, keys: RedisKeys, queues: Queues) => {
  const record = async (portal: string): Promise<PauseRecord> => {
    const text = await redis.hget(keys.portal(portal), 'pauses');
    return text === null ? { now: null, last: null } : recordSchema.parse(JSON.parse(text));
  };

  const state = async (portal: string): Promise<Pause | null> => (await record(portal)).now;

  const change = async (portal: string, to: (record: PauseRecord) => PauseRecord | undefined): Promise<boolean> => {
    const hash = keys.portal(portal);
    const before = await changeField(redis, { hash, field: 'pauses', schema: recordSchema }, (found) =>
      to(found ?? { now: null, last: null }),
    );
    if (before !== undefined) await redis.hdel(hash, ...counted);
    return before !== undefined;
  };

  /** Pauses the engine's queue of a paused portal; undoes that when the pause has ended meanwhile. */
  const hold = async (portal: string): Promise<void> => {
    await queues.portal(portal).pause();
    if ((await state(portal)) === null) await queues.portal(portal).resume();
  };

  /** Starts the runs at once that wait for the end of the portal's pause; triggers wait for their time. */
  const wakeRuns = async (portal: string): Promise<void> => {
    const delayed: (Job | undefined)[] = await queues.runs.getDelayed(); // one may have gone meanwhile
    for (const job of delayed) {
      const isOfRun = job?.name === 'run' || job?.name === 'close';
      if (isOfRun && job.data.portal === portal) await job.promote().catch(() => undefined); // it went by itself
    }
  };

  /** The queue is resumed last: as long as it is paused, `reconcile` repeats this after a kill. */
  const release = async (portal: string): Promise<void> => {
    await wakeRuns(portal);
    await queues.portal(portal).resume();
  };

  return {
    record,
    state,
    hold,
    wakeRuns,

    /** The last fault of a portal at which nothing has worked since; null for none. */
    failing: async (portal: string): Promise<Reason | null> => {
      const text = await redis.hget(keys.portal(portal), 'failing');
      return text === null ? null : reasonSchema.parse(JSON.parse(text));
    },

    /**
     * Pauses a portal; the first reason stays until it is resumed, unless a refused login or an operator replaces it.
     * Returns true when this call paused it or changed the reason. `probe` is for a pause that ends by itself once the
     * portal answers.
     */
    pause: async (portal: string, reason: Reason, probe: Pause['probe'] = null): Promise<boolean> => {
      const since = Date.now();
      const isNew = await change(portal, ({ now, last }) =>
        rankOf(reason) > rankOf(now?.reason) ? { now: { reason, since, probe }, last } : undefined,
      );
      await hold(portal);
      return isNew;
    },

    /** Changes a pause, unless it was changed or ended meanwhile: then false. */
    replace: (portal: string, before: Pause, after: Pause): Promise<boolean> =>
      change(portal, ({ now, last }) => (isDeepStrictEqual(now, before) ? { now: after, last } : undefined)),

    /** Ends a pause; with `expected` only while it is still that one. Returns the ended pause, or null when there was none. */
    resume: async (portal: string, expected: Pause | null = null): Promise<EndedPause | null> => {
      const until = Date.now();
      let ended: EndedPause | null = null;
      await change(portal, ({ now }) => {
        ended = null;
        if (now === null || (expected && !isDeepStrictEqual(now, expected))) return undefined;
        ended = { reason: now.reason, since: now.since, until };
        return { now: null, last: ended };
      });
      if (expected === null || ended !== null) await release(portal);
      return ended;
    },

    /** Brings the engine's queue into step with the record, after a kill between the two. */
    reconcile: async (portal: string, pause: Pause | null): Promise<void> => {
      if ((await queues.portal(portal).isPaused()) === (pause !== null)) return;
      if (pause) await hold(portal);
      else if ((await state(portal)) === null) await release(portal);
    },
  };
};

/** A portal that only fails for so long is probed, however few of its faults were counted, milliseconds. */
const longestFailingMs = 8000;

/** A worker that was killed while it looked keeps others from looking for so long at most, milliseconds. */
const longestLookMs = 30_000;

interface BreakerParts {
  redis: Redis;
  keys: RedisKeys;
  pauses: PortalPauses;
  log: Log;
  /** When a portal counts as down, and how often it is probed then. */
  settings: {
    failures: number;
    /** Milliseconds before the first probe; doubled for each further one. */
    probeMs: number;
    maxProbeMs: number;
    /** A portal that requests a longer pause by `Retry-After` than this (milliseconds) is paused at once. */
    longestRequestedMs: number;
  };
}

export type CircuitBreaker = ReturnType<typeof circuitBreaker>;

/** Counts the faults and successes of jobs at their portals, over all workers of one Redis. */
export const circuitBreaker = ({ redis, keys, pauses, settings, log }: BreakerParts) => {
  /** Counts from 0 again; true where there was something to count. */
  const startOver = async (portal: string): Promise<boolean> => (await redis.hdel(keys.portal(portal), ...counted)) > 0;

  /** Pauses a portal until a probe succeeds; `askedMs` is what the portal asked for by `Retry-After`. */
  const pause = async (portal: string, reason: Reason, askedMs = 0): Promise<void> => {
    const { probeMs, maxProbeMs } = settings;
    const probe = { failed: 0, nextAt: Date.now() + Math.min(maxProbeMs, Math.max(probeMs, askedMs)) };
    if (!(await pauses.pause(portal, reason, probe))) return;
    log.error({ action: 'pause', portal, reason }, 'portal paused: its jobs wait until it answers again');
  };

  return {
    settings,
    pause,

    /** Looks whether a portal is down, for the reason that `unconfirmed` told of, unless another worker does or has. */
    confirm: async (portal: string, look: () => Promise<void>): Promise<void> => {
      const key = keys.looking(portal);
      if ((await redis.set(key, '1', 'PX', longestLookMs, 'NX')) === null) return;
      try {
        if (await startOver(portal)) await look();
      } finally {
        await redis.del(key);
      }
    },

    /**
     * Counts a job's fault, if it is one of the portal. True when the portal is paused, by this fault or already: the job is
     * to be given back without spending an attempt. Faults in a row, or for long, pause it only when a probe fails too
     * (`unconfirmed`): otherwise they lie in the work, and the jobs' own attempts end it.
     */
    failed: async (portal: string, error: unknown): Promise<boolean> => {
      if (!isOutage(error)) return false;
      const askedMs = error.request.retryAfterMs ?? 0;
      if (await pauses.state(portal)) await pauses.hold(portal);
      else if (askedMs > settings.longestRequestedMs)
        await pause(portal, requestedPause(portal, error, askedMs), askedMs);
      else {
        const key = keys.portal(portal);
        const failing = JSON.stringify(reasonOf(error));
        await redis.multi().hincrby(key, 'failures', 1).hsetnx(key, 'since', Date.now()).hset(key, { failing }).exec();
        return false;
      }
      return true;
    },

    /** A write or a whole item has succeeded: the portal works. Never rejects. */
    worked: (portal: string): Promise<unknown> =>
      startOver(portal).catch((err: unknown) => log.debug({ portal, err }, 'the circuit breaker could not be updated')),

    /** The reason of a pause that the next probe is to confirm, see `pause`; null while too little has failed. */
    unconfirmed: async (portal: string): Promise<Reason | null> => {
      const [failures, failing, since] = await redis.hmget(keys.portal(portal), ...counted);
      const times = Math.min(Number(failures), settings.failures);
      const isEnough = times === settings.failures || Date.now() - Number(since) >= longestFailingMs;
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
    },
  };
};

const requestedPause = (portal: string, { message }: SluiceError, ms: number): Reason => ({
  code: 'portal-unreachable',
  message: `portal ${portal} requested a pause of ${Math.ceil(ms / 1000)} s: ${saidOf(portal, message)}`,
  hint: 'nothing to do: sluice probes the portal and resumes by itself, earlier if the pause is very long',
});

// Heartbeats of live workers, and the limits they agree on.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { storedAs } from '../state/redis/fields.ts';
import { repeat } from '../util/concurrency.ts';

const limitsSchema = z.object({
  concurrency: z.number(),
  /** Most requests per second; 0 = no limit, null = what the portal takes. */
  requestsPerSecond: z.number().nullable(),
});

/** Limits of one portal as one worker's configuration states them. */
export type PortalLimits = z.infer<typeof limitsSchema>;

/**
 * The limits in force for a portal, the lowest that any live worker states, and whether several work for it: also for some
 * seconds after the last of the others was seen, because what it sent may still be in progress.
 */
export interface AgreedLimits extends PortalLimits {
  isShared: boolean;
  workers: number;
}

type OnLimits = (portal: string, limits: AgreedLimits) => Promise<void>;

const heartbeatSchema = z.object({
  host: z.string(),
  pid: z.number().int(),
  /** What the process is: `start`, `worker`, `publish`, `demo`. */
  role: z.string(),
  at: z.number(),
  limits: z.record(z.string(), limitsSchema),
  /** Portals that owe it replies. */
  silences: z.record(z.string(), z.object({ ms: z.number(), grantedMs: z.number() })),
});

/** How long a portal has owed every reply that a process waits for, and how long an upload or import among them may take. */
export type PortalSilence = Heartbeat['silences'][string];

type Heartbeat = z.infer<typeof heartbeatSchema>;

/** Interval of heartbeats, and the silence after which a worker counts as gone, milliseconds. */
const heartbeatMs = 1000;
const goneMs = 4000;

/** Workers with a heartbeat in the last seconds; killed ones drop out by themselves. */
export const liveWorkers = async (redis: Redis, keys: RedisKeys, now: number): Promise<Map<string, Heartbeat>> => {
  const live = new Map<string, Heartbeat>();
  for (const [id, text] of Object.entries(await redis.hgetall(keys.workers))) {
    const heartbeat = storedAs(heartbeatSchema, text);
    if (heartbeat && now - heartbeat.at < goneMs && !diedHere(heartbeat)) live.set(id, heartbeat);
    else await redis.hdel(keys.workers, id).catch(() => undefined); // a full Redis keeps it, and who only looks still looks
  }
  return live;
};

/** On this host, an ended process is recognized at once. */
const diedHere = ({ host, pid }: Heartbeat): boolean => {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
};

interface Own {
  role: string;
  limits: Record<string, PortalLimits>;
  silence: (portal: string) => PortalSilence | null;
}

/** What a worker shows of itself, and the limits that it agrees on with the others. */
export const workerHeartbeat = (redis: Redis, keys: RedisKeys, { silence, ...shown }: Own, log: Log) => {
  const id = randomUUID();
  const own = { host: hostname(), pid: process.pid, ...shown };
  const portals = Object.keys(own.limits);
  const agreement = limitAgreement(own.limits, log);
  let onChange: OnLimits = async () => undefined;
  let endBeats: (() => Promise<void>) | undefined;

  /** Repeats after every change, which may undo the lower limits of a worker that joined just before. */
  const agree = async (): Promise<void> => {
    for (let isNew = true; isNew; ) {
      isNew = false;
      const now = Date.now();
      const workers = [...(await liveWorkers(redis, keys, now)).values()];
      for (const portal of portals) {
        const limits = agreement.renew(portal, workers, now);
        if (limits === null) continue;
        await onChange(portal, limits);
        isNew = true;
      }
    }
  };

  const beat = async (): Promise<void> => {
    const owing = portals.map((portal) => [portal, silence(portal)] as const);
    const silences = Object.fromEntries(owing.filter(([, each]) => each !== null));
    await redis.hset(keys.workers, id, JSON.stringify({ ...own, silences, at: Date.now() }));
    await agree();
  };

  return {
    id,
    limits: agreement.limits,

    lives: async (other: string): Promise<boolean> =>
      other === id || (await liveWorkers(redis, keys, Date.now())).has(other),

    /** The limits in force for a portal, including those of workers that have just joined. */
    limitsNow: async (portal: string): Promise<AgreedLimits> => {
      await agree();
      return agreement.limits(portal);
    },

    /** Begins; `changed` is called with each portal whose limits changed, at first with all. */
    start: async (changed: OnLimits): Promise<void> => {
      // First what the others state, so that our own limits are never in force for a moment where theirs are lower.
      await beat();
      onChange = changed;
      for (const portal of portals) await changed(portal, agreement.limits(portal));
      await agree();
      endBeats = repeat(heartbeatMs, beat, (err) => log.debug({ err }, 'heartbeat failed'));
    },

    stop: async (): Promise<void> => {
      void endBeats?.();
      await redis.hdel(keys.workers, id).catch(() => undefined); // Redis may be gone at a forced end
    },
  };
};

/** The limits in force for each portal, as live workers state them. */
const limitAgreement = (own: Record<string, PortalLimits>, log: Log) => {
  const agreed: Record<string, AgreedLimits> = {};
  /** Until when a portal counts as shared, Unix milliseconds. */
  const sharedUntil: Record<string, number> = {};
  const warned = new Set<string>();

  /** The limits in force for a portal; before the others are known, others may be there. */
  const limits = (portal: string): AgreedLimits => {
    const stated = own[portal] ?? { concurrency: 1, requestsPerSecond: 0 };
    return agreed[portal] ?? { ...stated, isShared: true, workers: 1 };
  };

  const warnOfDifferent = (portal: string, stated: PortalLimits[]): void => {
    const inForce = lowest(stated);
    if (warned.has(portal) || stated.every((each) => isDeepStrictEqual(each, inForce))) return;
    warned.add(portal);
    log.warn({ portal, limits: inForce }, 'workers state different limits for a portal; the lowest are in force');
  };

  return {
    limits,

    /** Brings what live workers state for a portal into force; returns it where that is new. */
    renew: (portal: string, workers: Heartbeat[], now: number): AgreedLimits | null => {
      const stated = workers.flatMap((worker) => worker.limits[portal] ?? []);
      if (stated.length === 0) return null;
      if (stated.length > 1) sharedUntil[portal] = now + goneMs;
      const isShared = now < (sharedUntil[portal] ?? 0);
      const found = { ...lowest(stated), isShared, workers: stated.length };
      if (isDeepStrictEqual(found, limits(portal))) return null;
      agreed[portal] = found;
      warnOfDifferent(portal, stated);
      return found;
    },
  };
};

const lowest = (stated: PortalLimits[]): PortalLimits => {
  const all = stated.map((limits) => limits.requestsPerSecond);
  const rates = all.flatMap((rate) => (rate === null || rate === 0 ? [] : [rate]));
  return {
    concurrency: Math.min(...stated.map((limits) => limits.concurrency)),
    requestsPerSecond: rates.length > 0 ? Math.min(...rates) : all.includes(null) ? null : 0,
  };
};

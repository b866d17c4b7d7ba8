// Heartbeats of live workers, and the limits they agree on.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
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
    const parsed = heartbeatSchema.safeParse(JSON.parse(text));
    if (parsed.success && now - parsed.data.at < goneMs && !diedHere(parsed.data)) live.set(id, parsed.data);
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

export class WorkerHeartbeat {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #own: Omit<Heartbeat, 'at' | 'silences'>;
  readonly #silence: (portal: string) => PortalSilence | null;
  readonly #log: Log;
  readonly id: string = randomUUID();
  readonly #warned = new Set<string>();
  #endBeats: (() => Promise<void>) | undefined;
  #agreed: Record<string, AgreedLimits> = {};
  #onChange: OnLimits = async () => undefined;
  /** Until when a portal counts as shared, Unix milliseconds. */
  readonly #sharedUntil: Record<string, number> = {};

  constructor(
    redis: Redis,
    keys: RedisKeys,
    own: { role: string; limits: Record<string, PortalLimits>; silence: (portal: string) => PortalSilence | null },
    log: Log,
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#own = { host: hostname(), pid: process.pid, role: own.role, limits: own.limits };
    this.#silence = own.silence;
    this.#log = log;
  }

  readonly lives = async (id: string): Promise<boolean> =>
    id === this.id || (await liveWorkers(this.#redis, this.#keys, Date.now())).has(id);

  /** The limits in force for a portal; before the others are known, others may be there. */
  limits(portal: string): AgreedLimits {
    const own = this.#own.limits[portal] ?? { concurrency: 1, requestsPerSecond: 0 };
    return this.#agreed[portal] ?? { ...own, isShared: true, workers: 1 };
  }

  /** The limits in force for a portal, including those of workers that have just joined. */
  async limitsNow(portal: string): Promise<AgreedLimits> {
    await this.#agree();
    return this.limits(portal);
  }

  /** Begins; `onChange` is called with each portal whose limits changed, at first with all. */
  async start(onChange: OnLimits): Promise<void> {
    // First what the others state, so that our own limits are never in force for a moment where theirs are lower.
    await this.#beat();
    this.#onChange = onChange;
    for (const portal of Object.keys(this.#own.limits)) await onChange(portal, this.limits(portal));
    await this.#agree();
    const failed = (error: unknown) => this.#log.debug({ err: error }, 'heartbeat failed');
    this.#endBeats = repeat(heartbeatMs, () => this.#beat(), failed);
  }

  async stop(): Promise<void> {
    void this.#endBeats?.();
    await this.#redis.hdel(this.#keys.workers, this.id).catch(() => undefined); // Redis may be gone at a forced end
  }

  async #beat(): Promise<void> {
    const owing = Object.keys(this.#own.limits).map((portal) => [portal, this.#silence(portal)] as const);
    const silences = Object.fromEntries(owing.filter(([, silence]) => silence !== null));
    await this.#redis.hset(this.#keys.workers, this.id, JSON.stringify({ ...this.#own, silences, at: Date.now() }));
    await this.#agree();
  }

  /** Repeats after every change, which may undo the lower limits of a worker that joined just before. */
  async #agree(): Promise<void> {
    for (let isNew = true; isNew; ) {
      isNew = false;
      const now = Date.now();
      const all = await liveWorkers(this.#redis, this.#keys, now);
      for (const portal of Object.keys(this.#own.limits)) {
        const stated = [...all.values()].flatMap((worker) => worker.limits[portal] ?? []);
        if (stated.length === 0) continue;
        if (stated.length > 1) this.#sharedUntil[portal] = now + goneMs;
        const isShared = now < (this.#sharedUntil[portal] ?? 0);
        const limits = lowest(stated);
        const agreed = { ...limits, isShared, workers: stated.length };
        if (isDeepStrictEqual(agreed, this.limits(portal))) continue;
        this.#agreed = { ...this.#agreed, [portal]: agreed };
        if (stated.some((each) => !isDeepStrictEqual(each, limits))) this.#warn(portal, limits);
        await this.#onChange(portal, agreed);
        isNew = true;
      }
    }
  }

  #warn(portal: string, limits: PortalLimits): void {
    if (this.#warned.has(portal)) return;
    this.#warned.add(portal);
    this.#log.warn({ portal, limits }, 'workers state different limits for a portal; the lowest are in force');
  }
}

const lowest = (stated: PortalLimits[]): PortalLimits => {
  const all = stated.map((limits) => limits.requestsPerSecond);
  const rates = all.flatMap((rate) => (rate === null || rate === 0 ? [] : [rate]));
  return {
    concurrency: Math.min(...stated.map((limits) => limits.concurrency)),
    requestsPerSecond: rates.length > 0 ? Math.min(...rates) : all.includes(null) ? null : 0,
  };
};

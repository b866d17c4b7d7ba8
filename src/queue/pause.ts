// Pausing a portal with a reason that everybody can see.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisKeys } from '../ledger/keys.ts';
import type { Reason } from '../report.ts';
import { reasonSchema } from '../report.ts';
import type { Queues } from './queues.ts';

/** Why and since when a portal is paused. */
export const pauseSchema = z.object({
  reason: reasonSchema,
  /** Unix milliseconds. */
  since: z.number().int(),
});

/** See {@link pauseSchema}. */
export type Pause = z.infer<typeof pauseSchema>;

/** Pauses and resumes the queues of portals; the queue of runs goes on. */
export class PortalPauses {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #queues: Queues;

  constructor(redis: Redis, keys: RedisKeys, queues: Queues) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
  }

  /** Pauses a portal; the first reason stays until it is resumed. */
  async pause(portal: string, reason: Reason): Promise<void> {
    const pause: Pause = { reason, since: Date.now() };
    await this.#redis.hsetnx(this.#keys.portal(portal), 'pause', JSON.stringify(pause));
    await this.#queues.portal(portal).pause();
  }

  /** The pause of a portal, or null when it is working. */
  async state(portal: string): Promise<Pause | null> {
    const text = await this.#redis.hget(this.#keys.portal(portal), 'pause');
    return text === null ? null : pauseSchema.parse(JSON.parse(text));
  }

  /** Ends a pause. */
  async resume(portal: string): Promise<void> {
    await this.#redis.hdel(this.#keys.portal(portal), 'pause');
    await this.#queues.portal(portal).resume();
  }
}

// Results of each portal for a dropped file: one that goes to several leaves the spool when all have answered, and one whose
// run was cancelled is left alone.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisKeys } from '../model/redis-keys.ts';
import { type Reason, reasonSchema } from '../model/report.ts';

/** Longer than a portal is down; a verdict that is gone is given again by the next run. */
const keepSeconds = 30 * 24 * 3600;

const verdictSchema = reasonSchema.nullable();

/** Verdicts of portals on a claim: null where it was published, else why not. */
export type Verdicts = ReadonlyMap<string, Reason | null>;

/**
 * Records the verdict of a portal on a claim; returns all verdicts so far. Of several that are recorded at once, only the
 * last caller sees them all, so that one run moves the file.
 */
export const recordVerdict = async (
  redis: Redis,
  keys: RedisKeys,
  claim: string,
  { portal, reason }: { portal: string; reason: Reason | null },
): Promise<Verdicts> => {
  const key = keys.verdicts(claim);
  const answers = await redis
    .multi()
    .hset(key, portal, JSON.stringify(reason))
    .expire(key, keepSeconds)
    .hgetall(key)
    .exec();
  return parseVerdicts(rowsSchema.parse(answers?.at(-1)?.[1]));
};

export const readVerdicts = async (redis: Redis, keys: RedisKeys, claim: string): Promise<Verdicts> =>
  parseVerdicts(await redis.hgetall(keys.verdicts(claim)));

const rowsSchema = z.record(z.string(), z.string());

const parseVerdicts = (rows: Record<string, string>): Verdicts =>
  new Map(Object.entries(rows).map(([portal, text]) => [portal, verdictSchema.parse(JSON.parse(text))]));

/** Takes back the verdict of a portal on a claim: it is to be tried again. */
export const withdrawVerdict = async (redis: Redis, keys: RedisKeys, claim: string, portal: string): Promise<void> => {
  await redis.hdel(keys.verdicts(claim), portal);
};

export const forgetVerdicts = async (redis: Redis, keys: RedisKeys, claim: string): Promise<void> => {
  await redis.del(keys.verdicts(claim));
};

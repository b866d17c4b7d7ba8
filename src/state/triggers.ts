// What the schedule of each target did last.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisKeys, Target } from '../model/redis-keys.ts';
import { targetName } from '../model/redis-keys.ts';

const told = {
  /** Unix milliseconds. */
  at: z.number(),
  due: z.number(),
};

const triggerRecordSchema = z.discriminatedUnion('did', [
  z.object({ did: z.literal('run'), ...told, runId: z.string() }),
  z.object({ did: z.literal('wait'), ...told, until: z.number() }),
  z.object({ did: z.literal('skip'), ...told, why: z.string() }),
]);

/** What a schedule did when it was due: asked for a run, waits, or left the run out. */
export type TriggerRecord = z.infer<typeof triggerRecordSchema>;

/** Remembers what the schedule of a target did. */
export const rememberTrigger = async (
  redis: Redis,
  keys: RedisKeys,
  target: Target,
  record: TriggerRecord,
): Promise<void> => {
  await redis.hset(keys.triggers, targetName(target), JSON.stringify(record));
};

/** What schedules did last, by target name. */
export const lastTriggers = async (redis: Redis, keys: RedisKeys): Promise<Map<string, TriggerRecord>> => {
  const records = new Map<string, TriggerRecord>();
  for (const [name, text] of Object.entries(await redis.hgetall(keys.triggers))) {
    const parsed = triggerRecordSchema.safeParse(JSON.parse(text));
    if (parsed.success) records.set(name, parsed.data);
  }
  return records;
};

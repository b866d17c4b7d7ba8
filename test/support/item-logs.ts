// The logs of all items.
import type { Redis } from 'ioredis';
import type { RedisKeys } from '../../src/model/redis-keys.ts';

/** Log lines by item id. */
export const itemLogs = async (redis: Redis, keys: RedisKeys): Promise<Map<string, string[]>> => {
  const logs = new Map<string, string[]>();
  const prefix = keys.log('');
  for (const key of await redis.keys(`${prefix}*`)) logs.set(key.slice(prefix.length), await redis.lrange(key, 0, -1));
  return logs;
};

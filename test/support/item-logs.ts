// The logs of all items, packed or not.
import { inflateSync } from 'node:zlib';
import type { Redis } from 'ioredis';
import type { RedisKeys } from '../../src/model/redis-keys.ts';

/** Log lines by item id; packed ones come first. */
export const itemLogs = async (redis: Redis, keys: RedisKeys): Promise<Map<string, string[]>> => {
  const logs = new Map<string, string[]>();
  const add = (id: string, lines: string[]): void => void logs.set(id, [...(logs.get(id) ?? []), ...lines]);
  for (const key of await redis.keys(keys.itemLogs('*'))) {
    for (const packed of await redis.lrangeBuffer(key, 0, -1)) {
      for (const line of inflateSync(packed).toString().split('\n')) {
        const [id = '', ...lines] = JSON.parse(line) as string[];
        add(id, lines);
      }
    }
  }
  const prefix = keys.itemLog('');
  for (const key of await redis.keys(`${prefix}*`)) add(key.slice(prefix.length), await redis.lrange(key, 0, -1));
  return logs;
};

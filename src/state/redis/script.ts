// Lua scripts, several commands to Redis as one; and a field that several processes change, each from what stands there.
import type { Redis } from 'ioredis';
import type { z } from 'zod';

/** A Lua script as a function; calls of it are atomic on the server. */
export const redisScript =
  (text: string) =>
  (redis: Redis, keys: string[], args: (string | number | Buffer)[]): Promise<unknown> =>
    redis.eval(text, keys.length, ...keys, ...args);

const swap = redisScript(`
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1
`);

/**
 * Replaces the JSON of a field by what `change` makes of it: null removes it, undefined leaves it. Where another process was
 * faster, `change` is called again. Returns what stood there before; undefined where nothing was changed.
 */
export const changeField = async <T>(
  redis: Redis,
  { hash, field, schema }: { hash: string; field: string; schema: z.ZodType<T> },
  change: (before: T | null) => T | null | undefined,
): Promise<T | null | undefined> => {
  for (;;) {
    const text = await redis.hget(hash, field);
    const before = text === null ? null : schema.parse(JSON.parse(text));
    const after = change(before);
    if (after === undefined) return undefined;
    const args = [field, text ?? '', after === null ? '' : JSON.stringify(after)];
    if ((await swap(redis, [hash], args)) === 1) return before;
  }
};

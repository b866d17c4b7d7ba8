// Lua scripts: several commands to Redis as one.
import type { Redis } from 'ioredis';

/** A Lua script as a function; calls of it are atomic on the server. */
export const redisScript =
  (text: string) =>
  (redis: Redis, keys: string[], args: (string | number | Buffer)[]): Promise<unknown> =>
    redis.eval(text, keys.length, ...keys, ...args);

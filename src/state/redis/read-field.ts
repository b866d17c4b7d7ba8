// Fields of Redis hashes, asked for together.
import type { Redis } from 'ioredis';
import { RedisScript } from './script.ts';

/** One field that is waited for. */
interface Asked {
  hash: string;
  field: string;
  resolve: (value: Buffer | null) => void;
  reject: (error: unknown) => void;
}

const script = new RedisScript(`
local values = {}
for i = 1, #KEYS do values[i] = redis.call('HGET', KEYS[i], ARGV[i]) end
return values
`);

/** Far less than what one call of Redis takes. */
const most = 500;

const waiting = new WeakMap<Redis, Asked[]>();

/**
 * A field of a hash, or null where there is none. Fields asked for in one turn of the event loop are one command, and
 * stand as of one moment.
 */
export const readField = (redis: Redis, hash: string, field: string): Promise<Buffer | null> =>
  new Promise((resolve, reject) => {
    const asked = { hash, field, resolve, reject };
    const others = waiting.get(redis);
    if (others && others.length < most) {
      others.push(asked);
      return;
    }
    const all = [asked];
    waiting.set(redis, all);
    process.nextTick(() => {
      if (waiting.get(redis) === all) waiting.delete(redis);
      void answer(redis, all);
    });
  });

const answer = async (redis: Redis, all: readonly Asked[]): Promise<void> => {
  try {
    const values = await valuesOf(redis, all);
    for (const [at, { resolve }] of all.entries()) resolve(values[at] ?? null);
  } catch (error) {
    for (const { reject } of all) reject(error);
  }
};

const valuesOf = async (redis: Redis, all: readonly Asked[]): Promise<(Buffer | null)[]> => {
  const [only] = all;
  if (only && all.length === 1) return [await redis.hgetBuffer(only.hash, only.field)];
  const values = await script.runBuffer(
    redis,
    all.map(({ hash }) => hash),
    all.map(({ field }) => field),
  );
  return values as (Buffer | null)[]; // what the script gives
};

// Ids of the terms of a portal, as all workers remember them.
import type { Redis } from 'ioredis';

/** The terms that are in the hash `key`, by `<vocabulary> <name>`. */
export const storedTerms = (redis: Redis, key: string) => ({
  read: (): Promise<Readonly<Record<string, string>>> => redis.hgetall(key),
  write: async (terms: Readonly<Record<string, string>>): Promise<void> => {
    await redis.hset(key, terms);
  },
});

// A place with a connection to its Redis, so that a test can look into it at any time.
import type { Redis } from 'ioredis';
import type { Place } from './place.ts';
import { makeRemotePlace } from './remote-place.ts';

/** See the head of this file. */
export interface RedisPlace extends Place {
  /** Connection to the Redis of the place. */
  store: Redis;
  /** What the ledger knows of plans, entries and held runs: every key with its content. */
  remembered(): Promise<Record<string, unknown>>;
}

/** Makes a place with a remote portal `local` at an address; `config` is merged over quick settings. */
export const makeRedisPlace = (url: string, config: Record<string, unknown> = {}): RedisPlace => {
  const place = makeRemotePlace(url, config);
  const store = place.redis();
  return {
    ...place,
    store,
    remembered: async () => {
      const all: Record<string, unknown> = {};
      for (const key of (await store.keys('sluice.*')).sort()) {
        if (/\.(ledger|sent|held|targets|refreshed)\b/.test(key)) all[key] = await store.hgetall(key);
        if (/\.plan:/.test(key)) all[key] = await store.get(key);
      }
      return all;
    },
  };
};

// A working directory whose commands share one Redis that outlives them, so that a test can look into it at any time.
import { Redis } from 'ioredis';
import { atFileEnd } from '../../support/file-end.ts';
import { startTestRedis } from '../../support/redis.ts';
import { type Place, type Start, withReport } from './place.ts';
import { makeRemotePlace } from './remote-place.ts';

/** See the head of this file. */
export interface RedisPlace extends Place {
  /** Connection to the Redis of the place. */
  store: Redis;
  redisUrl: string;
  /** What the ledger knows of plans, entries and held runs: every key with its content. */
  remembered(): Promise<Record<string, unknown>>;
}

/** Makes a place with a remote portal `local` at an address; ends its Redis after the test file. */
export const makeRedisPlace = async (url: string, config: Record<string, unknown> = {}): Promise<RedisPlace> => {
  const server = await startTestRedis();
  const store = new Redis({ ...server.options, maxRetriesPerRequest: null });
  const connections = [store];
  const connect = (): Redis => {
    const connection = store.duplicate();
    connections.push(connection);
    return connection;
  };
  atFileEnd(async () => {
    for (const connection of connections) connection.disconnect();
    await server.close();
  });
  const env = { REDIS_URL: `unix://${'path' in server.options ? server.options.path : ''}` };
  const withRedis = ({ env: more }: Pick<Start, 'env'> = {}) => ({ env: { ...env, ...more } });
  const place = makeRemotePlace(url, config, { keepsRedis: false });
  const run: Place['run'] = (args, start) => place.run(args, { ...start, ...withRedis(start) });
  return {
    ...place,
    run,
    start: (args, start) => place.start(args, withRedis(start)),
    spawn: (args, start) => place.spawn(args, { ...start, ...withRedis(start) }),
    publish: async (manifest, start) => withReport(await run(['publish', manifest, '--json'], start)),
    serve: (args, start) => place.serve(args, withRedis(start)),
    spawnService: (args, start) => place.spawnService(args, { ...start, ...withRedis(start) }),
    redis: connect,
    store,
    redisUrl: env.REDIS_URL,
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

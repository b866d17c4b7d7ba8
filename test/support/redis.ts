// A private Redis for one test file.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import type { RedisConnectionOptions } from '../../src/state/redis/connection.ts';
import { killRedis, redisArguments, spawnRedis } from './redis-process.ts';
import { claimDatabase } from './shared-redis.ts';
import { waitUntil } from './wait-until.ts';

/** A running Redis and the options with which every connection to it is made. */
export interface TestRedis {
  options: RedisConnectionOptions;
  /** Ends the server and removes its folder; may be called again. */
  close(): Promise<void>;
}

/** Where a Redis listens beside its socket. */
export interface Listening {
  host: string;
  port: number;
}

/** Starts an empty Redis (unix socket, nothing kept on disk) in some ten milliseconds; end it in `afterAll`. */
export const startTestRedis = async (tcp?: Listening): Promise<TestRedis> => {
  const dir = mkdtempSync(join(tmpdir(), 'slr-'));
  const path = join(dir, 's');
  const settings = { port: tcp?.port ?? 0, unixsocket: path, dir, save: '', 'maxmemory-policy': 'noeviction' };
  const bound = tcp ? { bind: tcp.host, 'protected-mode': 'no' } : {};
  const server = spawnRedis(redisArguments({ ...settings, ...bound }));
  await once(server, 'spawn'); // rejects when there is no such program
  await waitUntil('the test Redis to answer', () => server.exitCode !== null || answers(path), 20_000);
  if (server.exitCode !== null) throw new Error(`the test Redis ended with code ${server.exitCode}`);
  return {
    options: { path },
    close: async () => {
      await killRedis(server);
      rmSync(dir, { recursive: true, force: true });
    },
  };
};

/** An empty database of the Redis that tests share, with a connection to it that ends with the file. For the top of the file. */
export const openTestRedis = (): { redis: Redis; options: RedisConnectionOptions } => {
  const { options } = claimDatabase();
  const redis = new Redis({ ...options, maxRetriesPerRequest: null });
  afterAll(() => redis.disconnect());
  return { redis, options };
};

/** The same on a server of its own, for tests that change its settings or stop it. */
export const openOwnRedis = async (): Promise<{ redis: Redis; options: RedisConnectionOptions }> => {
  const server = await startTestRedis();
  const redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });
  return { redis, options: server.options };
};

const answers = async (path: string): Promise<boolean> => {
  const client = new Redis({ path, lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {}); // not there yet; the ping tells
  try {
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
};

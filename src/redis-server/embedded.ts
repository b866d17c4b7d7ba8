// Opens the Redis of an installation: the one of REDIS_URL, or else a real redis-server kept in the state folder.
import { join, resolve } from 'node:path';
import type { RedisConnectionOptions } from '../state/redis/connection.ts';
import { reachExternal } from './external.ts';
import { RedisSupervisor, type SupervisorOptions } from './supervisor.ts';

/** Which Redis to open. (The type of ioredis of the same name says how one connection is made.) */
export interface RedisOptions extends Omit<SupervisorOptions, 'folder'> {
  /** Address from the configuration; `REDIS_URL` of `env` takes precedence over it. */
  url: string | undefined;
  /** What all keys begin with. */
  prefix: string;
  /** The state folder; everything of the embedded server lies in its folder `redis`. */
  stateDir: string;
}

/** A start is mentioned after so many milliseconds. */
const noticeableMs = 1_000;

/** An open Redis. */
export interface RedisHandle {
  /** Spread it into the options of every connection; the same over restarts of the server. */
  options: RedisConnectionOptions;
  how: 'url' | 'adopted' | 'started';
  /** Path of the server's program; null when another process runs it. */
  binary: string | null;
  /** One phrase for people; holds no password. */
  describe: string;
  /** Leaves the embedded server, and stops it when no other process uses it. Idempotent. */
  close(): Promise<void>;
}

/**
 * Opens Redis. With an address, that server or nothing: RedisUnreachableError when it cannot be used. Without one, the
 * server that already runs for this state folder, else one started here and kept alive, by the order of resolve.ts:
 * RedisMissingError when there is no server program, RedisFailedError when it does not start. While the handle is open
 * a server that dies is restarted on the same socket, so clients reconnect by themselves.
 */
export const openRedis = async (options: RedisOptions): Promise<RedisHandle> => {
  const { stateDir, prefix, appendfsync, allowFetch, env, log, report } = options;
  const url = env.REDIS_URL || options.url || null;
  if (url !== null) {
    return { ...(await reachExternal(url, { log, prefix })), how: 'url', binary: null, close: async () => {} };
  }
  const folder = join(resolve(stateDir), 'redis');
  const supervisor = new RedisSupervisor({ folder, appendfsync, allowFetch, env, log, report });
  const slow = setTimeout(() => report?.('starting Redis'), noticeableMs);
  const how = await supervisor.open().finally(() => clearTimeout(slow));
  return {
    options: { path: supervisor.socket },
    how,
    binary: supervisor.binary,
    describe: `embedded Redis (${supervisor.binary ?? 'running'}), data in ${join(folder, 'data')}`,
    close: () => supervisor.close(),
  };
};

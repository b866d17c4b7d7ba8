// A Redis that somebody else runs, reached by its address.
import { randomUUID } from 'node:crypto';
import { RedisUnreachableError, sayingOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { askServer, type RedisConnectionOptions, type ServerFacts, withConnection } from '../state/redis/connection.ts';
import { isNewEnough, oldestRedis } from '../state/redis/version.ts';

/** An external server that answered. */
export interface ExternalRedis {
  options: RedisConnectionOptions;
  describe: string;
}

const schemes = 'redis://[user:password@]host[:port][/db], rediss://… for TLS, or unix:///path/to/socket';

/** How an external server is tried. */
export interface ReachOptions {
  log: Log;
  /** What all keys begin with. */
  prefix: string;
  /** 10 s when absent. */
  timeoutMs?: number;
}

/**
 * Makes sure that the server of a URL can be used: it answers within `timeoutMs`, takes the login, is new enough, and
 * lets this user write. Warns when it may evict keys. Throws {@link RedisUnreachableError}, which names the host and
 * port, never a password.
 */
export const reachExternal = async (
  url: string,
  { log, prefix, timeoutMs = 10_000 }: ReachOptions,
): Promise<ExternalRedis> => {
  const options = parseRedisUrl(url);
  const where = placeOf(options);
  const { version, policy } = await ask(options, where, timeoutMs);
  if (version === null) {
    log.warn({ redis: where }, 'Redis does not tell its version; it is used as it is');
  } else if (!isNewEnough(version)) {
    throw new RedisUnreachableError(`${where} is ${version.name} ${version.version}, older than ${oldestRedis}`, {
      hint: `point REDIS_URL at Redis ${oldestRedis} or newer, or at Valkey`,
    });
  }
  if (policy !== null && policy !== 'noeviction') {
    log.warn({ redis: where, policy }, 'Redis may evict jobs when memory is short: set maxmemory-policy noeviction');
  }
  await tryOut(options, where, { prefix, timeoutMs });
  const what = version === null ? 'Redis' : `${version.name} ${version.version}`;
  return { options, describe: `${what} at ${where}` };
};

const ask = async (options: RedisConnectionOptions, where: string, timeoutMs: number): Promise<ServerFacts> => {
  try {
    return await askServer(options, timeoutMs);
  } catch (cause) {
    throw new RedisUnreachableError(`Redis at ${where} cannot be used: ${sayingOf(cause)}`, {
      hint: 'start that server or mend REDIS_URL (redis.url); unset it to use the embedded Redis',
      cause,
    });
  }
};

// What the queue and the ledger do most, to a key that is gone afterwards.
const trial = `
local key = KEYS[1]
redis.call('HSET', key, 'a', '1')
redis.call('DEL', key)
redis.call('XADD', key, '*', 'a', '1')
redis.call('DEL', key)
redis.call('ZADD', key, 1, 'a')
redis.call('DEL', key)
`;

/** A user may be kept from scripts or from our keys, and a replica from all writes: better told now than in mid-work. */
const tryOut = async (
  options: RedisConnectionOptions,
  where: string,
  { prefix, timeoutMs }: { prefix: string; timeoutMs: number },
): Promise<void> => {
  try {
    await withConnection(options, timeoutMs, (client) => client.eval(trial, 1, `${prefix}.trial-${randomUUID()}`));
  } catch (cause) {
    throw new RedisUnreachableError(`Redis at ${where} does not let sluice write: ${sayingOf(cause)}`, {
      hint: `let the user of REDIS_URL (redis.url) run all commands on keys that begin with "${prefix}" (ACL rules ~${prefix}* &* +@all), on a server that takes writes`,
      cause,
    });
  }
};

/** Reads a Redis URL; throws {@link RedisUnreachableError} that shows no part of it which may be secret. */
export const parseRedisUrl = (text: string): RedisConnectionOptions => {
  const url = URL.canParse(text) ? new URL(text) : null;
  const wrong = (what: string): RedisUnreachableError =>
    new RedisUnreachableError(`REDIS_URL (redis.url) ${what}`, { hint: `write it as ${schemes}` });
  if (url === null) throw wrong('is not a URL');
  if (url.protocol === 'unix:')
    return { path: decodeURIComponent(url.pathname), ...login(url), ...database(url, wrong) };
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw wrong(`begins with ${url.protocol}, not redis:`);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1';
  return {
    host,
    port: url.port === '' ? 6379 : Number(url.port),
    ...(url.protocol === 'rediss:' ? { tls: { servername: host } } : {}),
    ...login(url),
    ...database(url, wrong),
  };
};

const login = (url: URL): RedisConnectionOptions => ({
  ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
  ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
});

const database = (url: URL, wrong: (what: string) => Error): RedisConnectionOptions => {
  const text = url.searchParams.get('db') ?? (url.protocol === 'unix:' ? '' : url.pathname.slice(1));
  if (text === '') return {};
  if (!/^\d{1,5}$/.test(text)) throw wrong('names a database that is not a number');
  return { db: Number(text) };
};

const placeOf = ({ path, host, port }: RedisConnectionOptions): string => path ?? `${host}:${port}`;

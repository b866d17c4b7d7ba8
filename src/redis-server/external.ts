// An external Redis, reached by its address.
import { randomUUID } from 'node:crypto';
import { errorMessage, RedisUnreachableError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { clusterOptions, hasHashTag, resendElsewhere } from '../state/redis/cluster.ts';
import { askServer, type RedisConnectionOptions, type ServerFacts, withConnection } from '../state/redis/connection.ts';
import { isNewEnough, oldestRedis } from '../state/redis/version.ts';
import { parseRedisUrl } from './redis-url.ts';

/** An external server that answered. */
export interface ExternalRedis {
  options: RedisConnectionOptions;
  describe: string;
}

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
 * lets this user write. A node of a cluster is recognized; connections then follow the slot of `prefix`. Warns when the
 * server may evict keys. Throws {@link RedisUnreachableError}, which names the host and port, never a password.
 */
export const reachExternal = async (
  url: string,
  { log, prefix, timeoutMs = 10_000 }: ReachOptions,
): Promise<ExternalRedis> => {
  const servers = parseRedisUrl(url);
  const where = servers.map(placeOf).join(', ');
  const { version, policy, isCluster } = await askFirst(servers, where, timeoutMs);
  if (version === null) {
    log.warn({ redis: where }, 'Redis does not report its version; using it as it is');
  } else if (!isNewEnough(version)) {
    throw new RedisUnreachableError(`${where} is ${version.name} ${version.version}, older than ${oldestRedis}`, {
      hint: `point REDIS_URL at Redis ${oldestRedis} or newer, or at Valkey`,
    });
  }
  if (policy !== null && policy !== 'noeviction') {
    log.warn({ redis: where, policy }, 'Redis may evict jobs when memory is short: set maxmemory-policy noeviction');
  }
  const options = isCluster ? inCluster(servers, where, prefix) : single(servers, where);
  await tryOut(options, where, { prefix, timeoutMs });
  const what = version === null ? 'Redis' : `${version.name} ${version.version}`;
  return { options, describe: `${what}${isCluster ? ' cluster' : ''} at ${where}` };
};

/** Several addresses are nodes of one cluster, of which some may be down. */
const askFirst = async (
  servers: readonly RedisConnectionOptions[],
  where: string,
  timeoutMs: number,
): Promise<ServerFacts> => {
  let failure: unknown;
  for (const server of servers) {
    try {
      return await askServer(server, timeoutMs);
    } catch (cause) {
      failure ??= cause;
    }
  }
  throw unusable(where, failure);
};

const unusable = (where: string, cause: unknown): RedisUnreachableError =>
  new RedisUnreachableError(`Redis at ${where} cannot be used: ${errorMessage(cause)}`, {
    hint: 'start that server, or fix REDIS_URL (redis.url); unset it to use the embedded Redis',
    cause,
  });

const inCluster = (
  servers: readonly RedisConnectionOptions[],
  where: string,
  prefix: string,
): RedisConnectionOptions => {
  if (!hasHashTag(prefix)) {
    throw new RedisUnreachableError(
      `Redis at ${where} is a cluster, and the prefix "${prefix}" (redis.prefix) spreads the keys over its nodes`,
      { hint: `put a hash tag around it, so that all keys are in one slot: redis.prefix: "{${prefix}}"` },
    );
  }
  if (servers.some(({ db = 0 }) => db !== 0)) {
    throw new RedisUnreachableError(`Redis at ${where} is a cluster, which has no database but 0`, {
      hint: 'leave the number of the database out of REDIS_URL (redis.url)',
    });
  }
  const seeds = servers.flatMap(({ host, port }) => (host === undefined || port === undefined ? [] : [{ host, port }]));
  const { username, password, tls } = servers[0] ?? {};
  return clusterOptions(seeds, prefix, {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  });
};

const single = (servers: readonly RedisConnectionOptions[], where: string): RedisConnectionOptions => {
  const [server = {}, ...more] = servers;
  if (more.length > 0) {
    throw new RedisUnreachableError(`Redis at ${where} is not a cluster, so that one address is enough`, {
      hint: 'name one server in REDIS_URL (redis.url), or sentinels as redis+sentinel://host[,host…]/name',
    });
  }
  // Sentinels may put another server in its place; one that took over late says so with its first refusal.
  return server.sentinels ? { ...server, reconnectOnError: resendElsewhere } : server;
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

/** A user may be kept from scripts or from our keys, and a replica from all writes: better reported now than in mid-work. */
const tryOut = async (
  options: RedisConnectionOptions,
  where: string,
  { prefix, timeoutMs }: { prefix: string; timeoutMs: number },
): Promise<void> => {
  try {
    await withConnection(options, timeoutMs, (client) => client.eval(trial, 1, `${prefix}.trial-${randomUUID()}`));
  } catch (cause) {
    // Only a reply is a refusal; the server may just have gone.
    if (!(cause instanceof Error) || cause.name !== 'ReplyError') throw unusable(where, cause);
    throw new RedisUnreachableError(`Redis at ${where} does not let sluice write: ${errorMessage(cause)}`, {
      hint: `let the user of REDIS_URL (redis.url) run all commands on keys that begin with "${prefix}" (ACL rules ~${prefix}* &* +@all), on a server that takes writes`,
      cause,
    });
  }
};

const placeOf = ({ path, host, port, sentinels, name }: RedisConnectionOptions): string => {
  if (!sentinels) return path ?? `${host}:${port}`;
  return `${name} of the sentinels ${sentinels.map((each) => `${each.host}:${each.port}`).join(', ')}`;
};

// Opens the Redis of an installation: an external one by its address, or else a real redis-server kept in the state folder.
import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { errorMessage, machineFault, RedisUnreachableError, StateFullError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { clusterOptions, resendElsewhere, tlsOf } from '../state/redis/cluster.ts';
import {
  isNewEnough,
  oldestRedis,
  queryServer,
  type RedisConnectionOptions,
  withConnection,
} from '../state/redis/connection.ts';
import { defined } from '../util/json.ts';
import { dataIn } from './start.ts';
import { RedisSupervisor, type SupervisorOptions } from './supervisor.ts';

/** Which Redis to open; `prefix` is what all keys begin with. (ioredis' type of that name is about one connection.) */
export interface RedisOptions extends Omit<SupervisorOptions, 'folder'> {
  /** Address from the configuration; `REDIS_URL` of `env` takes precedence over it. */
  url: string | undefined;
  prefix: string;
  /** The state folder; everything of the embedded server lies in its folder `redis`. */
  stateDir: string;
}

const noticeableMs = 1_000;

export interface RedisHandle {
  /** Spread it into the options of every connection; the same over restarts of the server. */
  options: RedisConnectionOptions;
  how: 'url' | 'adopted' | 'started';
  /** Path of the server's program; null for an external one. */
  binary: string | null;
  /** One phrase for people; holds no password. */
  describe: string;
  /** Leaves the embedded server, and stops it when no other process uses it. Idempotent. */
  close(): Promise<void>;
}

/**
 * Opens Redis. With an address, that server or nothing: RedisUnreachableError when it cannot be used. Without one, the
 * server that already runs for this state folder, else one started here: RedisMissingError when there is no program,
 * RedisFailedError when it does not start. A server that dies is restarted on the same socket, so clients reconnect.
 */
export const openRedis = async (options: RedisOptions): Promise<RedisHandle> => {
  const { stateDir, env } = options;
  const url = env.REDIS_URL || options.url;
  if (url) return { ...(await reachExternal(url, options)), how: 'url', binary: null, close: async () => {} };
  const folder = join(resolve(stateDir), 'redis');
  const supervisor = new RedisSupervisor({ ...options, folder });
  const slow = setTimeout(() => options.report?.('starting Redis'), noticeableMs);
  const { how, socket, binary } = await supervisor.open().finally(() => clearTimeout(slow));
  return {
    options: { path: socket },
    how,
    binary,
    describe: `embedded Redis (${binary}), data in ${dataIn(folder)}`,
    close: () => supervisor.close(),
  };
};

/**
 * Makes sure that the server of a URL can be used: it answers within `timeoutMs`, takes the login, is new enough, and
 * lets this user write. A node of a cluster is recognized; connections then follow the slot of `prefix`. Throws
 * {@link RedisUnreachableError}, which names the host and port, never a password.
 */
export const reachExternal = async (
  url: string,
  { log, prefix, timeoutMs = 10_000 }: { log: Log; prefix: string; timeoutMs?: number },
): Promise<{ options: RedisConnectionOptions; describe: string }> => {
  const servers = parseRedisUrl(url);
  const where = servers.map(placeOf).join(', ');
  // Several addresses are nodes of one cluster, of which some may be down.
  const answers = servers.map((server) => queryServer(server, timeoutMs));
  const { version, evictsBy, isCluster } = await Promise.any(answers).catch(({ errors }: AggregateError) => {
    throw unusable(where, errors[0]);
  });
  if (version === null) {
    log.warn({ redis: where }, 'Redis does not report its version; using it anyway');
  } else if (!isNewEnough(version)) {
    throw new RedisUnreachableError(`${where} is ${version.name} ${version.version}, older than ${oldestRedis}`, {
      hint: `point REDIS_URL at Redis ${oldestRedis} or newer, or at Valkey`,
    });
  }
  if (evictsBy !== null) {
    throw new RedisUnreachableError(
      `Redis at ${where} deletes keys when its memory is short (maxmemory-policy ${evictsBy}): state would be lost`,
      { hint: 'set its maxmemory-policy to noeviction: when full it then refuses writes, and sluice tries them again' },
    );
  }
  const options = isCluster ? inCluster(servers, where, prefix) : single(servers, where);
  await tryOut(options, where, { prefix, timeoutMs });
  const what = version === null ? 'Redis' : `${version.name} ${version.version}`;
  return { options, describe: `${what}${isCluster ? ' cluster' : ''} at ${where}` };
};

const unusable = (where: string, cause: unknown): RedisUnreachableError =>
  new RedisUnreachableError(
    `Redis at ${where} cannot be used: ${errorMessage(cause).replace(' Please report this.', '')}`,
    {
      hint: 'start that server, or correct address, user, password and database in REDIS_URL (redis.url); unset it to use the embedded Redis',
      cause,
    },
  );

const inCluster = (servers: readonly RedisConnectionOptions[], where: string, prefix: string) => {
  if (!/\{[^}]+\}/.test(prefix)) {
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
  return clusterOptions(seeds, prefix, defined({ username, password, tls }));
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
for command, values in pairs({ HSET = { 'a', '1' }, XADD = { '*', 'a', '1' }, ZADD = { 1, 'a' } }) do
  redis.call(command, KEYS[1], unpack(values))
  redis.call('DEL', KEYS[1])
end
`;

/** A user may be kept from scripts or from our keys, and a replica from all writes: better reported now than in mid-work. */
const tryOut = async (
  options: RedisConnectionOptions,
  where: string,
  { prefix, timeoutMs }: { prefix: string; timeoutMs: number },
): Promise<void> => {
  try {
    await withConnection(options, timeoutMs, async (client) => {
      await client.select(options.db ?? 0); // again: where that is refused, ioredis goes on in database 0
      const key = `${prefix}.trial-${randomUUID()}`;
      await client.eval(trial, 1, key);
      await client.multi({ pipeline: false }); // in which the blocking read of the queue does not block
      await client.bzpopmin(key, 0);
    });
  } catch (cause) {
    // Only a reply is a refusal; the server may just have gone.
    const isReply = cause instanceof Error && cause.name === 'ReplyError';
    if (!isReply || cause.message.includes('DB index')) throw unusable(where, cause);
    if (machineFault(cause) instanceof StateFullError && !cause.message.startsWith('READONLY')) return; // status reads all the same
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

const schemes =
  'redis://[user:password@]host[:port][,host:port…][/db], rediss://… for TLS, unix:///path/to/socket, ' +
  'or redis+sentinel://[user:password@]host[:port][,host:port…]/name[/db]';

/**
 * The servers that a Redis URL names: one, or several nodes of a cluster. Sentinels count as one server, the one that they
 * watch. Throws {@link RedisUnreachableError} that shows no part of the URL which may be secret.
 */
export const parseRedisUrl = (text: string): [RedisConnectionOptions, ...RedisConnectionOptions[]] => {
  // A URL has one host: the others are cut out.
  const [, head = '', hosts = '', tail = ''] = /^((?:[a-z+]+:\/\/(?:[^/?#]*@)?)?)([^/?#]*)(.*)$/is.exec(text) ?? [];
  const [host = '', ...more] = hosts.split(',');
  const url = URL.parse(`${head}${host}${tail}`) ?? wrong('is not a URL');
  const others = more.map((other) => (other && URL.parse(`redis://${other}`)) || wrong('has an invalid host'));
  if (!/^(?:unix|rediss?(?:\+sentinel)?):$/.test(url.protocol)) return wrong(`begins with ${url.protocol}, not redis:`);
  const [scheme, isWatched] = [url.protocol.replace(/\+sentinel:$|:$/, ''), url.protocol.endsWith('+sentinel:')];
  const [name = '', db = ''] = isWatched ? url.pathname.slice(1).split('/') : ['', url.pathname.slice(1)];
  const common = {
    ...(url.username && { username: decodeURIComponent(url.username) }),
    ...(url.password && { password: decodeURIComponent(url.password) }),
    ...database(url.searchParams.get('db') ?? (scheme === 'unix' ? '' : db)),
  };
  if (url.protocol === 'unix:') return [{ path: decodeURIComponent(url.pathname), ...common }];
  const isTls = scheme === 'rediss';
  if (isWatched) {
    if (name === '') return wrong('lacks the name of the server that the sentinels watch');
    const sentinels = [url, ...others].map((each) => addressOf(each, 26379));
    const tls = isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {};
    return [{ sentinels, name: decodeURIComponent(name), ...tls, ...common }];
  }
  const serverAt = (each: URL): RedisConnectionOptions => {
    const address = addressOf(each, 6379);
    return { ...address, ...(isTls && { tls: tlsOf(address.host) }), ...common };
  };
  return [serverAt(url), ...others.map(serverAt)];
};

const wrong = (what: string): never => {
  throw new RedisUnreachableError(`REDIS_URL (redis.url) ${what}`, { hint: `write it as ${schemes}` });
};

const addressOf = (url: URL, port: number): { host: string; port: number } => ({
  host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
  port: url.port === '' ? port : Number(url.port),
});

const database = (text: string): RedisConnectionOptions => {
  if (text === '') return {};
  return /^\d{1,5}$/.test(text) ? { db: Number(text) } : wrong('names a database that is not a number');
};

// Reads the address of an external Redis.
import { RedisUnreachableError } from '../model/errors.ts';
import { tlsOf } from '../state/redis/cluster.ts';
import type { RedisConnectionOptions } from '../state/redis/connection.ts';

const schemes =
  'redis://[user:password@]host[:port][,host:port…][/db], rediss://… for TLS, unix:///path/to/socket, ' +
  'or redis+sentinel://[user:password@]host[:port][,host:port…]/name[/db]';

/**
 * The servers that a Redis URL names: one, or several nodes of a cluster. Sentinels count as one server, the one that they
 * watch. Throws {@link RedisUnreachableError} that shows no part of the URL which may be secret.
 */
export const parseRedisUrl = (text: string): [RedisConnectionOptions, ...RedisConnectionOptions[]] => {
  const { first, others } = splitHosts(text);
  const url = URL.canParse(first) ? new URL(first) : null;
  if (url === null) throw wrong('is not a URL');
  if (url.protocol === 'unix:') {
    return [{ path: decodeURIComponent(url.pathname), ...login(url), ...database(url.searchParams.get('db')) }];
  }
  const hosts = [url, ...others.map((host) => new URL(`redis://${host}`))];
  if (/^rediss?\+sentinel:$/.test(url.protocol)) return [sentinels(url, hosts)];
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw wrong(`begins with ${url.protocol}, not redis:`);
  const common = { ...login(url), ...database(url.searchParams.get('db') ?? url.pathname.slice(1)) };
  const [only, ...more] = hosts.map((each) => {
    const address = addressOf(each, 6379);
    return { ...address, ...(url.protocol === 'rediss:' ? { tls: tlsOf(address.host) } : {}), ...common };
  });
  return only ? [only, ...more] : [common];
};

const wrong = (what: string): RedisUnreachableError =>
  new RedisUnreachableError(`REDIS_URL (redis.url) ${what}`, { hint: `write it as ${schemes}` });

/** A URL has one host: the others are cut out. */
const splitHosts = (text: string): { first: string; others: string[] } => {
  const [, before = '', authority = '', after = ''] = /^([a-z+]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(text) ?? [];
  const [host = '', ...others] = authority.split(',');
  if (others.length === 0) return { first: text, others };
  if (!others.every((other) => other !== '' && URL.canParse(`redis://${other}`))) {
    throw wrong('names a host that cannot be read');
  }
  return { first: `${before}${host}${after}`, others };
};

const addressOf = (url: URL, port: number): { host: string; port: number } => ({
  host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
  port: url.port === '' ? port : Number(url.port),
});

const sentinels = (url: URL, hosts: URL[]): RedisConnectionOptions => {
  const [name = '', db = ''] = url.pathname.slice(1).split('/');
  if (name === '') throw wrong('lacks the name of the server that the sentinels watch');
  const isTls = url.protocol === 'rediss+sentinel:';
  return {
    sentinels: hosts.map((host) => addressOf(host, 26379)),
    name: decodeURIComponent(name),
    ...(isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    ...login(url),
    ...database(db),
  };
};

const login = (url: URL): RedisConnectionOptions => ({
  ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
  ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
});

const database = (text: string | null): RedisConnectionOptions => {
  if (text === null || text === '') return {};
  if (!/^\d{1,5}$/.test(text)) throw wrong('names a database that is not a number');
  return { db: Number(text) };
};

// How connections to Redis are made, and the short questions asked of a server before it is used.
import { Redis, type RedisOptions } from 'ioredis';
import { parseVersionInfo, type ServerVersion } from './version.ts';

/** What reaches a Redis. Spread it into the options of every connection, of ioredis and of BullMQ alike. */
export interface RedisConnectionOptions {
  /** A unix socket; absent where `host` and `port` are set. */
  path?: string;
  host?: string;
  port?: number;
  tls?: { servername?: string };
  username?: string;
  password?: string;
  db?: number;
  /** Sentinels that know the server, and the name by which they do. */
  sentinels?: { host: string; port: number }[];
  name?: string;
  enableTLSForSentinelMode?: boolean;
  sentinelTLS?: Record<string, never>;
  /** Finds the server of a cluster. */
  Connector?: NonNullable<RedisOptions['Connector']>;
  reconnectOnError?: (error: Error) => 2 | false;
}

/** What a server reports of itself. Null where it does not, as some hosted ones. */
export interface ServerFacts {
  version: ServerVersion | null;
  pid: number | null;
  /** The `maxmemory-policy`. */
  policy: string | null;
  /** True for a node of a cluster. */
  isCluster: boolean;
}

/** Runs `work` on a connection made once, without any retry; rejects with the real cause when it cannot be made. */
export const withConnection = async <T>(
  options: RedisConnectionOptions,
  timeoutMs: number,
  work: (client: Redis) => Promise<T>,
): Promise<T> => {
  const client = new Redis({
    ...options,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    disconnectTimeout: 20, // nothing is under way any more; the default keeps a process alive for two seconds
  });
  let cause: unknown;
  client.on('error', (error: unknown) => {
    cause ??= error; // the first one says why; what follows only says "closed"
  });
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw cause ?? error;
  } finally {
    client.disconnect();
  }
};

/** Asks a server for its version, process and memory policy; rejects when it does not answer or refuses the login. */
export const askServer = (options: RedisConnectionOptions, timeoutMs: number): Promise<ServerFacts> =>
  withConnection(options, timeoutMs, async (client) => {
    await client.ping();
    const info = parseInfo(await client.info().catch(() => '')); // hosted servers may forbid INFO
    const pid = Number.parseInt(info.get('process_id') ?? '', 10);
    return {
      version: parseVersionInfo(info),
      pid: Number.isSafeInteger(pid) ? pid : null,
      policy: info.get('maxmemory_policy') ?? null,
      isCluster: info.get('cluster_enabled') === '1',
    };
  });

/** `ready` answers PING, if only with a complaint about its disk; `loading` is reading its data; `silent` does not answer. */
export type Pulse = 'ready' | 'loading' | 'silent';

/** Feels whether a server behind a socket lives; never rejects. */
export const pingState = async (socket: string, timeoutMs = 1_000): Promise<Pulse> => {
  try {
    await withConnection({ path: socket }, timeoutMs, (client) => client.ping());
    return 'ready';
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ReplyError') return 'silent';
    return /^(LOADING|BUSY)\b/.test(error.message) ? 'loading' : 'ready';
  }
};

const parseInfo = (text: string): Map<string, string> => {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
};

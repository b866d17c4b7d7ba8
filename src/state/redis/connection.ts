// Connections to Redis: options, supported versions, and the checks of a server before it is used.
import { Redis, type RedisOptions } from 'ioredis';

/** What reaches a Redis. Spread it into the options of every connection, of ioredis and of BullMQ alike. */
export type RedisConnectionOptions = Pick<
  RedisOptions,
  'path' | 'host' | 'port' | 'tls' | 'username' | 'password' | 'db' | 'sentinels' | 'name' | 'Connector'
> &
  Pick<RedisOptions, 'enableTLSForSentinelMode' | 'sentinelTLS' | 'reconnectOnError'>;

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
    disconnectTimeout: 20, // nothing is in progress any more; the default keeps a process alive for two seconds
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

/** What a server reports of itself, null where it does not, as some hosted ones; rejects when it does not answer or refuses the login. */
export const queryServer = (options: RedisConnectionOptions, timeoutMs: number) =>
  withConnection(options, timeoutMs, async (client) => {
    await client.echo(''); // a full disk refuses the ping, too
    const text = await client.info().catch(() => ''); // hosted servers may forbid INFO
    const info = new Map(text.matchAll(/^([^:\r\n]+):(.*?)\r?$/gm).map(([, name = '', value = '']) => [name, value]));
    const policy = info.get('maxmemory_policy') ?? 'noeviction';
    const pid = Number.parseInt(info.get('process_id') ?? '', 10);
    return {
      version: parseVersionInfo(info),
      pid: Number.isSafeInteger(pid) ? pid : null,
      /** The `maxmemory-policy` by which it deletes keys when its memory is short; null where it keeps all. */
      evictsBy: policy === 'noeviction' || info.get('maxmemory') === '0' ? null : policy,
      isCluster: info.get('cluster_enabled') === '1',
    };
  });

export const pingState = async (socket: string, timeoutMs = 1_000): Promise<'ready' | 'loading' | 'silent'> => {
  try {
    await withConnection({ path: socket }, timeoutMs, (client) => client.ping());
    return 'ready';
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ReplyError') return 'silent';
    return /^(LOADING|BUSY)\b/.test(error.message) ? 'loading' : 'ready';
  }
};

/** Name and version of a server. Valkey counts its versions again from 7.2 and is accepted by name. */
export interface ServerVersion {
  name: string;
  /** `major.minor.patch` as the server prints it. */
  version: string;
}

/** The oldest Redis that the queue can use: below it a blocking read cannot wait for less than a second. */
export const oldestRedis = '7.0.8';

/** True when sluice can work with that server: any Valkey, and Redis from {@link oldestRedis}. */
export const isNewEnough = ({ name, version }: ServerVersion): boolean =>
  name === 'Valkey' || sortable(version) >= sortable(oldestRedis);

const sortable = (version: string): string => version.replaceAll(/\d+/g, (part) => part.padStart(9, '0'));

/**
 * Reads the line that `redis-server --version` prints (`Redis server v=7.0.15 sha=…`, `Valkey server v=8.0.1 …`);
 * null when it is not such a line. Without a name it is Redis.
 */
export const parseVersionLine = (line: string): ServerVersion | null => {
  const match = /(?:\b(redis|valkey)\s+)?server v=(\d+(?:\.\d+)*)/i.exec(line);
  if (match?.[2] === undefined) return null;
  return { name: match[1]?.toLowerCase() === 'valkey' ? 'Valkey' : 'Redis', version: match[2] };
};

/** Reads the same from the reply of `INFO server`; null when it names no version. */
export const parseVersionInfo = (info: ReadonlyMap<string, string>): ServerVersion | null => {
  const version = info.get('valkey_version') ?? info.get('redis_version');
  if (version === undefined) return null;
  const isValkey = info.has('valkey_version') || info.get('server_name')?.toLowerCase() === 'valkey';
  return { name: isValkey ? 'Valkey' : 'Redis', version };
};

/** What ioredis keeps of commands that were sent before a connection broke; it is not in its types. */
interface Stash {
  prevCommandQueue?: { shift(): { command: { reject(error: Error): void } } | undefined } | null;
}

/** Hosted servers may forbid INFO, which the client and the queue ask for a version that we have looked at before. */
const answerForbidden = (info: { resolve(reply: string): void; reject(error: Error): void }): void => {
  const { reject } = info;
  info.reject = (error) =>
    /^NOPERM|unknown command/.test(error.message) ? info.resolve(`redis_version:${oldestRedis}`) : reject(error);
};

/**
 * An ioredis client that ends in every state. ioredis 6.0 forgets two things when it is disconnected between the break of
 * a connection and the next one: that nothing will notify it of an end while it waits for its next try, and the commands
 * in progress when the connection broke. A worker of the queue that is closed then would wait forever. (Known to
 * both: redis/ioredis#2169 and #2197, taskforcesh/bullmq#4585.)
 */
export class EndableRedis extends Redis {
  constructor(options: Omit<RedisOptions, 'replyMapping'>) {
    super(options);
    this.on('end', () => this.#rejectStash());
  }

  /** Made by the queue for its blocking connections. */
  override duplicate(override: RedisOptions = {}): Redis {
    return new EndableRedis({ ...this.options, ...override });
  }

  /** Commands of one turn of the event loop leave together, in their order. (Auto-pipelining would leave scripts out.) */
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const { stream } = this;
    const [command] = args;
    if (command.name === 'info') answerForbidden(command);
    if (stream?.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    return super.sendCommand(...args);
  }

  override disconnect(reconnect = false): void {
    // As a client that has not connected yet, it ends at once.
    if (!reconnect && this.status === 'reconnecting') this.status = 'wait';
    super.disconnect(reconnect);
  }

  #rejectStash(): void {
    const stash = (this as Stash).prevCommandQueue;
    for (let item = stash?.shift(); item; item = stash?.shift()) {
      item.command.reject(new Error('Connection is closed.')); // the words by which the queue knows such an error
    }
  }
}

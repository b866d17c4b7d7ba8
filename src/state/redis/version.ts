// Which Redis and Valkey versions sluice can work with, and how a server reports its own.

/** Name and version of a server. Valkey counts its versions anew from 7.2 and is accepted by name. */
export interface ServerVersion {
  name: string;
  /** `major.minor.patch` as the server prints it. */
  version: string;
}

/** The oldest Redis that the queue can use: below it a blocking read cannot wait for less than a second. */
export const oldestRedis = '7.0.8';

const numbers = (version: string): [number, number, number] => {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return [major, minor, patch];
};

/** True when sluice can work with that server: any Valkey, and Redis from {@link oldestRedis}. */
export const isNewEnough = ({ name, version }: ServerVersion): boolean => {
  if (name === 'Valkey') return true;
  const have = numbers(version);
  const need = numbers(oldestRedis);
  const at = have.findIndex((part, index) => part !== need[index]);
  return at === -1 || (have[at] ?? 0) > (need[at] ?? 0);
};

/**
 * Reads the line that `redis-server --version` prints (`Redis server v=7.0.15 sha=…`, `Valkey server v=8.0.1 …`);
 * null when it is not such a line. A line without a name is taken for Redis.
 */
export const parseVersionLine = (line: string): ServerVersion | null => {
  const match = /(?:\b(redis|valkey)\s+)?server v=(\d+(?:\.\d+)*)/i.exec(line);
  if (match?.[2] === undefined) return null;
  return { name: match[1]?.toLowerCase() === 'valkey' ? 'Valkey' : 'Redis', version: match[2] };
};

/** Reads the same from the reply of `INFO server`; null when it names no version. */
export const parseVersionInfo = (info: ReadonlyMap<string, string>): ServerVersion | null => {
  const valkey = info.get('valkey_version');
  if (valkey !== undefined) return { name: 'Valkey', version: valkey };
  const redis = info.get('redis_version');
  if (redis === undefined) return null;
  return { name: info.get('server_name')?.toLowerCase() === 'valkey' ? 'Valkey' : 'Redis', version: redis };
};

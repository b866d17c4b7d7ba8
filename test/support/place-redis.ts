// Which Redis the commands of a place use.
import { keepServer, killServersAfterwards } from '../redis-server/embedded-support.ts';
import { claimDatabase, type Database } from './shared-redis.ts';

/**
 * A database of the Redis that all tests share, which takes a tenth of the time; or the embedded one, which ends with the
 * last command that uses it unless it is `kept`.
 */
export type PlaceRedis = 'shared' | 'embedded' | 'kept';

/** Sets it up for a place with this state folder; nothing where it is the embedded one. */
export const redisOf = (kind: PlaceRedis, stateDir: string): Partial<Database> => {
  if (kind === 'shared') return claimDatabase();
  killServersAfterwards(stateDir);
  if (kind === 'kept') keepServer(stateDir);
  return {};
};

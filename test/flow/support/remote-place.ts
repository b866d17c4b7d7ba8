// A place that publishes to a portal elsewhere.
import type { PlaceRedis } from '../../support/place-redis.ts';
import { makePlace, type Place } from './place.ts';
import { remoteConfig, writePassword } from './server.ts';

/** Makes a place with a remote portal `local` at an address and its password; `config` is merged over quick settings. */
export const makeRemotePlace = (url: string, config: Record<string, unknown> = {}, redis?: PlaceRedis): Place => {
  const place = makePlace({ ...remoteConfig(url), ...config }, redis);
  writePassword(place.dir);
  return place;
};

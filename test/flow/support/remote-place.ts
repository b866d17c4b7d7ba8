// A place that publishes to a portal elsewhere.
import { makePlace, type Place } from './place.ts';
import { remoteConfig, writePassword } from './server.ts';

/** Makes a place with a remote portal `local` at an address and its password; `config` is merged over quick settings. */
export const makeRemotePlace = (
  url: string,
  config: Record<string, unknown> = {},
  options?: { keepsRedis: boolean },
): Place => {
  const place = makePlace({ ...remoteConfig(url), ...config }, options);
  writePassword(place.dir);
  return place;
};

// A portal process with a gateway before it, people who look and edit there, and a place that publishes through the gateway.
import { openGatedPortal } from './gated-portal.ts';
import type { Gateway } from './gateway.ts';
import { openReader, type Reader } from './reader.ts';
import { makeRedisPlace, type RedisPlace } from './redis-place.ts';
import { editor, publisher } from './server.ts';

/** See the head of this file. */
export interface PortalPlace {
  gateway: Gateway;
  /** Looks with the rights of an administrator. */
  reader: Reader;
  /** A person who may edit everything on the portal. */
  person: Reader;
  place: RedisPlace;
}

/** Opens all of it; `config` is for the place. It ends with the test file. */
export const openPortalPlace = async (config: Record<string, unknown> = {}): Promise<PortalPlace> => {
  const { portal, reader, gateway } = await openGatedPortal();
  return {
    gateway,
    reader,
    person: await openReader(portal.url, editor.username, publisher.password),
    place: makeRedisPlace(gateway.url, config),
  };
};

// A portal with a gateway before it.
import { type Gateway, openGateway } from './gateway.ts';
import type { Reader } from './reader.ts';
import { type RunningPortal, startPortal } from './server.ts';

/** See the head of this file. */
export interface GatedPortal {
  portal: RunningPortal;
  /** Looks with the rights of an administrator, past the gateway. */
  reader: Reader;
  gateway: Gateway;
}

/** Opens all of it; `more` are further arguments of `sluice portal`. It ends with the test file. */
export const openGatedPortal = async (more: string[] = []): Promise<GatedPortal> => {
  const portal = await startPortal(more);
  return { portal, reader: await portal.reader(), gateway: await openGateway(portal.url) };
};

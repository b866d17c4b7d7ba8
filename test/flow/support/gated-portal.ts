// A portal process with a gateway before it.
import { type Gateway, openGateway } from './gateway.ts';
import type { Reader } from './reader.ts';
import { type PortalProcess, startPortalProcess } from './server.ts';

/** See the head of this file. */
export interface GatedPortal {
  portal: PortalProcess;
  /** Looks with the rights of an administrator, past the gateway. */
  reader: Reader;
  gateway: Gateway;
}

/** Opens all of it; `more` are further arguments of `sluice portal`. It ends with the test file. */
export const openGatedPortal = async (more: string[] = []): Promise<GatedPortal> => {
  const portal = await startPortalProcess(more);
  return { portal, reader: await portal.reader(), gateway: await openGateway(portal.url) };
};

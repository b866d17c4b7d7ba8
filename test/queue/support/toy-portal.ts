// An HTTP server that stands for a portal: up or down, counting what it is asked.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** See the head of this file. */
export interface ToyPortal {
  url: string;
  /** Names of portals that answer 503. */
  down: Set<string>;
  /** Seconds a portal that answers 503 asks for by `Retry-After`; null: none. */
  retryAfter: number | null;
  /** Names of portals that answer 503 to work, but not to probes. */
  broken: Set<string>;
  /** `<portal>/work` and `<portal>/probe`, in order. */
  asked: string[];
  /** Most probes of one portal that were open at once. */
  probesAtOnce: number;
  close(): void;
}

/** Listens on a free port; a probe is answered after some milliseconds, so that two at once would meet. */
export const openToyPortal = async (): Promise<ToyPortal> => {
  let open = 0;
  const server = createServer(async (request, reply) => {
    const path = (request.url ?? '').slice(1);
    portal.asked.push(path);
    const isProbe = path.endsWith('/probe');
    if (isProbe) {
      open += 1;
      portal.probesAtOnce = Math.max(portal.probesAtOnce, open);
      await sleep(30);
      open -= 1;
    }
    const name = path.split('/')[0] ?? '';
    const fails = portal.down.has(name) || (portal.broken.has(name) && !isProbe);
    const { retryAfter } = portal;
    const headers = fails && retryAfter !== null ? { 'retry-after': String(retryAfter) } : {};
    reply.writeHead(fails ? 503 : 200, headers).end();
  });
  const portal: ToyPortal = {
    url: '',
    down: new Set(),
    retryAfter: null,
    broken: new Set(),
    asked: [],
    probesAtOnce: 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  portal.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return portal;
};

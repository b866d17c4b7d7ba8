// An HTTP server that takes notices, or refuses them.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterAll } from 'vitest';

/** A request as it came. */
export interface Taken {
  headers: IncomingHttpHeaders;
  method: string;
  body: string;
}

/** See the head of this file. */
export interface Hook {
  url: string;
  /** Status of the answers. */
  status: number;
  taken: Taken[];
  /** Events of the notices that were taken with a 2xx answer, in order. */
  events(): string[];
}

/** Listens on a free port; closed after the test file. */
export const openHook = async (): Promise<Hook> => {
  const accepted: Taken[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const taken = { headers: request.headers, method: request.method ?? '', body };
      hook.taken.push(taken);
      if (hook.status < 300) accepted.push(taken);
      reply.writeHead(hook.status).end();
    });
  });
  const hook: Hook = {
    url: '',
    status: 200,
    taken: [],
    events: () => accepted.map(({ headers }) => String(headers['sluice-event'])),
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  hook.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook/t0ken`;
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return hook;
};

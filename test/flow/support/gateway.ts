// A plain HTTP gateway before a portal: counts every request, and lets a test act at an exact moment of one.
import { createServer, type IncomingMessage, request } from 'node:http';
import { afterAll } from 'vitest';

/** A request that came through. */
export interface Passed {
  method: string;
  path: string;
  body: string;
  /** Null while the portal has not answered. */
  status: number | null;
}

/** Called with a request before it reaches the portal, or after the portal has answered and the caller has not heard. */
export type Moment = (passed: Passed) => void | Promise<void>;

/** See the head of this file. */
export interface Gateway {
  url: string;
  /** Portal behind it; null answers 502. */
  target: string | null;
  requests: Passed[];
  before: Moment;
  after: Moment;
  /** An answer in the place of the portal's, which does not get the request; null: none. */
  instead: (passed: Passed) => { status: number; body: unknown } | null;
  /** `METHOD path` of requests that change something, since the last call. */
  takeWrites(): string[];
  logins(): number;
}

const sessionPaths = /\/user\/(login|logout|token)|\/services\/session\/token/;

/** True for a request that changes nodes, files or datastores. */
export const isWrite = ({ method, path }: Passed): boolean =>
  method !== 'GET' && !sessionPaths.test(path) && !path.startsWith('/api/action/');

/** Opens a gateway; it is closed after the test file. */
export const openGateway = async (target: string): Promise<Gateway> => {
  let taken = 0;
  const gateway: Gateway = {
    url: '',
    target,
    requests: [],
    before: () => undefined,
    after: () => undefined,
    instead: () => null,
    takeWrites: () => {
      const writes = gateway.requests.slice(taken).filter(isWrite);
      taken = gateway.requests.length;
      return writes.map(({ method, path }) => `${method} ${path}`);
    },
    logins: () => gateway.requests.filter(({ path }) => path.includes('/user/login')).length,
  };
  const server = createServer(async (incoming, reply) => {
    const passed: Passed = { method: incoming.method ?? '', path: incoming.url ?? '', body: '', status: null };
    gateway.requests.push(passed);
    try {
      const body = await bytesOf(incoming);
      passed.body = body.toString('utf8');
      await gateway.before(passed);
      const odd = gateway.instead(passed);
      if (odd !== null) {
        passed.status = odd.status;
        reply.writeHead(odd.status, { 'content-type': 'application/json' }).end(JSON.stringify(odd.body));
        return;
      }
      if (gateway.target === null) throw new Error('no portal');
      const answer = await forward(incoming, body, new URL(passed.path, gateway.target));
      const answered = await bytesOf(answer);
      passed.status = answer.statusCode ?? 0;
      await gateway.after(passed);
      reply.writeHead(passed.status, answer.statusMessage ?? '', answer.headers);
      reply.end(answered);
    } catch {
      passed.status ??= 502;
      if (!reply.headersSent) reply.writeHead(502);
      reply.end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  gateway.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return gateway;
};

const bytesOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const forward = (incoming: IncomingMessage, body: Buffer, url: URL): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { method, headers } = incoming;
    const { 'transfer-encoding': _chunked, ...kept } = headers;
    const sized = body.length > 0 ? { ...kept, 'content-length': String(body.length) } : kept;
    const outgoing = request(url, { method, headers: sized, agent: false }, resolve);
    outgoing.once('error', reject);
    outgoing.end(body);
  });

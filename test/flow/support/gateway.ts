// A plain HTTP gateway before a portal: counts every request, and lets a test act at an exact moment of one.
import { createServer, type IncomingMessage, request } from 'node:http';
import { afterAll } from 'vitest';

/** A request that came through. */
export interface Passed {
  method: string;
  path: string;
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
  /** `METHOD path` of requests that change something, since the last call. */
  takeWrites(): string[];
  logins(): number;
}

const sessionPaths = /\/user\/(login|logout|token)|\/services\/session\/token/;

/** True for a request that changes nodes, files or datastores. */
export const isWrite = ({ method, path }: Passed): boolean => method !== 'GET' && !sessionPaths.test(path);

/** Opens a gateway; it is closed after the test file. */
export const openGateway = async (target: string): Promise<Gateway> => {
  let taken = 0;
  const gateway: Gateway = {
    url: '',
    target,
    requests: [],
    before: () => undefined,
    after: () => undefined,
    takeWrites: () => {
      const writes = gateway.requests.slice(taken).filter(isWrite);
      taken = gateway.requests.length;
      return writes.map(({ method, path }) => `${method} ${path}`);
    },
    logins: () => gateway.requests.filter(({ path }) => path.includes('/user/login')).length,
  };
  const server = createServer(async (incoming, reply) => {
    const passed: Passed = { method: incoming.method ?? '', path: incoming.url ?? '', status: null };
    gateway.requests.push(passed);
    try {
      await gateway.before(passed);
      if (gateway.target === null) throw new Error('no portal');
      const answer = await forward(incoming, new URL(passed.path, gateway.target));
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      passed.status = answer.statusCode ?? 0;
      await gateway.after(passed);
      reply.writeHead(passed.status, answer.statusMessage ?? '', answer.headers);
      reply.end(Buffer.concat(chunks));
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

const forward = (incoming: IncomingMessage, url: URL): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, { method: incoming.method, headers: incoming.headers, agent: false }, resolve);
    outgoing.once('error', reject);
    incoming.once('error', reject);
    incoming.pipe(outgoing);
  });

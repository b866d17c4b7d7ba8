// A portal of our own in a temporary folder, and a plain HTTP client for it.
import { request } from 'node:http';
import { afterAll } from 'vitest';
import { hashPassword } from '../../src/embedded-portal/password.ts';
import {
  type PortalServer,
  type PortalServerOptions,
  startPortalServer,
} from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import { tempDir } from './temp-dir.ts';

/** A reply as it came. */
export interface Reply {
  status: number;
  reason: string;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The body parsed as JSON; throws when it is none. */
  json: <T = Record<string, unknown>>() => T;
}

/** What a request sends beside method and path. */
export interface Sent {
  /** Sent as JSON unless it is a text or bytes. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** A caller: anonymous, or with a session and its token. */
export interface Caller {
  send(method: string, path: string, sent?: Sent): Promise<Reply>;
  /** Creates a node and returns its nid. */
  create(node: Record<string, unknown>): Promise<string>;
  read(nid: string): Promise<Record<string, unknown>>;
  /** Attaches a file; `attach` is "0" when absent. */
  attach(nid: string, file: { name: string; content: string | Buffer; attach?: string }): Promise<Reply>;
  cookie: string;
  token: string;
}

const accounts = [
  { uid: 1, name: 'admin', roles: [] },
  { uid: 3, name: 'creator', roles: ['content creator'] },
  { uid: 4, name: 'creator2', roles: ['content creator'] },
  { uid: 5, name: 'editor', roles: ['editor'] },
  { uid: 6, name: 'manager', roles: ['site manager'] },
  { uid: 7, name: 'administrator', roles: ['administrator'] },
  { uid: 8, name: 'plain', roles: [] },
  { uid: 9, name: 'blocked', roles: [], status: 0 as const },
];

/** Hashed once for all of them: a hash costs as much as it should. */
const password = await hashPassword('pass');

/** The users of every test portal; the password of each is `pass`. */
export const testUsers = accounts.map((account) => ({ ...account, password }));

/**
 * `roles` of a portal on which content creators lack *manage datastore*. A portal started again on the same folder without
 * them has given the permission back.
 */
export const withoutDatastores = { 'content creator': ['create content', 'edit own content'] } as const;

/** Sends one request over HTTP, the path byte for byte. */
export const sendRaw = (url: string, method: string, path: string, sent: Sent = {}): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const isRaw = typeof sent.body === 'string' || Buffer.isBuffer(sent.body);
    const body = sent.body === undefined ? null : isRaw ? (sent.body as string | Buffer) : JSON.stringify(sent.body);
    const headers = {
      accept: 'application/json',
      ...(body === null || isRaw ? {} : { 'content-type': 'application/json' }),
      ...(body === null || sent.headers?.['transfer-encoding'] !== undefined
        ? {}
        : { 'content-length': String(Buffer.byteLength(body)) }),
      ...sent.headers,
    };
    const call = request(
      { hostname, port, method, path, headers: { host: `${hostname}:${port}`, ...headers } },
      (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: reply.statusCode ?? 0,
            reason: reply.statusMessage ?? '',
            headers: reply.headers,
            text,
            json: <T>() => JSON.parse(text) as T,
          });
        });
      },
    );
    call.on('error', reject);
    call.end(body ?? undefined);
  });

/** A multipart body of text parts and files. */
export const multipart = (
  parts: { name: string; value: string | Buffer; filename?: string; type?: string }[],
): { body: Buffer; headers: Record<string, string> } => {
  const boundary = '----sluicetest7MA4YWxkTrZu0gW';
  const chunks = parts.flatMap(({ name, value, filename, type }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`,
    ),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
  return {
    body: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
};

const callerWith = (url: string, cookie: string, token: string): Caller => {
  const own: Record<string, string> = cookie === '' ? {} : { cookie, 'x-csrf-token': token };
  const send = (method: string, path: string, sent: Sent = {}): Promise<Reply> =>
    sendRaw(url, method, path, { ...sent, headers: { ...own, ...sent.headers } });
  return {
    cookie,
    token,
    send,
    async create(node) {
      const reply = await send('POST', '/api/dataset/node', { body: node });
      if (reply.status !== 200) throw new Error(`create: ${reply.status} ${reply.text}`);
      return reply.json<{ nid: string }>().nid;
    },
    async read(nid) {
      const reply = await send('GET', `/api/dataset/node/${nid}`);
      if (reply.status !== 200) throw new Error(`read: ${reply.status} ${reply.text}`);
      return reply.json();
    },
    attach(nid, { name, content, attach = '0' }) {
      const sent = multipart([
        { name: 'attach', value: attach },
        { name: 'field_name', value: 'field_upload' },
        { name: 'files[1]', value: content, filename: name, type: 'text/csv' },
      ]);
      return send('POST', `/api/dataset/node/${nid}/attach_file`, sent);
    },
  };
};

/** Logs in (password `pass`) at a portal with {@link testUsers} and returns the caller. */
export const logIn = async (url: string, name: string): Promise<Caller> => {
  const reply = await sendRaw(url, 'POST', '/api/dataset/user/login', { body: { username: name, password: 'pass' } });
  const { session_name, sessid, token } = reply.json<Record<string, string>>();
  return callerWith(url, `${session_name}=${sessid}`, token ?? '');
};

/** A running portal with callers for its users. */
export interface TestPortal {
  server: PortalServer;
  url: string;
  anonymous: Caller;
  /** Logs in (password `pass`) and returns the caller. */
  as(name: string): Promise<Caller>;
}

/** Starts a portal with {@link testUsers}; it is closed after the test file. */
export const startTestPortal = async (options: Partial<PortalServerOptions> = {}): Promise<TestPortal> => {
  const server = await startPortalServer({
    dataDir: tempDir(),
    users: testUsers,
    log: createLog({ level: 'silent' }),
    ...options,
  });
  afterAll(() => server.close());
  const { url } = server;
  return {
    server,
    url,
    anonymous: callerWith(url, '', ''),
    as: (name) => logIn(url, name),
  };
};

// Requests that ask too much: each is refused by its status or ended, and the portal serves on.

import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, multipart, startTestPortal, type TestPortal } from '../../support/portal.ts';
import { waitUntil } from '../../support/wait-until.ts';

let portal: TestPortal;
let creator: Caller;
let nid: string;

beforeAll(async () => {
  const limits = {
    bodyBytes: 100_000,
    fileBytes: 50_000,
    headersMs: 300,
    bodyIdleMs: 300,
    bodyRate: 1000,
    answerIdleMs: 300,
  };
  portal = await startTestPortal({ limits });
  creator = await portal.as('creator');
  nid = await creator.create({ type: 'resource', title: 'Target' });
});

const files = (): string[] => readdirSync(join(portal.server.dataDir, 'files'));

const post = (type: string, body: string | Buffer): Promise<number> =>
  creator.send('POST', '/api/dataset/node', { body, headers: { 'content-type': type } }).then(({ status }) => status);

const deep = (open: string, close: string, times: number): string => open.repeat(times) + close.repeat(times);

describe('A body', () => {
  it.each([
    'application/json',
    'application/x-www-form-urlencoded',
    'application/x-yaml',
    'application/xml',
    'application/vnd.php.serialized',
  ])('of type %s that is too large is 413 before it is read', async (type) => {
    expect(await post(type, 'x'.repeat(100_001))).toBe(413);
  });

  it.each([
    ['application/json', `{"type":"dataset","title":${deep('[', ']', 500)}}`],
    ['application/x-www-form-urlencoded', `title${'[a]'.repeat(500)}=1`],
    ['application/x-yaml', `title: ${deep('[', ']', 500)}`],
    ['application/xml', deep('<a>', '</a>', 500)],
    ['application/vnd.php.serialized', `${'a:1:{i:0;'.repeat(500)}N;${'}'.repeat(500)}`],
  ])('of type %s that is nested too deep is refused', async (type, body) => {
    expect([400, 406]).toContain(await post(type, body));
  });

  it.each([
    ['application/x-www-form-urlencoded', Array.from({ length: 6000 }, (_, index) => `k${index}=1`).join('&')],
    [
      'multipart/form-data; boundary=x',
      `${Array.from({ length: 6000 }, (_, index) => `--x\r\ncontent-disposition: form-data; name="k${index}"\r\n\r\n\r\n`).join('')}--x--\r\n`,
    ],
  ])('of type %s with too many keys is refused', async (type, body) => {
    expect([400, 413]).toContain(await post(type, body));
  });

  it.each([
    ['names', (name: string) => ({ name })],
    ['new terms', (name: string) => ({ tid: 'autocreate', name: `new ${name}` })],
  ])('with %s of more terms than one request may create is refused, and creates none', async (_, tag) => {
    const tagged = (count: number) => ({
      type: 'dataset',
      title: 'Tagged',
      field_tags: { und: Array.from({ length: count }, (_, at) => tag(`t${at}`)) },
    });
    const refused = await creator.send('POST', '/api/dataset/node', { body: tagged(1001) });
    expect(refused.status).toBe(406);
    expect(refused.json()).toEqual(['A request may create 1000 terms at most.']);
    const made = await creator.read(await creator.create(tagged(1000)));
    expect(made.field_tags).toMatchObject({ und: { length: 1000 } });
  });

  it('with a field that is too long for a node is refused with its name', async () => {
    const reply = await creator.send('POST', '/api/dataset/node', {
      body: { type: 'dataset', title: 'x', field_author: { und: [{ value: 'x'.repeat(256) }] } },
    });
    expect(reply.status).toBe(406);
    expect(reply.json()).toMatchObject({ form_errors: { field_author: expect.stringContaining('255') } });
  });
});

describe('An upload', () => {
  it('that is too large is 413, and nothing of it stays', async () => {
    const before = files();
    const reply = await creator.attach(nid, { name: 'large.csv', content: 'x'.repeat(50_001) });
    expect(reply.status).toBe(413);
    await waitUntil('the bytes are gone', () => files().length === before.length);
  });

  it.each([
    ['a field', [{ name: 'field_name', value: 'x'.repeat(1_000_001) }]],
    ['the name of a field', [{ name: 'x'.repeat(2000), value: '' }]],
  ])('with %s that is too long is refused', async (_name, parts) => {
    const sent = multipart(parts);
    const reply = await creator.send('POST', `/api/dataset/node/${nid}/attach_file`, sent);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect((await creator.read(nid)).field_upload).toEqual([]);
  });

  it('by somebody who may not is thrown away while it comes', async () => {
    const plain = await portal.as('plain');
    const before = files();
    expect((await plain.attach(nid, { name: 'a.csv', content: 'a\n1\n' })).status).toBe(403);
    expect(files()).toEqual(before);
  });
});

describe('A request line', () => {
  it.each([
    ['a path', `/api/dataset/node/${'9'.repeat(40_000)}`],
    ['a query', `/api/dataset/node?parameters[title]=${'x'.repeat(40_000)}`],
  ])('with %s of 40 kB is refused', async (_name, path) => {
    // Each on a connection of its own: the portal ends the one on which such a line came.
    const headers = { connection: 'close' };
    const reply = await creator.send('GET', path, { headers }).catch(() => null);
    if (reply !== null) expect(reply.status).toBe(431);
    expect((await creator.send('GET', '/healthz', { headers })).status).toBe(200);
  });
});

const open = (): { socket: Socket; ended: Promise<void> } => {
  const { hostname, port } = new URL(portal.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.resume();
  return { socket, ended: new Promise((resolve) => void socket.on('close', () => resolve())) };
};

describe('A client that is slow', () => {
  it('with its headers is ended', async () => {
    const { socket, ended } = open();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n');
    await ended;
  });

  it('with its body is ended, even when it drips', async () => {
    const { socket, ended } = open();
    socket.write(
      'POST /api/dataset/user/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{',
    );
    const drip = setInterval(() => socket.write(' '), 50);
    await ended;
    clearInterval(drip);
  });
});

describe('A client that does not read', () => {
  it.each([
    ['a file', '/sites/default/files/large.csv'],
    ['a long answer', '/api/action/datastore/search.json?limit=0&resource_id='],
  ])('%s is cut off', async (_what, path) => {
    const wide = await startTestPortal({ limits: { answerIdleMs: 300 } });
    const admin = await wide.as('admin');
    const large = await admin.create({ type: 'resource', title: 'Large', status: 1 });
    await admin.attach(large, { name: 'large.csv', content: `a\n${`${'x'.repeat(100_000)}\n`.repeat(300)}` });
    const target = path.endsWith('=') ? `${path}${(await admin.read(large)).uuid}` : path;
    const { hostname, port } = new URL(wide.url);
    const sockets = Array.from({ length: 3 }, () => connect(Number(port), hostname));
    const ends = sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.on('error', () => undefined).on('close', () => resolve());
          // Nothing is read; pipelined requests fill what the kernel takes.
          socket.pause();
          socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(10));
        }),
    );
    // A paused socket learns of its end by what it writes.
    const drip = setInterval(() => {
      for (const socket of sockets) socket.write('x');
    }, 50);
    await Promise.all(ends);
    clearInterval(drip);
  });
});

describe('One address', () => {
  it('has so many connections and no more, unless it is a trusted proxy', async () => {
    const limits = { connectionsPerAddress: 5 };
    for (const [trustedProxies, open] of [[[], 5] as const, [['127.0.0.0/8'], 8] as const]) {
      const bounded = await startTestPortal({ limits, trustedProxies });
      const { hostname, port } = new URL(bounded.url);
      const sockets = Array.from({ length: 8 }, () => connect(Number(port), hostname));
      let ended = 0;
      for (const socket of sockets)
        socket
          .on('error', () => undefined)
          .on('close', () => {
            ended += 1;
          })
          .resume();
      await waitUntil('the others are cut off', () => ended === 8 - open);
      for (const socket of sockets) socket.destroy();
    }
  });
});

describe('A body that is cut short', () => {
  it('leaves no stack trace in the log', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const cut = await startTestPortal({ log });
    const { hostname, port } = new URL(cut.url);
    const types = ['application/json', 'multipart/form-data; boundary=x'];
    const paths = ['/api/dataset/node', '/api/action/datastore/search.json'];
    for (const [type, path] of types.flatMap((one) => paths.map((two) => [one, two]))) {
      const socket = connect(Number(port), hostname);
      const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 900\r\n\r\n`;
      await new Promise((resolve) => void socket.write(`${head}--x\r\ncontent-disp`, resolve));
      await cut.anonymous.send('GET', '/healthz');
      socket.destroy();
    }
    await cut.server.close();
    expect(lines).toEqual([]);
  });
});

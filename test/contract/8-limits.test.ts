// Specification, section 8, and the limits of our own: sizes, depths, counts.
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, multipart, startTestPortal, type TestPortal } from '../support/portal.ts';
import { waitUntil } from '../support/wait-until.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal({ limits: { bodyBytes: 50_000 } });
  creator = await portal.as('creator');
});

describe('Limits', () => {
  it('a body that is too large is 413, whether it tells its length or not', async () => {
    const body = { type: 'dataset', title: 'x', body: { und: [{ value: 'x'.repeat(60_000) }] } };
    const reply = await creator.send('POST', '/api/dataset/node', { body });
    expect([reply.status, reply.json()]).toEqual([413, ['The body is larger than 50000 bytes.']]);
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    expect((await creator.send('POST', '/api/dataset/node', { body: text, headers })).status).toBe(413);
  });

  it('a body that is nested too deep is refused', async () => {
    const depth = 2000;
    const body = `{"type":"dataset","title":"x","body":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const headers = { 'content-type': 'application/json' };
    expect((await creator.send('POST', '/api/dataset/node', { body, headers })).status).toBe(400);
  });

  it('bracket keys that are too deep or too many are refused', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const body of [
      `a${'[b]'.repeat(100)}=1`,
      Array.from({ length: 6000 }, (_, index) => `k${index}=1`).join('&'),
    ]) {
      expect((await creator.send('POST', '/api/dataset/node', { body, headers })).status).toBeGreaterThanOrEqual(400);
    }
  });

  it.each(['__proto__[polluted]=1', 'constructor[prototype][polluted]=1', 'a[__proto__][polluted]=1'])(
    'the form %s does not touch any prototype',
    async (body) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      await creator.send('POST', '/api/dataset/node', { body, headers });
      await creator.send('GET', `/api/dataset/node?${body}`);
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    },
  );

  it('a form with too many files or fields is 413', async () => {
    const nid = await creator.create({ type: 'resource', title: 'x' });
    const parts = Array.from({ length: 30 }, (_, index) => ({
      name: `files[${index}]`,
      value: 'a\n',
      filename: `f${index}.csv`,
    }));
    expect((await creator.send('POST', `/api/dataset/node/${nid}/attach_file`, multipart(parts))).status).toBe(413);
  });

  it.each([
    ['that is too large', 413, 'application/json'],
    ['of an unknown type', 406, 'application/x-unknown'],
    ['with a field that is too long', 413, 'multipart/form-data; boundary=b'],
  ])(
    'a body %s is read to its end, so that its client gets the answer and keeps its connection',
    async (_, status, type) => {
      const { hostname, port } = new URL(portal.url);
      const socket = connect(Number(port), hostname);
      let received = '';
      socket.on('data', (part) => {
        received += part;
      });
      const body = `--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n${'x'.repeat(8_000_000)}\r\n--b--\r\n`;
      const head = `POST /api/dataset/node HTTP/1.1\r\nhost: x\r\naccept: application/json\r\ncontent-type: ${type}\r\n`;
      socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n${chunks}GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`);
      const statuses = (): number[] => [...received.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, code]) => Number(code));
      await waitUntil('all answers', () => statuses().length > 2);
      socket.destroy();
      expect(statuses()).toEqual([status, status, 200]);
    },
  );

  it('a body that stops coming ends the connection', async () => {
    // Its own portal: where a busy machine stalls so long, a body that is being sent counts as stopped as well.
    const impatient = await startTestPortal({ limits: { bodyIdleMs: 300 } });
    const { hostname, port } = new URL(impatient.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      'POST /api/dataset/user/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"user',
    );
    await new Promise((resolve) => socket.on('close', resolve));
    expect(socket.destroyed).toBe(true);
  });
});

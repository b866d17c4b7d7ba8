import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Busboy } from '@fastify/busboy';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PortalError, SourceChangedError, SourceMissingError } from '../../src/model/errors.ts';
import { tempDir } from '../support/temp-dir.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { type Answer, answer, page, refusal, type Seen } from './support/scripted-server.ts';
import { startSmallPortal } from './support/small-portal.ts';

interface Part {
  name: string;
  filename?: string;
  type?: string;
  content: Buffer;
}

/** The parts of a multipart request in the order they arrived. */
const partsOf = (seen: Seen): Promise<Part[]> =>
  new Promise((resolve, reject) => {
    const parts: Part[] = [];
    const parser = new Busboy({ headers: { ...seen.headers, 'content-type': seen.headers['content-type'] ?? '' } });
    parser.on('field', (name: string, value: string) => parts.push({ name, content: Buffer.from(value) }));
    parser.on(
      'file',
      (name: string, stream: NodeJS.ReadableStream, filename: string, _encoding: string, type: string) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => parts.push({ name, filename, type, content: Buffer.concat(chunks) }));
      },
    );
    parser.on('finish', () => resolve(parts));
    parser.on('error', reject);
    parser.end(seen.body);
  });

const dir = tempDir();

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

/** A portal that reads a body one chunk a turn, so that the sender has to wait again and again. */
const startSlowReader = async (onUpload: (seen: Seen) => Promise<unknown>): Promise<string> => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer); // no encoding is set
      await setImmediate();
    }
    const { method = '', url: path = '', headers } = request;
    const isLogin = /\/log(in|out)$/.test(path);
    if (!isLogin) await onUpload({ method, path, headers, body: Buffer.concat(chunks) });
    answer(response, {
      body: isLogin ? { sessid: 's', session_name: 'S', token: 't', user: { uid: '3' } } : { fid: 31 },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
};

const setup = async (attach: (seen: Seen) => Answer | undefined = () => undefined) => {
  const server = await startSmallPortal({
    intercept: (seen) => (seen.path.endsWith('/attach_file') ? attach(seen) : undefined),
  });
  onTestFinished(() => server.close());
  server.nodes.set('4', { nid: '4' });
  const write = async (content: Buffer | string, name = 'table.csv') => {
    const path = join(dir, `${randomUUID()}.csv`);
    await writeFile(path, content);
    return { path, name, bytes: Buffer.byteLength(content), contentType: 'text/csv' };
  };
  return { server, portal: openForTest(server.url), write };
};

const uploads = (server: { requests(method: string, prefix: string): Seen[] }) =>
  server.requests('POST', '/api/dataset/node/4/attach_file');

describe('an upload', () => {
  it.each([
    ['nothing', 0],
    ['one byte', 1],
    ['exactly what goes in one buffer', 1024 * 1024],
    ['one byte more', 1024 * 1024 + 1],
    ['more than any buffer', 5 * 1024 * 1024 + 17],
  ])('of %s (%i bytes) brings every byte, text parts first, with its length told', async (_, bytes) => {
    const { server, portal, write } = await setup();
    const content = randomBytes(bytes);
    expect(await portal.attach('4', await write(content), calm)).toMatchObject({ fid: '31' });
    const [seen] = uploads(server);
    if (seen === undefined) throw new Error('nothing arrived');
    expect(seen.headers['content-length']).toBe(String(seen.body.length));
    expect(seen.headers['transfer-encoding']).toBeUndefined();
    const [attach, field, file, ...rest] = await partsOf(seen);
    expect([attach, field]).toEqual([
      { name: 'attach', content: Buffer.from('0') },
      { name: 'field_name', content: Buffer.from('field_upload') },
    ]);
    expect(file).toMatchObject({ name: 'files[1]', filename: 'table.csv', type: 'text/csv' });
    expect(sha256(file?.content ?? Buffer.alloc(1))).toBe(sha256(content));
    expect(rest).toEqual([]);
  });

  it('arrives byte for byte where the portal takes it slowly, piece by piece', async () => {
    const arrived: string[] = [];
    const url = await startSlowReader(async (seen) => {
      arrived.push(sha256((await partsOf(seen))[2]?.content ?? Buffer.alloc(0)));
    });
    const content = randomBytes(24 * 1024 * 1024 + 11);
    const path = join(dir, `${randomUUID()}.csv`);
    await writeFile(path, content);
    const file = { path, name: 'table.csv', bytes: content.length, contentType: 'text/csv' };
    expect(await openForTest(url).attach('4', file, calm)).toMatchObject({ fid: '31' });
    expect(arrived).toEqual([sha256(content)]);
  });

  it.each([10, 2 * 1024 * 1024])('of %i bytes escapes names that would break out of their header', async (bytes) => {
    const { server, portal, write } = await setup();
    const file = await write(Buffer.alloc(bytes, 'x'), 'a"b\r\nX-Evil: 1\r\n\r\nü.csv');
    await portal.attach('4', { ...file, contentType: 'text/csv\r\nX-Evil: 2' }, calm);
    const [seen] = uploads(server);
    const text = seen?.body.toString('utf8') ?? '';
    expect(text).toContain(
      'filename="a%22b%0D%0AX-Evil: 1%0D%0A%0D%0Aü.csv"\r\nContent-Type: application/octet-stream\r\n',
    );
    expect(text).not.toMatch(/^X-Evil/m);
  });

  it.each([[], {}, { fid: '' }, [{ fid: null }], ['Unknown error']].map((body) => ({ body })))(
    'is not taken for attached by $body: the node is looked at',
    async (reply) => {
      const { portal, write } = await setup(() => reply);
      expect(await failureFrom(portal.attach('4', await write('a,b\n'), calm))).toMatchObject({
        code: 'portal-reply',
        request: { mayHaveHappened: true },
      });
    },
  );

  it('reports the sha256 of what was sent in one piece', async () => {
    const { portal, write } = await setup(() => ({ body: { fid: 7 } }));
    const { sha256 } = await portal.attach('4', await write('a,b\n'), calm);
    expect(sha256).toBe(createHash('sha256').update('a,b\n').digest('hex'));
  });

  it.each([
    ['an object', { fid: 7, uri: 'x' }, '7'],
    ['a list', [{ fid: '7' }], '7'],
  ])('takes %s for an answer', async (_, body, fid) => {
    const { portal, write } = await setup(() => ({ body }));
    expect(await portal.attach('4', await write('a,b\n'), calm)).toMatchObject({ fid });
  });

  it.each([10, 2 * 1024 * 1024])(
    'of %i bytes is sent whole again after one login when the session was lost',
    async (bytes) => {
      const { server, portal, write } = await setup();
      await portal.session.identity(calm);
      server.forgetSessions();
      const content = randomBytes(bytes);
      await portal.attach('4', await write(content), calm);
      const sent = uploads(server);
      expect(sent).toHaveLength(2);
      const file = sent[1] === undefined ? undefined : (await partsOf(sent[1]))[2];
      expect(sha256(file?.content ?? Buffer.alloc(1))).toBe(sha256(content));
      expect(server.requests('POST', '/api/dataset/user/login')).toHaveLength(2);
    },
  );

  it('is refused with the reason of the portal', async () => {
    const { portal, write } = await setup(() => refusal(406, 'Failed to upload file. 1'));
    expect(await failureFrom(portal.attach('4', await write('x', 'x.exe'), calm))).toMatchObject({
      code: 'portal-refused',
      message: 'portal city: POST /api/dataset/node/4/attach_file answered 406: Failed to upload file. 1',
    });
  });

  it('that is too large for the portal says whom to ask', async () => {
    const { portal, write } = await setup(() => page(413, 'Request Entity Too Large'));
    expect(await failureFrom(portal.attach('4', await write('x'), calm))).toMatchObject({
      code: 'portal-refused',
      hint: expect.stringContaining('limit'),
    });
  });

  it('whose reply does not come may have happened', async () => {
    const { server, write } = await setup(() => undefined);
    const hanging = await startSmallPortal({
      intercept: (seen) => (seen.path.endsWith('attach_file') ? true : undefined),
    });
    onTestFinished(() => hanging.close());
    await server.close();
    const timeouts = { connectMs: 1000, headersMs: 5000, bodyMs: 1000, uploadMs: 300 };
    const portal = openForTest(hanging.url, { timeouts });
    const error = await failureFrom(portal.attach('4', await write('x'), calm));
    expect(error).toMatchObject({ code: 'portal-unreachable', request: { mayHaveHappened: true } });
    expect(uploads(hanging)).toHaveLength(1);
  });
});

it('an upload that the portal reads too slowly, or not at all, is given up', async () => {
  const server = createServer((request) => void request.pause());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const { write } = await setup();
  const file = await write(Buffer.alloc(32 * 1024 * 1024));
  const timeouts = { connectMs: 5000, headersMs: 5000, bodyMs: 5000, uploadMs: 300 };
  const error = await failureFrom(openForTest(url, { token: 't', timeouts }).attach('4', file, calm));
  expect(error).toMatchObject({ code: 'portal-unreachable', message: expect.stringContaining('within 300 ms') });
});

describe('a local file', () => {
  it.each([10, 2 * 1024 * 1024])('of %i bytes that is missing or of another size is not sent', async (bytes) => {
    const { server, portal, write } = await setup();
    const file = await write(Buffer.alloc(bytes));
    const missing = { ...file, path: `${file.path}.gone` };
    expect(await failureFrom(portal.attach('4', missing, calm))).toBeInstanceOf(SourceMissingError);
    await appendFile(file.path, 'more');
    const error = await failureFrom(portal.attach('4', file, calm));
    expect(error).toBeInstanceOf(SourceChangedError);
    expect(error).toMatchObject({ retryable: true, message: expect.stringContaining(file.path) });
    expect(uploads(server)).toHaveLength(0);
  });

  it('that changes while it is being sent is no fault of the portal', async () => {
    const { portal, write } = await setup();
    const file = await write(randomBytes(8 * 1024 * 1024));
    const takeToken = async () => {
      // Runs after the file was measured and before its bytes are read.
      if (armed) await truncate(file.path, 1000);
    };
    let armed = false;
    const watched = openForTest(portal.url, {}, { takeToken });
    await watched.session.identity(calm);
    armed = true;
    expect(await failureFrom(watched.attach('4', file, calm))).toBeInstanceOf(SourceChangedError);
  });
});

it.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", { code: 'state-full' }],
  ['Connection is closed.', { message: 'Connection is closed.' }],
])('a fault of Redis while a file is read is none of the portal: %s', async (message, shown) => {
  const { portal } = await setup();
  const takeToken = async () => {
    if (armed) throw new Error(message);
  };
  let armed = false;
  const watched = openForTest(portal.url, {}, { takeToken });
  await watched.session.identity(calm);
  armed = true;
  const error = await failureFrom(watched.file('/a.csv', async () => null, calm));
  expect(error).toMatchObject(shown);
  expect(error).not.toBeInstanceOf(PortalError);
});

describe('the hash of a file', () => {
  const hashedBehind = async (location: string): Promise<string | null> => {
    const server = await startSmallPortal({
      intercept: ({ path }) => {
        if (path.endsWith('/old.csv')) return { status: 302, headers: { location } };
        return path.endsWith('/new.csv') ? { body: 'a\n1' } : undefined;
      },
    });
    onTestFinished(() => server.close());
    return openForTest(server.url).fileHash('public://old.csv', calm);
  };

  it('is that of the one to which the portal leads on itself', async () => {
    expect(await hashedBehind('new.csv')).toBe(sha256(Buffer.from('a\n1')));
  });

  it.each(['old.csv', 'http://127.0.0.2:1/new.csv', '//['])(
    'is not known behind a redirect to %s',
    async (location) => {
      expect(await hashedBehind(location)).toBeNull();
    },
  );
});

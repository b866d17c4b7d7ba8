import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  PortalNotApiError,
  PortalRefusedError,
  PortalReplyError,
  PortalUnreachableError,
} from '../../src/model/errors.ts';
import { readPause } from '../../src/portal-client/http.ts';
import { retryAfterMs } from '../../src/util/http.ts';
import { waitUntil } from '../support/wait-until.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { type Answer, page, refusal, type Seen } from './support/scripted-server.ts';
import { startSmallPortal } from './support/small-portal.ts';

/** A portal whose node routes answer with what `plan` gives for the first, second … request. */
const startPlanned = async (
  plan: (turn: number, seen: Seen, response: ServerResponse) => Answer | true | undefined,
) => {
  let turn = 0;
  const server = await startSmallPortal({
    intercept: (seen, response) =>
      seen.path.startsWith('/api/dataset/node') ? plan(turn++, seen, response) : undefined,
  });
  onTestFinished(() => server.close());
  return server;
};

const hang = true;
const drop = (response: ServerResponse): true => {
  response.destroy();
  return true;
};
const truncate = (response: ServerResponse): true => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('[{"nid":"1"');
  response.destroy();
  return true;
};

const input = { type: 'dataset', title: 'T', status: 1, log: 'sluice', fields: {}, uuid: '1-1-1-1-1' } as const;
const create = (portal: ReturnType<typeof openForTest>) => portal.createNode(input, calm);

describe('a read', () => {
  it.each([
    ['a dropped connection', (response: ServerResponse) => drop(response)],
    ['a truncated body', (response: ServerResponse) => truncate(response)],
    ['a 500', () => refusal(500, 'An error occurred')],
    ['a 503 page', () => page(503, 'Maintenance')],
    ['a 408', () => refusal(408, 'Slow')],
    ['a 425', () => refusal(425, 'Early')],
  ])('is repeated after %s', async (_, fault) => {
    const server = await startPlanned((turn, _seen, response) => (turn === 0 ? fault(response) : undefined));
    expect(await openForTest(server.url).nodes.list({}, calm)).toEqual([]);
    expect(server.requests('GET', '/api/dataset/node')).toHaveLength(2);
  });

  it('is given up after readRetries, with status and words of the last reply', async () => {
    const server = await startPlanned(() => page(502, 'Bad Gateway'));
    const error = await failureFrom(openForTest(server.url).nodes.list({ fields: ['nid'] }, calm));
    expect(error).toBeInstanceOf(PortalUnreachableError);
    expect(error).toHaveProperty(
      'message',
      'portal city: GET /api/dataset/node?fields=nid&pagesize=20 answered 502: Bad Gateway',
    );
    expect(error).toHaveProperty('request.mayHaveHappened', false);
    expect(server.requests('GET', '/api/dataset/node')).toHaveLength(3);
  });

  it('is repeated after a Retry-After', async () => {
    const server = await startPlanned((turn) =>
      turn === 0 ? { ...refusal(429, 'Too many'), headers: { 'retry-after': '0' } } : undefined,
    );
    expect(await openForTest(server.url).nodes.list({}, calm)).toEqual([]);
  });

  it('leaves a long Retry-After to the caller', async () => {
    const server = await startPlanned(() => ({ ...refusal(429, 'Too many'), headers: { 'retry-after': '120' } }));
    const error = await failureFrom(openForTest(server.url).nodes.list({}, calm));
    expect(error).toMatchObject({ retryable: true, request: { status: 429, retryAfterMs: 120_000 } });
    expect(server.requests('GET', '/api/dataset/node')).toHaveLength(1);
  });

  it('is given up when the portal hangs, and says so', async () => {
    const server = await startPlanned(() => hang);
    const timeouts = { connectMs: 500, headersMs: 300, bodyMs: 300, uploadMs: 1000 };
    const error = await failureFrom(openForTest(server.url, { timeouts, readRetries: 0 }).nodes.list({}, calm));
    expect(error).toMatchObject({ code: 'portal-unreachable', hint: expect.stringContaining('hangs') });
  });

  it('waits while as many as allowed are in flight; a look whether the portal answers does not', async () => {
    let answer: (() => void) | undefined;
    const server = await startPlanned((turn, _seen, response) => {
      if (turn > 0) return undefined;
      answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
      return hang;
    });
    const portal = openForTest(server.url, { connections: 1 });
    const first = portal.nodes.list({}, calm);
    await waitUntil('the first to hang', () => answer);
    const second = portal.nodes.list({ page: 1 }, calm);
    await portal.nodes.ping(calm);
    const seen = () => server.requests('GET', '/api/dataset/node').map(({ path }) => path);
    expect(seen()).toHaveLength(2);
    expect(seen().join()).not.toContain('page=1');
    answer?.();
    expect(await Promise.all([first, second])).toEqual([[], []]);
    expect(seen().join()).toContain('page=1');
  });

  it('is given up when the body trickles forever', async () => {
    const server = await startPlanned((_turn, _seen, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
      return true;
    });
    const timeouts = { connectMs: 200, headersMs: 300, bodyMs: 400, uploadMs: 1000 };
    const error = await failureFrom(openForTest(server.url, { timeouts, readRetries: 0 }).nodes.list({}, calm));
    expect(error).toMatchObject({
      code: 'portal-unreachable',
      message: expect.stringContaining('did not end within 900 ms'),
    });
  });

  it('stops at a body that is larger than any reply of this API', async () => {
    const server = await startPlanned((_turn, _seen, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(1024 * 1024, 32);
      const more = () => {
        if (!response.destroyed) response.write(chunk, () => setImmediate(more));
      };
      more();
      return true;
    });
    const error = await failureFrom(openForTest(server.url).nodes.list({}, calm));
    expect(error).toMatchObject({ code: 'portal-reply', message: expect.stringContaining('more than 2097152 bytes') });
  });

  it('follows redirects on the same address, within a limit', async () => {
    const server = await startPlanned((turn, seen) =>
      turn === 0 ? { status: 301, headers: { location: `${seen.path}&moved=1` } } : undefined,
    );
    expect(await openForTest(server.url).nodes.list({}, calm)).toEqual([]);

    const round = await startPlanned((_turn, seen) => ({ status: 302, headers: { location: seen.path } }));
    expect(await failureFrom(openForTest(round.url).nodes.list({}, calm))).toBeInstanceOf(PortalReplyError);
    expect(round.requests('GET', '/api/dataset/node')).toHaveLength(6);
  });

  it('takes its cookies to no other address', async () => {
    const other = await startSmallPortal();
    onTestFinished(() => other.close());
    const server = await startPlanned(() => ({
      status: 302,
      headers: { location: `${other.url}/login?token=secret` },
    }));
    const error = await failureFrom(openForTest(server.url).nodes.list({}, calm));
    expect(other.seen).toHaveLength(0);
    expect(error).toMatchObject({ code: 'portal-refused', hint: expect.stringContaining(`${other.url}/login`) });
    expect(String(error)).not.toContain('secret');
  });

  it('that answers with a page after the portal was proven is a failure of the portal, not another site', async () => {
    const server = await startPlanned(() => page(200, 'Please wait'));
    const error = await failureFrom(openForTest(server.url).nodes.list({}, calm));
    expect(error).toMatchObject({
      code: 'portal-reply',
      retryable: true,
      message: expect.stringContaining('"Please wait"'),
    });
  });
});

describe('a write', () => {
  it.each([
    ['a dropped connection', (response: ServerResponse) => drop(response)],
    ['a truncated body', (response: ServerResponse) => truncate(response)],
    ['a 500', () => refusal(500, 'An error occurred')],
    ['a 504 page', () => page(504, 'Gateway Timeout')],
  ])('is sent once although it ends in %s, and may have happened', async (_, fault) => {
    const server = await startPlanned((_turn, _seen, response) => fault(response));
    const error = await failureFrom(create(openForTest(server.url, { dialect: 'entity' })));
    expect(error).toMatchObject({ code: 'portal-unreachable', request: { method: 'POST', mayHaveHappened: true } });
    expect(server.requests('POST', '/api/dataset/node')).toHaveLength(1);
  });

  it('that hangs is given up, sent once, and may have happened', async () => {
    const server = await startPlanned(() => hang);
    const timeouts = { connectMs: 500, headersMs: 300, bodyMs: 300, uploadMs: 1000 };
    const error = await failureFrom(create(openForTest(server.url, { dialect: 'entity', timeouts })));
    expect(error).toMatchObject({ code: 'portal-unreachable', request: { mayHaveHappened: true } });
    expect(server.requests('POST', '/api/dataset/node')).toHaveLength(1);
  });

  it('that answers success with another body may have happened', async () => {
    const server = await startPlanned(() => ({ body: 'no json at all' }));
    const error = await failureFrom(create(openForTest(server.url, { dialect: 'entity' })));
    expect(error).toMatchObject({ code: 'portal-reply', request: { mayHaveHappened: true } });
  });

  it('answered 429 did not happen and says when to come again', async () => {
    const server = await startPlanned(() => ({ ...refusal(429, 'Too many'), headers: { 'retry-after': '7' } }));
    const error = await failureFrom(create(openForTest(server.url, { dialect: 'entity' })));
    expect(error).toMatchObject({ retryable: true, request: { mayHaveHappened: false, retryAfterMs: 7000 } });
  });

  it.each([301, 302, 307, 308])('follows no redirect (%i)', async (status) => {
    const server = await startPlanned((_turn, seen) =>
      seen.method === 'POST'
        ? { status, headers: { location: 'https://elsewhere.example/api/dataset/node?x=1' } }
        : undefined,
    );
    const error = await failureFrom(create(openForTest(server.url, { dialect: 'entity' })));
    expect(error).toBeInstanceOf(PortalRefusedError);
    expect(error).toHaveProperty('request.mayHaveHappened', status === 302);
    expect(error).toHaveProperty('hint', expect.stringMatching(/ https:\/\/elsewhere\.example$/));
    expect(server.seen.filter((seen) => seen.path.startsWith('/api/dataset/node'))).toHaveLength(1);
  });

  it('that was never sent did not happen', async () => {
    const server = await startSmallPortal();
    const portal = openForTest(server.url, { dialect: 'entity' });
    await portal.session.identity(calm);
    await server.close();
    const error = await failureFrom(create(portal));
    expect(error).toMatchObject({ code: 'portal-unreachable', request: { mayHaveHappened: false } });
    expect(error).toHaveProperty('hint', expect.stringContaining('port'));
  });

  it('is one HTTP request each, when the dialect is known', async () => {
    const server = await startSmallPortal();
    onTestFinished(() => server.close());
    const portal = openForTest(server.url, {}, { traits: { dialect: 'entity' } });
    await portal.session.identity(calm);
    const { nid } = await create(portal);
    await portal.nodes.update(nid, { title: 'U', log: 'l' }, calm);
    await portal.nodes.read(nid, calm);
    await portal.datastore.import(nid, calm);
    await portal.datastore.remove(nid, calm);
    await portal.nodes.remove(nid, calm);
    expect(server.seen).toHaveLength(7);
  });
});

describe('every request', () => {
  it('takes a token first, logins and repeats too', async () => {
    let tokens = 0;
    const server = await startPlanned((turn) => (turn === 0 ? refusal(503, 'busy') : undefined));
    const takeToken = async () => void tokens++;
    await openForTest(server.url, {}, { takeToken }).nodes.list({}, calm);
    expect(server.seen).toHaveLength(3);
    expect(tokens).toBe(3);
  });

  it('ends with the reason of an aborted signal, also while it waits to repeat', async () => {
    const server = await startPlanned(() => ({ ...refusal(429, 'Too many'), headers: { 'retry-after': '9' } }));
    const stop = new AbortController();
    const ended = failureFrom(openForTest(server.url).nodes.list({}, stop.signal));
    await waitUntil('the first try', () => server.requests('GET', '/api/dataset/node').length === 1);
    stop.abort(new Error('stopped'));
    expect(await ended).toHaveProperty('message', 'stopped');

    const hanging = await startPlanned(() => hang);
    const also = new AbortController();
    const cut = failureFrom(openForTest(hanging.url).nodes.list({}, also.signal));
    await waitUntil('the request', () => hanging.requests('GET', '/api/dataset/node').length === 1);
    also.abort(new Error('cut off'));
    expect(await cut).toHaveProperty('message', 'cut off');
  });

  it('to something that speaks no HTTP finds that out', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('220 mail.example ESMTP\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await failureFrom(openForTest(`http://127.0.0.1:${port}`).nodes.list({}, calm))).toBeInstanceOf(
      PortalNotApiError,
    );
  });

  it.each(['000 Zero', '1000 Much', '101 Switching Protocols'])('that answers %s sends broken HTTP', async (status) => {
    const server = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', () =>
          socket.end(`HTTP/1.1 ${status}\r\nconnection: upgrade\r\nupgrade: x\r\ncontent-length: 2\r\n\r\n{}`),
        );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const message = String(await failureFrom(openForTest(`http://127.0.0.1:${port}`).nodes.list({}, calm)));
    expect(message).toContain('its answer is not valid HTTP');
    expect(message).not.toContain('expression');
  });

  it('is refused after close, which may be called twice', async () => {
    const server = await startSmallPortal();
    onTestFinished(() => server.close());
    const portal = openForTest(server.url);
    await portal.nodes.list({}, calm);
    await portal.close();
    await portal.close();
    expect(server.requests('POST', '/api/dataset/user/logout')).toHaveLength(1);
    expect(await failureFrom(portal.nodes.list({}, calm))).toBeInstanceOf(PortalUnreachableError);
    expect(server.seen).toHaveLength(3);
  });
});

describe('the pause between tries of a read', () => {
  it('is what the portal asked for', () => {
    expect(readPause(0, { askedMs: 7000, random: 0.3 })).toBe(7000);
    expect(readPause(2, { askedMs: 0, random: 0.3 })).toBe(0);
  });

  it('is none when the portal asked for more than ten seconds', () => {
    expect(readPause(0, { askedMs: 10_001, random: 0 })).toBeUndefined();
  });

  it('is up to a minute where no job waits', () => {
    expect(readPause(0, { askedMs: 60_000, random: 0, waitsFor: 'command' })).toBe(60_000);
    expect(readPause(0, { askedMs: 60_001, random: 0, waitsFor: 'command' })).toBeUndefined();
  });

  it('doubles with every attempt and varies by half', () => {
    expect([readPause(0, { random: 1 }), readPause(1, { random: 1 }), readPause(2, { random: 1 })]).toEqual([
      250, 500, 1000,
    ]);
    expect(readPause(2, { random: 0 })).toBe(500);
  });
});

describe('a Retry-After header', () => {
  const now = Date.parse('2026-11-21T10:00:00Z');

  it.each([
    ['30', 30_000],
    [' 5 ', 5000],
    ['Sat, 21 Nov 2026 10:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['999999999', 86_400_000],
  ])('"%s" means %i ms', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });

  it.each([undefined, 'soon', ''])('%s means nothing', (header) => {
    expect(retryAfterMs(header, now)).toBeUndefined();
  });
});

describe('a portal that closes every connection', () => {
  const content = Buffer.alloc(2_000_000, 'a,b\n');
  const startClosing = async (): Promise<string> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (head) => {
        const isList = head.toString().startsWith('GET /api/');
        socket.write('HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n');
        socket.end(isList ? '[]' : content); // neither length nor chunks
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  };

  it('gives its lists and files whole, over connections of our own', async () => {
    const before = getGlobalDispatcher();
    onTestFinished(() => setGlobalDispatcher(before));
    const broken = new Agent();
    broken.dispatch = () => {
      throw new Error('assert(!this.paused)');
    };
    setGlobalDispatcher(broken);
    const portal = openForTest(await startClosing(), { isAnonymous: true });
    for (let turn = 0; turn < 5; turn++) {
      expect(await portal.nodes.list({}, calm)).toEqual([]);
      const slowly = async ({ body }: { body: AsyncIterable<Buffer> }): Promise<number> => {
        let bytes = 0;
        for await (const chunk of body) {
          bytes += chunk.length;
          await new Promise((resolve) => setImmediate(resolve));
        }
        return bytes;
      };
      expect(await portal.file('/sites/default/files/a.csv', slowly, calm)).toBe(content.length);
    }
  });
});

it('a portal that only ever promises a reply has no more time than any other, be it of the API or a file', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const portal = openForTest(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, {
    isAnonymous: true,
    readRetries: 0,
    timeouts: { connectMs: 300, headersMs: 300, bodyMs: 300, uploadMs: 300 },
  });
  expect(await failureFrom(portal.nodes.list({}, calm))).toHaveProperty(
    'message',
    expect.stringContaining('did not end within 900 ms'),
  );
  const file = portal.file('/f.csv', async () => 'taken', calm);
  expect(await failureFrom(file)).toMatchObject({ code: 'portal-unreachable', request: { situation: 'too-slow' } });
});

it('connections take part again after requests that the HTTP client refused itself', async () => {
  const server = await startSmallPortal();
  onTestFinished(() => server.close());
  const portal = openForTest(server.url, { isAnonymous: true, connections: 1, readRetries: 0 });
  for (let turn = 0; turn < 5; turn++)
    expect(await failureFrom(portal.file('/a\u0100', async () => 'taken', calm))).toHaveProperty(
      'message',
      expect.stringContaining('invalid request path'),
    );
  expect(await portal.nodes.list({}, calm)).toEqual([]);
});

describe('a file that a portal serves slowly', () => {
  const startSlow = async (bytes: number): Promise<ReturnType<typeof openForTest>> => {
    const server = await startSmallPortal({
      intercept: (seen, response) => {
        if (seen.path !== '/f.csv') return undefined;
        let left = bytes;
        response.writeHead(200);
        const timer = setInterval(() => {
          left -= 1;
          if (left === 0) response.end('a');
          else response.write('a');
        }, 20);
        response.on('close', () => clearInterval(timer));
        return true;
      },
    });
    onTestFinished(() => server.close());
    const timeouts = { connectMs: 500, headersMs: 500, bodyMs: 100, uploadMs: 1000 };
    return openForTest(server.url, { isAnonymous: true, timeouts });
  };
  const lengthOf = async ({ body }: { body: AsyncIterable<Buffer> }): Promise<number> => {
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    return bytes;
  };

  it('is waited for longer than a reply is', async () => {
    expect(await (await startSlow(10)).file('/f.csv', lengthOf, calm)).toBe(10);
  });

  it('is given up when it would never end', async () => {
    const error = await failureFrom((await startSlow(1_000_000)).file('/f.csv', lengthOf, calm));
    expect(error).toMatchObject({
      code: 'portal-unreachable',
      message: expect.stringMatching(/GET \/f\.csv sent only \d+ bytes within 1\d\d\d ms/),
    });
  });
});

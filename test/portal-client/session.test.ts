import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PortalLoginError, PortalNotApiError, PortalRefusedError, PortalSessionError } from '../../src/model/errors.ts';
import { waitUntil } from '../support/wait-until.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { answer, page, refusal, type Seen, unknownRoute } from './support/scripted-server.ts';
import { type SmallPortalOptions, startSmallPortal } from './support/small-portal.ts';

const start = async (options: SmallPortalOptions = {}) => {
  const server = await startSmallPortal(options);
  onTestFinished(() => server.close());
  return server;
};

const input = { type: 'dataset', title: 'Budget', status: 1, log: 'sluice', fields: {} } as const;
const uuid = '11111111-2222-5333-8444-555555555555';
const logins = (server: { requests: (method: string, prefix: string) => Seen[] }) =>
  server.requests('POST', '/api/dataset/user/login').length;

describe('a session', () => {
  it('sends nothing before the first call, then logs in once for twenty parallel calls', async () => {
    const server = await start();
    const portal = openForTest(server.url);
    expect(server.seen).toHaveLength(0);
    await Promise.all(Array.from({ length: 20 }, () => portal.nodes.list({}, calm)));
    expect(logins(server)).toBe(1);
  });

  it('carries the cookie on every request and the token on writes only', async () => {
    const server = await start();
    const portal = openForTest(server.url, { dialect: 'entity' });
    const { nid } = await portal.createNode({ ...input, uuid }, calm);
    await portal.nodes.read(nid, calm);
    const [write] = server.requests('POST', '/api/dataset/node');
    const [read] = server.requests('GET', '/api/dataset/node/');
    expect(write?.headers).toMatchObject({
      cookie: 'SESSabc=session-number-1',
      'x-csrf-token': 'token-of-session-number-1',
      accept: 'application/json',
    });
    expect(read?.headers).toMatchObject({ cookie: 'SESSabc=session-number-1', accept: 'application/json' });
    expect(read?.headers).not.toHaveProperty('x-csrf-token');
  });

  it('does not grow by cookies of ever new names, and renews its own', async () => {
    let count = 0;
    const server = await start({
      intercept: ({ method }) => {
        if (method !== 'GET') return undefined;
        const own = count === 150 ? ['SESSabc=renewed; path=/; HttpOnly'] : [];
        return { body: [], headers: { 'set-cookie': [`visit-${++count}=1; path=/`, ...own] } };
      },
    });
    const portal = openForTest(server.url);
    for (let n = 0; n < 200; n++) await portal.nodes.list({}, calm);
    const sent = server.requests('GET', '/').at(-1)?.headers.cookie?.split('; ') ?? [];
    expect(sent.length).toBeLessThanOrEqual(50);
    expect(sent).toContain('SESSabc=renewed');
    expect(logins(server)).toBe(1);
  });

  it('tells who is logged in, with roles', async () => {
    const server = await start();
    const portal = openForTest(server.url);
    expect(await portal.session.identity(calm)).toMatchObject({
      uid: '3',
      name: 'creator',
      roles: { 6: 'content creator' },
    });
    await portal.session.identity(calm);
    expect(logins(server)).toBe(1);
    await portal.session.login(calm);
    expect(logins(server)).toBe(2);
  });

  it('asks for the token where the login result has none or a wrong one, and copes where that route is missing', async () => {
    const server = await start({ tokenInLogin: false });
    await openForTest(server.url, { dialect: 'entity' }).createNode({ ...input, uuid }, calm);
    expect(server.requests('POST', '/api/dataset/node')[0]?.headers['x-csrf-token']).toBe('token-of-session-number-1');

    let isAsked = false;
    const odd = await start({
      intercept: ({ method, path }) => {
        isAsked ||= path.startsWith('/services/session/token');
        return isAsked || method === 'GET' || path.endsWith('/login')
          ? undefined
          : refusal(401, 'CSRF validation failed');
      },
    });
    expect(await openForTest(odd.url, { dialect: 'entity' }).createNode({ ...input, uuid }, calm)).toMatchObject({
      nid: '1',
    });

    const bare = await start({
      tokenInLogin: false,
      intercept: (seen) => (seen.path.startsWith('/services') ? page(404, 'Page not found | City') : undefined),
    });
    expect(await openForTest(bare.url).nodes.list({}, calm)).toEqual([]);
  });

  it('uses session name and id of the login result where no cookie is set', async () => {
    const server = await start({
      intercept: (seen) =>
        seen.path.endsWith('/user/login')
          ? {
              body: {
                sessid: 'plain-id',
                session_name: 'SESSplain',
                token: 't',
                user: { uid: 3, name: 'creator', roles: [] },
              },
            }
          : undefined,
    });
    await openForTest(server.url).nodes.list({}, calm);
    expect(server.requests('GET', '/api/dataset/node')[0]?.headers.cookie).toBe('SESSplain=plain-id');
  });

  it('works under a base path and keeps its own words about it out of paths', async () => {
    const server = await start({ basePath: '/sub' });
    const portal = openForTest(`${server.url}/`);
    expect(portal.url).toBe(server.url);
    expect(await portal.nodes.list({}, calm)).toEqual([]);
    expect(await failureFrom(portal.nodes.read('77', calm))).toMatchObject({
      request: { path: '/api/dataset/node/77' },
    });
  });
});

describe('a login that the portal answers with a Retry-After', () => {
  const startBusy = () => {
    let turn = 0;
    return start({
      intercept: (seen) =>
        seen.path.startsWith('/api/dataset/user/login') && turn++ === 0
          ? { ...page(503, 'Maintenance'), headers: { 'retry-after': '0' } }
          : undefined,
    });
  };

  it('is left to the job that needs it', async () => {
    const server = await startBusy();
    expect(await failureFrom(openForTest(server.url).session.identity(calm))).toMatchObject({
      code: 'portal-unreachable',
    });
    expect(logins(server)).toBe(1);
  });

  it('is repeated where no job waits for it', async () => {
    const server = await startBusy();
    const portal = openForTest(server.url, {}, { isPatient: () => true });
    expect(await portal.session.identity(calm)).toMatchObject({ name: 'creator' });
    expect(logins(server)).toBe(2);
  });
});

describe('a session that the portal forgot', () => {
  it('is renewed by exactly one login for twenty parallel writes, each sent again once', async () => {
    const server = await start();
    const portal = openForTest(server.url, { dialect: 'entity' });
    await portal.createNode({ ...input, uuid }, calm);
    server.forgetSessions();
    const changes = { title: 'New', log: 'sluice' };
    await Promise.all(Array.from({ length: 20 }, () => portal.nodes.update('1', changes, calm)));
    expect(logins(server)).toBe(2);
    const answered = server.requests('PUT', '/api/dataset/node/1').map((seen) => seen.headers.cookie);
    expect(answered.filter((cookie) => cookie === 'SESSabc=session-number-2')).toHaveLength(20);
  });

  it('is renewed after a 401 in the middle of a run, by one login without the old cookie', async () => {
    let broken = false;
    const server = await start({
      intercept: (seen) =>
        broken && seen.headers['x-csrf-token'] === 'token-of-session-number-1'
          ? refusal(401, 'CSRF validation failed')
          : undefined,
    });
    const portal = openForTest(server.url, { dialect: 'entity' });
    await portal.createNode({ ...input, uuid }, calm);
    broken = true;
    await Promise.all(Array.from({ length: 20 }, () => portal.nodes.update('1', { log: 'sluice' }, calm)));
    expect(logins(server)).toBe(2);
    expect(server.requests('POST', '/api/dataset/user/login')[1]?.headers.cookie).toBeUndefined();
  });

  it('looks the uuid up before it sends a create again', async () => {
    const server = await start({
      intercept: (seen) => (hook(seen) ? refusal(403, 'Access denied for user anonymous') : undefined),
    });
    let lost = false;
    const hook = (seen: Seen) => {
      if (seen.method !== 'POST' || seen.path !== '/api/dataset/node' || lost) return false;
      lost = true;
      // The first attempt took effect although it was answered with a refusal.
      server.nodes.set('1', { nid: '1', uuid, status: '1', type: 'dataset', title: 'Budget', vid: '1' });
      return true;
    };
    const portal = openForTest(server.url, { dialect: 'entity' });
    expect(await failureFrom(portal.createNode({ ...input, uuid }, calm))).toMatchObject({
      code: 'portal-conflict',
      request: { nid: '1' },
    });
    expect(server.requests('POST', '/api/dataset/node')).toHaveLength(1);
  });

  it('is a session error when fresh logins do not help', async () => {
    const server = await start({
      intercept: (seen) => (seen.method === 'PUT' ? refusal(401, 'CSRF validation failed') : undefined),
    });
    const portal = openForTest(server.url, { dialect: 'entity' });
    const error = await failureFrom(portal.nodes.update('1', { log: 'x' }, calm));
    expect(error).toBeInstanceOf(PortalSessionError);
    expect(error).toHaveProperty(
      'message',
      'portal city: PUT /api/dataset/node/1 answered 401: CSRF validation failed',
    );
    expect(logins(server)).toBe(4);
    expect(server.requests('PUT', '/')).toHaveLength(4);
  });
});

describe('a session that ends on the server', () => {
  const deleted = 'SESSabc=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly';
  const isOld = (seen: Seen) => seen.headers.cookie === 'SESSabc=session-number-1';

  it('is renewed although the read was answered, as an anonymous visitor is', async () => {
    const server = await start({
      intercept: (seen) => (isOld(seen) ? { body: [], headers: { 'set-cookie': [deleted] } } : undefined),
    });
    server.nodes.set('1', { nid: '1', uuid, status: '1', type: 'dataset', title: 'Budget', vid: '1' });
    expect(await openForTest(server.url).nodes.list({}, calm)).toHaveLength(1);
    expect(logins(server)).toBe(2);
  });

  it.each(['GET', 'PUT'])(
    'with a redirect of a %s to the front page is waited for, and the page is not read',
    async (method) => {
      let isClosed = false;
      const server = await start({
        intercept: (seen) => {
          if (seen.method === method) isClosed = true;
          if (!isClosed) return undefined;
          const headers = { location: `http://${seen.headers.host}/`, 'set-cookie': [deleted] };
          return isOld(seen) ? { status: 302, headers, body: '' } : page(503, 'Site under maintenance');
        },
      });
      const portal = openForTest(server.url, { dialect: 'entity', readRetries: 0 });
      const call = method === 'GET' ? portal.nodes.list({}, calm) : portal.nodes.update('1', { log: 'x' }, calm);
      const error = await failureFrom(call);
      expect(error).toMatchObject({ request: { situation: 'maintenance', fault: 'portal' }, retryable: true });
      expect(String(error)).not.toContain('moved');
      expect(server.seen.filter(({ path }) => path === '/')).toEqual([]);
    },
  );
});

describe('a 403', () => {
  it('that names the logged-in user is a refusal at once', async () => {
    let closed = false;
    const server = await start({
      intercept: (seen) =>
        closed && seen.method === 'GET' ? refusal(403, 'Access denied for user creator') : undefined,
    });
    const portal = openForTest(server.url);
    await portal.nodes.list({}, calm);
    closed = true;
    const error = await failureFrom(portal.nodes.list({}, calm));
    expect(error).toBeInstanceOf(PortalRefusedError);
    expect(error).toMatchObject({ retryable: false, hint: expect.stringContaining('role') });
    expect(logins(server)).toBe(1);
  });

  it('without a name, on what worked before, brings one login, and is a refusal when it comes again', async () => {
    let closed = false;
    const server = await start({
      intercept: (seen) => (closed && seen.method === 'GET' ? refusal(403, 'Forbidden here') : undefined),
    });
    const portal = openForTest(server.url);
    await portal.nodes.list({}, calm);
    closed = true;
    expect(await failureFrom(portal.nodes.list({}, calm))).toBeInstanceOf(PortalRefusedError);
    expect(logins(server)).toBe(2);
  });

  it('without a name, on what never worked, is a refusal at once', async () => {
    const server = await start({
      intercept: (seen) => (seen.method === 'DELETE' ? refusal(403, 'Forbidden here') : undefined),
    });
    expect(await failureFrom(openForTest(server.url).nodes.remove('1', calm))).toBeInstanceOf(PortalRefusedError);
    expect(logins(server)).toBe(1);
  });
});

describe('an idle session', () => {
  it('is one for which no reply is awaited: none is ended below an upload', async () => {
    const later = globalThis.setTimeout;
    vi.stubGlobal('setTimeout', (then: () => void, ms: number) => later(then, ms === 60_000 ? 50 : ms));
    onTestFinished(() => void vi.unstubAllGlobals());
    const isOpen = Promise.withResolvers<void>();
    const server = await start({
      intercept: (seen, response) => {
        if (!seen.path.includes('/node?')) return undefined;
        void isOpen.promise.then(() => answer(response, { body: [] }));
        return true;
      },
    });
    const logouts = () => server.requests('POST', '/api/dataset/user/logout').length;
    const timeouts = { connectMs: 9000, headersMs: 9000, bodyMs: 9000, uploadMs: 9000 };
    const listing = openForTest(server.url, { timeouts }).nodes.list({}, calm);
    await sleep(300);
    expect(logouts()).toBe(0);
    isOpen.resolve();
    await listing;
    await waitUntil('the end of the session', () => logouts() === 1);
  });
});

describe('a refused login', () => {
  it('is requested once: twenty calls and all later ones fail without another request', async () => {
    const server = await start();
    const portal = openForTest(server.url, { password: 'wrong-word' });
    const errors = await Promise.all(Array.from({ length: 20 }, () => failureFrom(portal.nodes.list({}, calm))));
    errors.push(await failureFrom(portal.createNode({ ...input, uuid }, calm)));
    const message = 'portal city: POST /api/dataset/user/login answered 401: Wrong username or password.';
    for (const error of errors) {
      expect(error).toBeInstanceOf(PortalLoginError);
      expect(error).toMatchObject({ message });
    }
    expect(server.seen).toHaveLength(1);
  });

  it('is tried again by an explicit login', async () => {
    let wrong = true;
    const server = await start({
      intercept: (seen) =>
        wrong && seen.path.endsWith('/login')
          ? refusal(403, 'The username <em class="placeholder">creator</em> is blocked.')
          : undefined,
    });
    const portal = openForTest(server.url);
    expect(await failureFrom(portal.nodes.list({}, calm))).toHaveProperty(
      'message',
      'portal city: POST /api/dataset/user/login answered 403: The username creator is blocked.',
    );
    wrong = false;
    await portal.session.login(calm);
    expect(await portal.nodes.list({}, calm)).toEqual([]);
  });

  it('because too many failed is no verdict: it is tried again after some minutes, without a person', async () => {
    let blocked = true;
    const server = await start({
      intercept: (seen) =>
        blocked && seen.path.endsWith('/login') ? refusal(406, 'This IP address is temporarily blocked.') : undefined,
    });
    const portal = openForTest(server.url);
    expect(await failureFrom(portal.nodes.list({}, calm))).toMatchObject({
      code: 'portal-unreachable',
      retryable: true,
      request: { retryAfterMs: 300_000 },
    });
    blocked = false;
    expect(await portal.nodes.list({}, calm)).toEqual([]);
  });

  it('never shows the password, even when the portal repeats it', async () => {
    const server = await start({
      intercept: (seen) => (seen.path.endsWith('/login') ? refusal(401, `no: ${seen.body.toString()}`) : undefined),
    });
    const error = await failureFrom(openForTest(server.url).nodes.list({}, calm));
    expect(JSON.stringify([error, String(error)])).not.toContain('open-sesame');
    expect(String(error)).toContain('[redacted]');
  });

  it.each([
    ['holds what looks like a tag', 'open<b>sesame</b>', (password: string) => password],
    ['is cut off', 'open-sesame', (password: string) => `${'x'.repeat(293)}${password}`],
    ['is cut off far behind', 'open-sesame', (password: string) => `${'<br>'.repeat(2498)}no: ${password}`],
    ['comes with entities', 'open&<sesame', (password: string) => password.replace('&', '&amp;').replace('<', '&lt;')],
    ['comes in another dress', 'open "sesame"', (password: string) => encodeURIComponent(password)],
    ['comes as in a form', 'open "sesame"', (password: string) => String(new URLSearchParams({ password }))],
    ['comes in the JSON of PHP', 'öpen/sesame', () => '{"got":"\\u00f6pen\\/sesame"}'],
    ['comes in base64', 'open-sesame', (password: string) => `Basic ${btoa(password)}`],
  ])('never shows parts of a password that %s when the portal repeats it', async (_what, password, repeated) => {
    const server = await start({
      intercept: (seen) => (seen.path.endsWith('/login') ? refusal(401, repeated(password)) : undefined),
    });
    const error = await failureFrom(openForTest(server.url, { password }).nodes.list({}, calm));
    expect(JSON.stringify([error, String(error)])).not.toMatch(/open|sesam|b3Blbi/);
  });

  it('needs no request where there is no username', async () => {
    const server = await start();
    expect(await failureFrom(openForTest(server.url, { username: '' }).nodes.list({}, calm))).toBeInstanceOf(
      PortalLoginError,
    );
    expect(server.seen).toHaveLength(0);
  });

  it('is no verdict on the password when the portal fails: the next call logs in again', async () => {
    let failing = true;
    const server = await start({
      intercept: (seen) => (failing && seen.path.endsWith('/login') ? page(503, 'Site under maintenance') : undefined),
    });
    const portal = openForTest(server.url);
    expect(await failureFrom(portal.nodes.list({}, calm))).toMatchObject({
      code: 'portal-unreachable',
      retryable: true,
    });
    failing = false;
    expect(await portal.nodes.list({}, calm)).toEqual([]);
  });

  it('as "Already logged in" is answered by one more try on a new connection', async () => {
    let first = true;
    const server = await start({
      intercept: (seen) => {
        if (!first || !seen.path.endsWith('/login')) return undefined;
        first = false;
        return refusal(406, 'Already logged in as creator.');
      },
    });
    expect(await openForTest(server.url).nodes.list({}, calm)).toEqual([]);
    expect(logins(server)).toBe(2);
  });
});

describe('an address that is not this API', () => {
  it.each([
    ['a site without the login route', page(404, 'Page not found')],
    ['a service without the login route', unknownRoute('Could not find resource user.')],
    ['a page where the login should be', page(200, 'Welcome')],
    ['JSON of another shape', { body: { hello: 'world' } }],
    ['a login that is a list', { body: [] }],
  ])('is told apart: %s', async (_, reply) => {
    const server = await start({ intercept: () => reply });
    const error = await failureFrom(openForTest(server.url).nodes.list({}, calm));
    expect(error).toBeInstanceOf(PortalNotApiError);
    expect(error).toMatchObject({ retryable: false, hint: expect.stringContaining('url') });
  });
});

describe('a signal', () => {
  it('ends the wait of its own call only; the shared login continues for the others', async () => {
    let release = () => {};
    const server = await start({
      intercept: (seen, response) => {
        if (!seen.path.endsWith('/login')) return undefined;
        release = () => {
          response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'SESSabc=x; path=/' });
          response.end(
            JSON.stringify({ sessid: 'x', session_name: 'SESSabc', token: 't', user: { uid: '3', name: 'creator' } }),
          );
        };
        return true;
      },
    });
    const portal = openForTest(server.url);
    const gone = new AbortController();
    const impatient = failureFrom(portal.nodes.list({}, gone.signal));
    const patient = portal.nodes.list({}, calm);
    const reason = new Error('stop now');
    gone.abort(reason);
    expect(await impatient).toBe(reason);
    await waitUntil('the login arrived', () => server.seen.length === 1);
    release();
    expect(await patient).toEqual([]);
  });
});

describe('what a login gives and no header takes', () => {
  const loginWith = (changed: object, headers: Record<string, string> = {}) =>
    start({
      intercept: (seen) =>
        seen.path.endsWith('/user/login')
          ? { headers, body: { sessid: 's', session_name: 'SESSabc', user: { uid: 3, name: 'creator' }, ...changed } }
          : undefined,
    });

  it.each(['abc\r\nX: 1', 'ab\u0000c', '\u0100', '\u2028'])('as token %j is an error, each time', async (token) => {
    const portal = openForTest((await loginWith({ token })).url);
    for (let at = 0; at < 3; at++)
      expect(await failureFrom(portal.createNode({ ...input, uuid }, calm))).toHaveProperty(
        'message',
        expect.stringContaining('instead of the result of a login'),
      );
  });

  it.each([
    [{ sessid: 'a\r\nX: 1' }, {}],
    [{ sessid: '\u0100' }, {}],
    [{ session_name: 'S\u0100' }, {}],
    [{}, { 'set-cookie': Buffer.from('b=\u0100; path=/').toString('latin1') }],
  ])('as cookie is not sent: %j', async (changed, headers) => {
    const server = await loginWith({ token: 't', ...changed }, headers as Record<string, string>);
    const portal = openForTest(server.url);
    for (let at = 0; at < 3; at++) expect(await portal.nodes.list({}, calm)).toEqual([]);
    expect(server.requests('GET', '/')[0]?.headers.cookie ?? '').toMatch(/^(SESSabc=s)?$/);
  });
});

it('a configured token that no header takes is an error each time', async () => {
  const portal = openForTest((await start()).url, { token: 'a\nb', connections: 1 });
  for (let at = 0; at < 3; at++)
    expect(await failureFrom(portal.nodes.list({}, calm))).toHaveProperty(
      'message',
      expect.stringContaining('invalid authorization header'),
    );
});

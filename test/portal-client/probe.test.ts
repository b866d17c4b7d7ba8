import { describe, expect, it, onTestFinished } from 'vitest';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { page, refusal } from './support/scripted-server.ts';
import { type SmallPortalOptions, startSmallPortal } from './support/small-portal.ts';

const start = async (options: SmallPortalOptions = {}) => {
  const server = await startSmallPortal(options);
  onTestFinished(() => server.close());
  return server;
};

describe('probing a portal', () => {
  it('reports what an entity portal offers, with one login and otherwise reads', async () => {
    const server = await start();
    const probe = await openForTest(server.url).probe(calm);
    expect(probe).toMatchObject({
      reachable: true,
      api: true,
      login: { uid: '3', name: 'creator', roles: ['authenticated user', 'content creator'] },
      dialect: 'entity',
      datastore: true,
      search: false,
      mayCreate: true,
      ok: true,
    });
    expect(server.seen.filter((seen) => seen.method !== 'GET').map((seen) => seen.path)).toEqual([
      '/api/dataset/user/login',
    ]);
  });

  it('reports what a form portal offers', async () => {
    const server = await start({
      dialect: 'form',
      intercept: (seen) =>
        seen.path.startsWith('/api/action/') ? { body: { error: { message: 'no table' } } } : undefined,
    });
    expect(await openForTest(server.url).probe(calm)).toMatchObject({
      dialect: 'form',
      datastore: false,
      search: true,
      ok: true,
    });
  });

  it.each([
    ['without a datastore', 'form', true],
    ['with one: none of its tables could be shown to be live', 'entity', false],
  ] as const)('judges a search that always fails by the datastore: a portal %s', async (_, dialect, ok) => {
    const server = await start({
      dialect,
      intercept: (seen) => (seen.path.startsWith('/api/action/') ? page(500, 'Error | DKAN') : undefined),
    });
    const probe = await openForTest(server.url).probe(calm);
    expect(probe).toMatchObject({ datastore: dialect === 'entity', ok });
    if (!ok) expect(probe.findings.at(-1)).toMatchObject({ ok, what: expect.stringContaining('answered 500') });
  });

  it.each([
    ['a role that may not create', { 2: 'authenticated user' }, false],
    ['a role that is not known', { 2: 'authenticated user', 9: 'publisher' }, null],
    ['no roles told', {}, null],
  ])('judges rights by the names of roles: %s', async (_, roles, mayCreate) => {
    const server = await start({ roles });
    const probe = await openForTest(server.url).probe(calm);
    expect(probe).toMatchObject({ mayCreate, ok: mayCreate !== false });
    expect(probe.findings.find((finding) => finding.ok !== true)?.hint).toMatch(/role|publish/);
  });

  it.each([
    ['does not know whether an account may import that has no table', false, null],
    ['knows it from the datastore of a table of its own', true, true],
  ])('%s', async (_, hasTable, ok) => {
    const server = await start();
    const file = { fid: '1', filename: 'a.csv', uri: 'public://a.csv', filesize: '3' };
    if (hasTable) {
      const node = { nid: '7', uuid: 'u', vid: '1', type: 'resource', title: 'T', status: '1', uid: '3' };
      server.nodes.set('7', { ...node, path: 'http://site/node/7', field_upload: { und: [file] } });
    }
    const { findings } = await openForTest(server.url).probe(calm);
    expect(findings.find(({ what }) => /import(?:ed)? into the datastore/.test(what))?.ok).toBe(ok);
  });

  it('says what to do where nothing listens', async () => {
    const server = await startSmallPortal();
    await server.close();
    const probe = await openForTest(server.url, { readRetries: 0 }).probe(calm);
    expect(probe).toMatchObject({
      reachable: false,
      api: false,
      login: null,
      dialect: null,
      mayCreate: null,
      ok: false,
    });
    expect(probe.findings).toEqual([
      { ok: false, what: expect.stringContaining('ECONNREFUSED'), hint: expect.stringContaining('port') },
    ]);
  });

  it('says that a site is not this API', async () => {
    const server = await start({ intercept: () => page(200, 'Welcome to the city') });
    const probe = await openForTest(server.url).probe(calm);
    expect(probe).toMatchObject({ reachable: true, api: false, login: null, ok: false });
    expect(probe.findings.at(-1)).toMatchObject({ ok: false, what: expect.stringContaining('Welcome to the city') });
    expect(server.requests('POST', '/')).toHaveLength(0);
  });

  it('says that the login was refused, with one login', async () => {
    const server = await start();
    const probe = await openForTest(server.url, { password: 'nope' }).probe(calm);
    expect(probe).toMatchObject({
      reachable: true,
      api: true,
      login: { code: 'portal-login' },
      dialect: null,
      ok: false,
    });
    expect(probe.findings.at(-1)?.hint).toContain('password');
    expect(server.requests('POST', '/api/dataset/user/login')).toHaveLength(1);
  });

  it('continues to the login where strangers may list nothing', async () => {
    const server = await start({
      intercept: (seen) =>
        seen.headers.cookie === undefined && seen.method === 'GET'
          ? refusal(403, 'Access denied for user anonymous')
          : undefined,
    });
    expect(await openForTest(server.url).probe(calm)).toMatchObject({ api: true, ok: true });
  });

  it('ends with the reason of an aborted signal', async () => {
    const server = await start();
    expect(await failureFrom(openForTest(server.url).probe(AbortSignal.abort(new Error('stop'))))).toHaveProperty(
      'message',
      'stop',
    );
  });
});

import { describe, expect, it, onTestFinished } from 'vitest';
import { ImportFailedError } from '../../src/model/errors.ts';
import { numbersOf } from '../../src/portal-client/datastore.ts';
import type { PortalTraits } from '../../src/portal-client/settings.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { type Answer, page, refusal, unknownRoute } from './support/scripted-server.ts';
import { startSmallPortal } from './support/small-portal.ts';

/** A client of a portal whose replies below `prefix` are all `reply`. */
const withReply = async (prefix: string, reply: Answer) => {
  const server = await startSmallPortal({ intercept: (seen) => (seen.path.startsWith(prefix) ? reply : undefined) });
  onTestFinished(() => server.close());
  return { server, portal: openForTest(server.url, { readRetries: 0 }) };
};
const route = '/api/dataset/datastore';
const search = '/api/action/datastore/search.json';
const text = (body: string): Answer => ({ body, headers: { 'content-type': 'text/yaml;charset=UTF-8' } });

describe('a datastore status', () => {
  it.each([
    [
      'the YAML of the specification',
      '---\nclass: Manager\nstorage: 1\ndata_import: 2\nconfigurable_properties:\n    delimiter: ,\n',
      1,
      2,
    ],
    [
      'YAML that no parser takes',
      '---\nclass: A\\B\nstorage: 0\ndata_import: 7\nconfigurable_properties:\n    quote: "\n    escape: \\\n',
      0,
      7,
    ],
    ['JSON', '{"class":"A\\\\B","storage":1,"data_import":6,"configurable_properties":{"delimiter":","}}', 1, 6],
    ['JSON with strings', '{"storage": "1", "data_import": "4"}', 1, 4],
  ])('is read from %s', (_, body, storage, data_import) => {
    expect(numbersOf(body)).toEqual({ storage, data_import });
  });

  it('is not read from anything else', () => {
    expect(numbersOf('[true]')).toBeNull();
    expect(numbersOf('{"my_storage": 1, "data_import": 2}')).toBeNull();
  });

  it('is null where the portal has no such endpoint, which is asked for once', async () => {
    const { server, portal } = await withReply(route, unknownRoute('Could not find resource datastore.'));
    expect(await portal.datastore.status('5', calm)).toBeNull();
    expect(await Promise.all([portal.datastore.isOffered(calm), portal.datastore.isOffered(calm)])).toEqual([
      false,
      false,
    ]);
    expect(server.requests('GET', route)).toHaveLength(2);
  });

  it.each([false, true])('is asked for again by another process where there was none (known: %s)', async (isKnown) => {
    let isThere = false;
    const server = await startSmallPortal({
      intercept: ({ path }) =>
        path.startsWith(route) && !isThere ? unknownRoute('Could not find resource datastore.') : undefined,
    });
    onTestFinished(() => server.close());
    server.nodes.set('5', { nid: '5' });
    const learnt: PortalTraits[] = isKnown ? [{ datastore: true }] : [];
    const open = () =>
      openForTest(server.url, {}, { traits: learnt.at(-1) ?? {}, onTraits: (all) => learnt.push(all) });
    // What a portal has offered it owes.
    const without = open().datastore.status('5', calm);
    if (isKnown) expect(await failureFrom(without)).toMatchObject({ code: 'portal-refused' });
    else expect(await without).toBeNull();
    isThere = true;
    expect(await open().datastore.status('5', calm)).toEqual({ storage: 1, data_import: 6 });
  });

  it.each([
    ['the account may not manage it', refusal(403, 'Access denied for user creator'), 'portal-refused'],
    ['the node is gone', refusal(404, 'Node 5 could not be found'), 'portal-gone'],
  ])('is an error where %s, and the portal has a datastore all the same', async (_, reply, code) => {
    const { portal } = await withReply(route, reply);
    expect(await failureFrom(portal.datastore.status('5', calm))).toMatchObject({ code });
    expect(await portal.datastore.isOffered(calm)).toBe(true);
  });

  it('names the permission that an account lacks', async () => {
    const { portal } = await withReply(route, refusal(403, 'Access denied for user creator'));
    const { datastore } = portal;
    for (const denied of [datastore.status('5', calm), datastore.import('5', calm), datastore.remove('5', calm)]) {
      expect(await failureFrom(denied)).toMatchObject({ hint: expect.stringContaining('*manage datastore*') });
    }
  });

  it('is not taken for missing where a proxy knows no such page', async () => {
    const { portal } = await withReply(route, { status: 404, body: 'no route' });
    expect(await failureFrom(portal.datastore.isOffered(calm))).toMatchObject({ code: 'portal-refused' });
  });

  it('is an error where the portal fails or answers something else', async () => {
    const failing = await withReply(route, refusal(500, 'x'));
    expect(await failureFrom(failing.portal.datastore.status('5', calm))).toMatchObject({ code: 'portal-unreachable' });
    expect(await failureFrom(failing.portal.datastore.isOffered(calm))).toMatchObject({ code: 'portal-unreachable' });
    const odd = await withReply(route, page(200, 'Hello'));
    expect(await failureFrom(odd.portal.datastore.status('5', calm))).toMatchObject({ code: 'portal-reply' });
  });

  it('comes with the datastore of a node', async () => {
    const { server, portal } = await withReply('/none', {});
    server.nodes.set('5', { nid: '5' });
    expect(await portal.datastore.status('5', calm)).toEqual({ storage: 1, data_import: 6 });
  });
});

describe('import and removal', () => {
  it.each([{ body: [true] }, text('---\n- true\n'), { body: '' }])('take %j for an answer', async (reply) => {
    const { portal } = await withReply(route, reply);
    await portal.datastore.import('5', calm);
    await portal.datastore.remove('5', calm);
  });

  it.each([{ body: [false] }, text('---\n- false\n')])('fail on %j', async (reply) => {
    const { portal } = await withReply(route, reply);
    expect(await failureFrom(portal.datastore.import('5', calm))).toBeInstanceOf(ImportFailedError);
  });

  it('are refused where the portal has no datastore', async () => {
    const { portal } = await withReply(route, unknownRoute('Could not find resource datastore.'));
    expect(await failureFrom(portal.datastore.import('5', calm))).toMatchObject({
      code: 'portal-refused',
      message: expect.stringContaining(
        'POST /api/dataset/datastore/5/import answered 404: Could not find resource datastore.',
      ),
    });
  });
});

describe('the size of a table', () => {
  it.each([
    ['the total', { body: { success: true, result: { total: 1555, records: [] } } }, { rows: 1555, columns: [] }],
    ['a total in a string', { body: { result: { total: '93' } } }, { rows: 93, columns: [] }],
    [
      'no table where it is missing',
      { body: { sql: 'SELECT', error: { message: "Base table or view not found: Table 'x' doesn't exist" } } },
      null,
    ],
    ['nothing where there is no search', page(404, 'Page not found'), undefined],
    ['nothing where another page answers', page(200, 'Search'), undefined],
  ])('gives %s', async (_, reply, size) => {
    const { server, portal } = await withReply(search, reply);
    expect(await portal.datastore.table('a b', calm)).toEqual(size);
    expect(server.requests('GET', search)[0]?.path).toBe(`${search}?resource_id=a%20b&limit=1`);
  });

  it.each([
    ['another page', page(200, 'Log in')],
    ['no such page', page(404, 'Page not found')],
    ['no JSON', text('{"result":{"total":1')],
    ['false', text('false')],
    ['null', text('null')],
    ['no total', { body: { result: { records: [] } } }],
    ['another table', { body: { result: { resource_id: ['other'], total: 2, records: [] } } }],
  ])('is an error, not unknown, where rows were counted before and the answer is %s', async (_, odd) => {
    let reply: Answer = { body: { result: { resource_id: ['U'], total: '2', records: [] } } };
    const server = await startSmallPortal({ intercept: ({ path }) => (path.startsWith(search) ? reply : undefined) });
    onTestFinished(() => server.close());
    const { datastore } = openForTest(server.url, { readRetries: 0 });
    expect(await datastore.table('u', calm)).toEqual({ rows: 2, columns: [] });
    reply = odd;
    expect(await failureFrom(datastore.table('u', calm))).toMatchObject({ code: 'portal-reply' });
    expect(await datastore.tables(['u', 'v'], calm)).toEqual(new Map());
    expect(datastore.counts()).toBe(true);
  });

  it.each([{ total: 2 }, null])(
    'is an error where it may not be counted, and rows were counted before: %j',
    async (result) => {
      let reply: Answer = { body: { result } };
      const server = await startSmallPortal({ intercept: ({ path }) => (path.startsWith(search) ? reply : undefined) });
      onTestFinished(() => server.close());
      const { datastore } = openForTest(server.url, { readRetries: 0 });
      if (result) expect(await datastore.table('u', calm)).toEqual({ rows: 2, columns: [] });
      reply = refusal(403, 'Access denied for user creator');
      expect(await failureFrom(datastore.table('u', calm))).toMatchObject({
        code: 'portal-refused',
        message: expect.stringContaining('403: Access denied for user creator'),
      });
      expect(await datastore.tables(['u', 'v'], calm)).toEqual(new Map());
      expect(await Array.fromAsync(datastore.rows('u', calm))).toEqual([]);
      expect(datastore.counts()).toBe(true);
    },
  );

  it('is known of several tables where only requests for one are allowed', async () => {
    const one: Answer = { body: { result: { total: 2 } } };
    const refused = refusal(403, 'Access denied for user creator');
    const answer = (method: string) => (method === 'POST' ? refused : one);
    const server = await startSmallPortal({
      intercept: ({ path, method }) => (path.startsWith(search) ? answer(method) : undefined),
    });
    onTestFinished(() => server.close());
    const { datastore } = openForTest(server.url, { readRetries: 0 });
    const table = { rows: 2, columns: [] };
    expect(await datastore.tables(['u', 'v'], calm)).toEqual(
      new Map([
        ['u', table],
        ['v', table],
      ]),
    );
  });

  it('is unknown where the portal has given its search up, once that may be found out again', async () => {
    let reply: Answer = { body: { result: { total: 2 } } };
    const server = await startSmallPortal({ intercept: ({ path }) => (path.startsWith(search) ? reply : undefined) });
    onTestFinished(() => server.close());
    const { datastore, traits } = openForTest(server.url, { readRetries: 0 });
    expect(await datastore.table('u', calm)).toEqual({ rows: 2, columns: [] });
    reply = page(404, 'Page not found');
    expect(await failureFrom(datastore.table('u', calm))).toMatchObject({
      hint: expect.stringContaining('`sluice rebuild`'),
    });
    traits.forget();
    expect(await datastore.table('u', calm)).toBeUndefined();
    expect(datastore.counts()).toBe(false);
  });

  it('is an error where the search fails, and none of many tables', async () => {
    const { portal } = await withReply(search, { body: { error: { message: 'syntax error' } } });
    expect(await failureFrom(portal.datastore.table('u', calm))).toMatchObject({ code: 'portal-busy' });
    expect((await portal.datastore.tables(['u'], calm)).has('u')).toBe(false);
    expect(portal.datastore.counts()).toBe(true);
  });
});

describe('a search that fails for another reason than a missing table', () => {
  const locked = {
    error: { message: 'Caught exception: Failed to get datastore variable lock, wait delay exceeded.' },
  };
  const unnamed = { error: { message: 'Exception Caught, please check logs for more information' } };
  const oneRow = { result: { total: 1, fields: [{ id: 'name' }], records: [{ name: 'a' }] } };

  /** A portal that fails the first searches, however many queries they have. */
  const failing = async (times: number, body: object) => {
    let left = times;
    const server = await startSmallPortal({
      intercept: ({ method, path, body: sent }) => {
        if (!path.startsWith(search)) return undefined;
        const fails = left-- > 0;
        if (method === 'GET') return { body: fails ? body : oneRow };
        const names = Object.keys(JSON.parse(sent.toString()));
        return { body: Object.fromEntries(names.map((name, at) => [name, fails && at > 0 ? body : oneRow])) };
      },
    });
    onTestFinished(() => server.close());
    return { server, portal: openForTest(server.url, { readRetries: 0 }) };
  };

  it.each([locked, unnamed])('is sent again: %j', async (body) => {
    const { server, portal } = await failing(2, body);
    expect(await portal.datastore.table('u', calm)).toEqual({ rows: 1, columns: ['name'] });
    expect(server.requests('GET', search)).toHaveLength(3);
  });

  it('is sent again without the queries that were answered', async () => {
    const { server, portal } = await failing(1, unnamed);
    const sizes = await portal.datastore.tables(['u', 'v'], calm);
    expect([...sizes.values()]).toEqual([
      { rows: 1, columns: ['name'] },
      { rows: 1, columns: ['name'] },
    ]);
    expect(server.requests('POST', search)).toHaveLength(1);
    expect(server.requests('GET', search).map(({ path }) => path)).toEqual([`${search}?resource_id=v&limit=1`]);
  });

  it('is sent again while rows are read', async () => {
    const { portal } = await failing(1, unnamed);
    const records: unknown[] = [];
    for await (const page of portal.datastore.rows('u', calm)) records.push(...page.records);
    expect(records).toEqual([{ name: 'a' }]);
  });

  it.each([
    ['a missing table where the portal never says more', unnamed, null],
    ['no answer otherwise', locked, undefined],
  ])('counts as %s after the third time', async (_, body, size) => {
    const { server, portal } = await failing(3, body);
    expect((await portal.datastore.tables(['u'], calm)).get('u')).toBe(size);
    expect(server.requests('GET', search)).toHaveLength(3);
  });
});

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fieldItems } from '../../src/dataset-api/fields.ts';
import { PortalBusyError, PortalConflictError, PortalGoneError, PortalReplyError } from '../../src/model/errors.ts';
import { uuidLookup } from '../../src/portal-client/lookup.ts';
import type { ListQuery } from '../../src/portal-client/nodes.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { refusal } from './support/scripted-server.ts';
import { type SmallPortalOptions, startSmallPortal } from './support/small-portal.ts';

const uuid = '11111111-2222-5333-8444-555555555555';
const input = { type: 'dataset', title: 'Budget', status: 1, log: 'sluice', fields: {}, uuid } as const;

const start = async (intercept: SmallPortalOptions['intercept'] = () => undefined) => {
  const server = await startSmallPortal({ intercept });
  onTestFinished(() => server.close());
  return { server, portal: openForTest(server.url, {}, { traits: { dialect: 'entity' } }) };
};

describe('saves of nodes', () => {
  it('are sent one at a time where the database of the portal lets overlapping ones fail', async () => {
    let [now, failed, nid] = [0, 0, 0];
    const { portal } = await start((seen, response) => {
      if (seen.method !== 'POST' || seen.path !== '/api/dataset/node') return undefined;
      now += 1;
      const isCrossed = now > 1;
      setTimeout(() => {
        now -= 1;
        if (isCrossed) failed += 1;
        const reason = 'Internal Server Error : SQLSTATE[40001]: 1213 Deadlock found when trying to get lock';
        if (isCrossed) response.writeHead(500, reason).end();
        else response.writeHead(200, { 'content-type': 'application/json' }).end(`{"nid":"${++nid}","uri":"x"}`);
      }, 5);
      return true;
    });
    const create = async (): Promise<void> => {
      await portal.createNode(input, calm).catch((error: unknown) => {
        if (error instanceof PortalBusyError) return create();
        throw error;
      });
    };
    await Promise.all(Array.from({ length: 100 }, create));
    expect(failed).toBeLessThan(20);
  });
});

describe('nodes', () => {
  it('are created, read, updated with the given keys only, and deleted', async () => {
    const { server, portal } = await start();
    const fields = { body: { und: [{ value: 'Text' }] }, field_tags: { und: [{ tid: '9' }] } };
    const { nid } = await portal.createNode({ ...input, fields }, calm);
    const node = await portal.nodes.read(nid, calm);
    expect(node).toMatchObject({
      nid,
      vid: nid,
      uuid,
      type: 'dataset',
      title: 'Budget',
      status: '1',
      uid: '3',
      log: 'sluice',
    });
    expect(node.path).toBe('http://site/node/1');
    expect(fieldItems(node, 'body')).toEqual([{ value: 'Text' }]);
    expect(fieldItems(node, 'field_upload')).toEqual([]);

    await portal.nodes.update(nid, { title: 'Budget 2', log: 'again' }, calm);
    const [put] = server.requests('PUT', '/api/dataset/node/1');
    expect(JSON.parse(put?.body.toString() ?? '')).toEqual({ title: 'Budget 2', log: 'again' });

    await portal.nodes.remove(nid, calm);
    expect(await failureFrom(portal.nodes.read(nid, calm))).toBeInstanceOf(PortalGoneError);
    expect(await failureFrom(portal.nodes.remove(nid, calm))).toBeInstanceOf(PortalGoneError);
    expect(await failureFrom(portal.nodes.update(nid, { log: 'l' }, calm))).toBeInstanceOf(PortalGoneError);
  });

  it('are deleted with an empty reply as well', async () => {
    const { portal } = await start((seen) => (seen.method === 'DELETE' ? { body: '' } : undefined));
    await expect(portal.nodes.remove('1', calm)).resolves.toBeUndefined();
  });

  it('may have numbers for ids', async () => {
    const { portal } = await start((seen) =>
      seen.path.startsWith('/api/dataset/node') ? { body: { nid: 12, vid: 15, title: null } } : undefined,
    );
    expect(await portal.createNode(input, calm)).toEqual({ nid: '12' });
    expect(await portal.nodes.read('12', calm)).toMatchObject({ nid: '12', vid: '15', title: '', path: null });
  });

  it('whose body is not a node are a faulty reply', async () => {
    const { portal } = await start((seen) =>
      seen.path.startsWith('/api/dataset/node') ? { body: [false] } : undefined,
    );
    expect(await failureFrom(portal.nodes.read('1', calm))).toBeInstanceOf(PortalReplyError);
    expect(await failureFrom(portal.nodes.list({}, calm))).toBeInstanceOf(PortalReplyError);
    expect(await failureFrom(portal.nodes.update('1', { log: 'l' }, calm))).toMatchObject({
      request: { mayHaveHappened: true },
    });
  });

  it('that are answered in the place of others are a faulty reply', async () => {
    const { portal } = await start(({ method, path }) =>
      method === 'GET' && path.endsWith('/node/1') ? { body: { nid: '2', vid: '2', title: 'Of others' } } : undefined,
    );
    expect(await failureFrom(portal.nodes.read('1', calm))).toBeInstanceOf(PortalReplyError);
  });

  it.each([
    ['A node with that uuid exists: nid 42', '42'],
    ['uuid is taken by node 42.', '42'],
    ['uuid is taken', undefined],
  ])('that exist already are a conflict (%s)', async (words, nid) => {
    const { portal } = await start((seen) =>
      seen.method === 'POST' && seen.path.endsWith('/node') ? refusal(409, words) : undefined,
    );
    const error = await failureFrom(portal.createNode(input, calm));
    expect(error).toBeInstanceOf(PortalConflictError);
    expect(error).toMatchObject({ request: nid === undefined ? {} : { nid } });
  });
});

describe('lists', () => {
  it('send columns, filters, order and page as this API spells them', async () => {
    const { server, portal } = await start();
    await portal.nodes.list(
      {
        fields: ['nid', 'title'],
        parameters: { type: 'dataset', uuid: ['a', 'b'] },
        page: 2,
        pageSize: 50,
        orderBy: { column: 'nid', direction: 'ASC' },
      },
      calm,
    );
    const [list] = server.requests('GET', '/api/dataset/node');
    expect(decodeURIComponent(list?.path ?? '')).toBe(
      '/api/dataset/node?fields=nid,title&parameters[type]=dataset&parameters[uuid]=a,b&options[orderby][nid]=ASC&page=2&pagesize=20',
    );
  });

  it.each([5, 10, 19, 20])('are read whole where a page has %i rows at most', async (most) => {
    let listed: { nid: string }[] = [];
    const { portal } = await start((seen) => {
      const query = new URL(seen.path, 'http://x').searchParams;
      const size = Math.min(most, Number(query.get('pagesize')));
      const from = Number(query.get('page') ?? 0) * size;
      return seen.path.startsWith('/api/dataset/node?') ? { body: listed.slice(from, from + size) } : undefined;
    });
    for (const count of [0, 4, 5, 6, 10, 11, 20, 21, 47, 100]) {
      listed = Array.from({ length: count }, (_, index) => ({ nid: String(index + 1) }));
      for (const atOnce of [1, 3]) {
        const { rows, complete } = await portal.nodes.all({ fields: ['nid'] }, { signal: calm, atOnce });
        const isProven = most > 5 || count < 60; // 60 is a multiple of 1 to 5
        expect([rows.size, complete === true], `${count} nodes`).toEqual([count, isProven]);
      }
    }
  });

  it('give the highest nid, "0" on an empty portal', async () => {
    const { portal } = await start();
    expect(await portal.nodes.highest(calm)).toBe('0');
    await portal.createNode(input, calm);
    await portal.createNode({ ...input, uuid: `${uuid}2` }, calm);
    expect(await portal.nodes.highest(calm)).toBe('2');
  });
});

describe('looking up by uuid', () => {
  const uuidOf = (n: number) => `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`;

  it('answers calls made together with one request for each twenty', async () => {
    const { server, portal } = await start();
    for (const n of [1, 2, 25]) {
      server.nodes.set(String(n), {
        nid: String(n),
        vid: '1',
        uuid: uuidOf(n),
        type: 'dataset',
        title: `T${n}`,
        status: '1',
      });
    }
    const rows = await Promise.all(Array.from({ length: 30 }, (_, n) => portal.findByUuid(uuidOf(n + 1), calm)));
    expect(rows.filter((row) => row !== null).map(({ nid, title }) => [nid, title])).toEqual([
      ['1', 'T1'],
      ['2', 'T2'],
      ['25', 'T25'],
    ]);
    expect(server.requests('GET', '/api/dataset/node')).toHaveLength(2);
  });

  it('asks again later, and once for the same uuid', async () => {
    const { server, portal } = await start();
    expect(await Promise.all([portal.findByUuid(uuidOf(1), calm), portal.findByUuid(uuidOf(1), calm)])).toEqual([
      null,
      null,
    ]);
    server.nodes.set('1', { nid: '1', uuid: uuidOf(1), status: '1' });
    expect(await portal.findByUuid(uuidOf(1).toUpperCase(), calm)).toMatchObject({ nid: '1' });
    expect(server.requests('GET', '/api/dataset/node')).toHaveLength(2);
  });

  it('asks along for those that are searched for next, and takes such an answer once', async () => {
    const { server, portal } = await start();
    server.nodes.set('2', { nid: '2', uuid: uuidOf(2), status: '1' });
    const asked = () => server.requests('GET', '/api/dataset/node').length;
    portal.expectNodes([uuidOf(2), uuidOf(3).toUpperCase()]);
    expect(await portal.findByUuid(uuidOf(2), calm, { recent: true })).toMatchObject({ nid: '2' });
    server.nodes.set('3', { nid: '3', uuid: uuidOf(3), status: '1' });
    expect(await portal.findByUuid(uuidOf(3), calm, { recent: true })).toBeNull();
    expect(asked()).toBe(1);
    expect(await portal.findByUuid(uuidOf(3), calm, { recent: true })).toMatchObject({ nid: '3' });
    expect(asked()).toBe(2);
  });

  it('asks again, whatever came along, unless a recent answer will do', async () => {
    const { server, portal } = await start();
    portal.expectNodes([uuidOf(2)]);
    await portal.findByUuid(uuidOf(1), calm);
    server.nodes.set('2', { nid: '2', uuid: uuidOf(2), status: '1' });
    expect(await portal.findByUuid(uuidOf(2), calm)).toMatchObject({ nid: '2' });
    expect(await portal.findByUuid(uuidOf(2), calm, { recent: true })).toMatchObject({ nid: '2' });
    expect(server.requests('GET', '/api/dataset/node')).toHaveLength(3);
  });

  it('waits for an answer that is on its way', async () => {
    const held = Promise.withResolvers<void>();
    const { server, portal } = await start((seen, response) => {
      if (!seen.path.startsWith('/api/dataset/node?')) return undefined;
      const body = JSON.stringify([{ nid: '2', uuid: uuidOf(2), status: '1' }]);
      void held.promise.then(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body));
      return true;
    });
    const asked = () => server.requests('GET', '/api/dataset/node').length;
    portal.expectNodes([uuidOf(1), uuidOf(2)]);
    const first = portal.findByUuid(uuidOf(1), calm, { recent: true });
    await vi.waitFor(() => expect(asked()).toBe(1));
    const second = portal.findByUuid(uuidOf(2), calm, { recent: true });
    held.resolve();
    expect(await Promise.all([first, second])).toMatchObject([null, { nid: '2' }]);
    expect(asked()).toBe(1);
  });

  it('asks itself where the request of another has failed', async () => {
    let isDown = true;
    const { server, portal } = await start((seen) =>
      seen.path.startsWith('/api/dataset/node?') && isDown ? { status: 404, body: 'gone' } : undefined,
    );
    server.nodes.set('2', { nid: '2', uuid: uuidOf(2), status: '1' });
    portal.expectNodes([uuidOf(2)]);
    await failureFrom(portal.findByUuid(uuidOf(1), calm));
    isDown = false;
    expect(await portal.findByUuid(uuidOf(2), calm, { recent: true })).toMatchObject({ nid: '2' });
  });

  it('asks again for what became too old, together with whatever else is still to be searched for', async () => {
    const asked: string[][] = [];
    let now = 0;
    const list = async ({ parameters }: ListQuery) => {
      asked.push([parameters?.uuid ?? []].flat());
      return [];
    };
    const lookup = uuidLookup(list, calm, () => now);
    const uuids = Array.from({ length: 30 }, (_, n) => uuidOf(n));
    lookup.expect(uuids);
    await lookup.find(uuidOf(0), calm, { recent: true });
    now = 9_999;
    for (const n of [1, 2]) await lookup.find(uuidOf(n), calm, { recent: true });
    expect(asked).toEqual([uuids.slice(0, 20)]);
    now = 10_000;
    for (const uuid of uuids.slice(3)) await lookup.find(uuid, calm, { recent: true });
    expect(asked.slice(1)).toEqual([uuids.slice(3, 23), uuids.slice(23)]);
  });

  it('finds a node that others with one uuid push off the page', async () => {
    const all = [
      ...Array.from({ length: 25 }, (_, n) => ({ nid: String(n + 1), uuid: uuidOf(1) })),
      { nid: '99', uuid: uuidOf(2) },
    ];
    const { portal } = await start((seen) => {
      if (!seen.path.startsWith('/api/dataset/node?')) return undefined;
      const uuids = new URL(seen.path, 'http://x').searchParams.get('parameters[uuid]')?.split(',') ?? [];
      return { body: all.filter(({ uuid }) => uuids.includes(uuid)).slice(0, 20) };
    });
    const rows = await Promise.all([1, 2].map((n) => portal.findByUuid(uuidOf(n), calm)));
    expect(rows.map((row) => row?.nid)).toEqual(['1', '99']);
  });

  it.each([5, 7, 10])('finds all where the portal lists %i at most', async (most) => {
    const { portal } = await start((seen) => {
      if (!seen.path.startsWith('/api/dataset/node?')) return undefined;
      const uuids = new URL(seen.path, 'http://x').searchParams.get('parameters[uuid]')?.split(',') ?? [];
      return { body: uuids.map((uuid, index) => ({ nid: String(index + 1), uuid })).slice(0, most) };
    });
    const rows = await Promise.all(Array.from({ length: 20 }, (_, n) => portal.findByUuid(uuidOf(n + 1), calm)));
    expect(rows.map((row) => row?.uuid)).toEqual(Array.from({ length: 20 }, (_, n) => uuidOf(n + 1)));
  });

  it('takes no other node for it where the portal ignores the filter', async () => {
    const { portal } = await start((seen) =>
      seen.path.startsWith('/api/dataset/node?') ? { body: [{ nid: '9', uuid: uuidOf(9) }, { nid: '8' }] } : undefined,
    );
    expect(await portal.findByUuid(uuidOf(1), calm)).toBeNull();
  });

  it('gives the oldest where several nodes have the uuid', async () => {
    const { portal } = await start((seen) =>
      seen.path.startsWith('/api/dataset/node?')
        ? { body: ['11', '9', '10'].map((nid) => ({ nid, uuid: uuidOf(1) })) }
        : undefined,
    );
    expect(await portal.findByUuid(uuidOf(1), calm)).toMatchObject({ nid: '9' });
  });

  it('fails for all who asked together, and one who stops does not stop the others', async () => {
    let failing = true;
    const { portal } = await start((seen) =>
      failing && seen.path.startsWith('/api/dataset/node?') ? refusal(406, 'Invalid query provided') : undefined,
    );
    const errors = await Promise.all([1, 2].map((n) => failureFrom(portal.findByUuid(uuidOf(n), calm))));
    for (const error of errors) expect(error).toMatchObject({ code: 'portal-refused' });
    failing = false;
    const stop = new AbortController();
    const stopped = failureFrom(portal.findByUuid(uuidOf(1), stop.signal));
    const other = portal.findByUuid(uuidOf(2), calm);
    stop.abort(new Error('enough'));
    expect(await stopped).toHaveProperty('message', 'enough');
    expect(await other).toBeNull();
  });
});

// Drafts that lists hide from ordinary users are found by looking at the ids that no list shows.
import { describe, expect, it, onTestFinished } from 'vitest';
import { calm, openForTest } from './support/open.ts';
import { refusal } from './support/scripted-server.ts';
import { type SmallPortalOptions, startSmallPortal } from './support/small-portal.ts';

const start = async (options: SmallPortalOptions = {}) => {
  const server = await startSmallPortal(options);
  onTestFinished(() => server.close());
  const node = (nid: number, status: '0' | '1') =>
    server.nodes.set(String(nid), { nid: String(nid), vid: '1', uuid: `u${nid}`, type: 'dataset', title: 'T', status });
  const reads = () => server.requests('GET', '/api/dataset/node/').map(({ path }) => Number(path.split('/').pop()));
  return { server, portal: openForTest(server.url), node, reads };
};

describe('hidden nodes', () => {
  it('are searched for above, between and below those that lists show', async () => {
    const { portal, node, reads } = await start();
    for (const nid of [2, 4]) node(nid, '1');
    for (const nid of [1, 3, 20]) node(nid, '0');
    const { nodes, ...rest } = await portal.drafts.all(calm);
    expect(nodes.map(({ nid }) => nid)).toEqual(['20', '3', '1']);
    expect(rest).toEqual({ unread: 0 });
    // 5 to 40, 3 and 1.
    expect(reads()).toHaveLength(38);
    expect(reads()).not.toContain(2);
  });

  it('are searched for once, for all who ask', async () => {
    const { portal, node, reads } = await start();
    node(3, '0');
    const both = await Promise.all([portal.drafts.all(calm), portal.forJob(null).drafts.all(calm)]);
    await portal.drafts.all(calm);
    expect(both.map(({ nodes }) => nodes.length)).toEqual([1, 1]);
    expect(reads()).toHaveLength(23);
  });

  it('are found above the listed ones as far as there are nodes, also of other accounts', async () => {
    const { portal, node } = await start({
      intercept: ({ path }) =>
        /\/node\/(?:2\d|3\d|4\d)$/.test(path) ? refusal(403, 'Access denied for user creator') : undefined,
    });
    node(1, '1');
    for (let nid = 2; nid < 110; nid++) node(nid, '0');
    const { nodes, unread } = await portal.drafts.all(calm);
    expect([nodes.length, unread]).toEqual([78, 0]);
  });

  it('of other accounts are none that are found', async () => {
    const { portal, node } = await start({
      intercept: ({ path }) => (path.endsWith('/node/2') ? refusal(403, 'Access denied for user creator') : undefined),
    });
    node(1, '0');
    node(2, '0');
    const { nodes, unread } = await portal.drafts.all(calm);
    expect([nodes.map(({ nid }) => nid), unread]).toEqual([['1'], 0]);
  });

  it('are none for an account that lists show everything', async () => {
    const { portal, node, reads, server } = await start({ roles: { 2: 'authenticated user', 4: 'Site Manager' } });
    node(1, '0');
    expect(await portal.drafts.all(calm)).toEqual({ nodes: [], unread: 0 });
    expect([reads(), server.requests('GET', '/api/dataset/node')]).toEqual([[], []]);
  });

  it('are searched for only among the newest where there are too many ids', async () => {
    const { portal, node, reads } = await start();
    node(600, '1');
    node(1, '0');
    node(599, '0');
    const { nodes, ...rest } = await portal.drafts.all(calm);
    expect(nodes.map(({ nid }) => nid)).toEqual(['599']);
    // 599 ids below the listed one, of which 480 were read after 20 above it.
    expect(rest).toEqual({ unread: 119 });
    expect(reads()).toHaveLength(500);
  });

  it('are searched for again when the walk has failed', async () => {
    let isDown = true;
    const { portal, node } = await start({
      intercept: ({ path }) => (isDown && path.endsWith('/node/7') ? { status: 500, body: 'down' } : undefined),
    });
    node(1, '0');
    await expect(portal.drafts.all(calm)).rejects.toMatchObject({ code: 'portal-unreachable' });
    isDown = false;
    expect((await portal.drafts.all(calm)).nodes).toHaveLength(1);
  });
});

// Writing a node with effect once, on portals that hide nodes, ignore uuids, or answer late.
import { describe, expect, it, onTestFinished } from 'vitest';
import { VerifyFailedError } from '../../src/errors.ts';
import { markerOf, type NodeWish } from '../../src/handlers/node-wish.ts';
import { type NodeTarget, proveNode, writeNode } from '../../src/handlers/node-write.ts';
import type { Intent, LedgerEntry } from '../../src/ledger/entry.ts';
import { openForTest } from '../portal/support/open.ts';
import { type SmallPortal, type SmallPortalOptions, startSmallPortal } from '../portal/support/small-portal.ts';
import { entryOf, itemOf, nodeWish, useLedger } from './support/job.ts';

const { ledger } = useLedger();

interface Case {
  portal: SmallPortal;
  target: NodeTarget;
  said: string[];
  wish: NodeWish;
  write(entry: LedgerEntry, intent?: Intent | null): Promise<LedgerEntry>;
  /** Writes that were sent, as `METHOD path`. */
  writes(): string[];
}

let count = 0;
const prepare = async (options: SmallPortalOptions = {}, more: Partial<NodeWish> = {}): Promise<Case> => {
  const portal = await startSmallPortal(options);
  onTestFinished(() => portal.close());
  const { item, said } = itemOf(`write/one/case-${count++}`);
  const target: NodeTarget = { item, ledger: ledger(), portal: openForTest(portal.url), onDrift: 'overwrite' };
  const wish = nodeWish(item.key, more);
  return {
    portal,
    target,
    said,
    wish,
    write: (entry, intent = null) => writeNode(target, wish, entry, intent),
    writes: () =>
      portal.seen
        .filter(({ method, path }) => method !== 'GET' && !/login|token/.test(path))
        .map(({ method, path }) => `${method} ${path.split('?')[0]}`),
  };
};

const createIntent = (wish: NodeWish, highestNid: string): Intent => ({
  action: 'create',
  highestNid,
  marker: markerOf(wish),
  at: 1,
});

/** A node of ours as an interrupted create has left it. */
const ours = (wish: NodeWish, nid: string, more: Record<string, unknown> = {}) => ({
  nid,
  vid: nid,
  uuid: '00000000-0000-4000-8000-000000000099',
  type: wish.type,
  title: wish.title,
  status: '1',
  log: markerOf(wish),
  ...more,
});

describe('a create', () => {
  it('sends one request, keeps its intent until the answer, and none after it', async () => {
    const { target, wish, write, writes } = await prepare();
    const entry = await write(entryOf(wish.key));
    expect(entry.nid).toBe('1');
    expect(writes()).toEqual(['POST /api/dataset/node']);
    expect(await ledger().known('city', wish.key)).toMatchObject({ entry: { nid: '1' }, intent: null });
    expect(target.item.actions).toEqual(['created']);
  });

  it('adopts a node that holds its uuid, whatever the ledger says', async () => {
    const { portal, target, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid }));
    const entry = await write(entryOf(wish.key));
    expect(entry.nid).toBe('1');
    expect(target.item.actions).toContain('adopted');
    expect(writes().filter((write) => write.startsWith('POST'))).toEqual([]);
  });

  it.each(['form', 'entity'] as const)(
    'interrupted on a %s portal that hides it: goes on with the node above the mark',
    async (dialect) => {
      const { portal, target, said, wish, write, writes } = await prepare(
        { dialect },
        { published: dialect === 'form' },
      );
      portal.nodes.set('1', ours(wish, '1', { title: 'Somebody else', log: '' }));
      // Same title, but not our write: never adopted.
      portal.nodes.set('2', ours(wish, '2', { log: 'edited by hand' }));
      portal.nodes.set('3', ours(wish, '3', { status: dialect === 'form' ? '1' : '0' }));
      const entry = await write(entryOf(wish.key), createIntent(wish, '1'));
      expect(entry.nid).toBe('3');
      expect(said.join('\n')).toContain('going on with node 3');
      expect(target.item.actions).toContain('created');
      expect(writes().filter((write) => write.startsWith('POST'))).toEqual([]);
    },
  );

  it('interrupted before it had an effect: creates once', async () => {
    const { portal, said, wish, write, writes } = await prepare({ dialect: 'form' });
    portal.nodes.set('1', ours(wish, '1', { log: 'edited by hand' }));
    const entry = await write(entryOf(wish.key), createIntent(wish, '0'));
    expect(entry.nid).toBe('2');
    expect(said.join('\n')).toContain('creating again');
    expect(writes()).toEqual(['POST /api/dataset/node']);
  });

  it('remembers how far the ids went where lists cannot show the node', async () => {
    const { portal, wish, write } = await prepare(
      {
        intercept: ({ method, path }) =>
          method === 'POST' && path.endsWith('/node') ? { status: 503, body: [''] } : undefined,
      },
      { published: false },
    );
    portal.nodes.set('4', ours(wish, '4', { title: 'Somebody else', log: '' }));
    await expect(write(entryOf(wish.key))).rejects.toMatchObject({ code: 'portal-unreachable' });
    expect(await ledger().intent('city', wish.key)).toMatchObject({ action: 'create', highestNid: '4' });
  });
});

describe('an update', () => {
  const known = (wish: NodeWish): LedgerEntry =>
    entryOf(wish.key, {
      nid: '1',
      vid: '1',
      live: true,
      metadataFingerprint: 'old',
      fieldNames: ['field_author', 'body'],
    });

  it('sends what is wished and empties what we sent before and is wished no more', async () => {
    const { portal, wish, write, writes } = await prepare({}, { fields: { body: { und: [{ value: 'new' }] } } });
    portal.nodes.set('1', ours(wish, '1', { log: 'older', body: { und: [{ value: 'old' }] }, field_by_hand: 'kept' }));
    await write(known(wish));
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
    const sent = JSON.parse(portal.requests('PUT', '/api')[0]?.body.toString() ?? '') as Record<string, unknown>;
    expect(sent).toMatchObject({ body: { und: [{ value: 'new' }] }, field_author: [] });
    expect(sent).not.toHaveProperty('field_by_hand');
  });

  it('interrupted after it had its effect: sends nothing', async () => {
    const { portal, said, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { vid: '9' }));
    await write(known(wish), { action: 'update', nid: '1', vid: '1', marker: markerOf(wish), at: 1 });
    expect(writes()).toEqual([]);
    expect(said.join('\n')).toContain('had taken effect');
  });

  it('interrupted before it had its effect: sends it once', async () => {
    const { portal, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { log: 'older' }));
    await write(known(wish), { action: 'update', nid: '1', vid: '1', marker: markerOf(wish), at: 1 });
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
  });
});

describe('the proof of a node', () => {
  it('restores a node that was edited by others, once', async () => {
    const { portal, target, wish, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { title: 'Edited', log: '' }));
    const { node } = await proveNode(target, wish, entryOf(wish.key, { nid: '1' }), target.item.signal);
    expect(node.title).toBe(wish.title);
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
  });

  it('fails where the portal itself changes what it was sent, naming the fields, without a loop of writes', async () => {
    const { portal, target, wish, writes } = await prepare({
      intercept: ({ method, path }) =>
        method === 'PUT' && path.includes('/node/') ? { body: { nid: '1', uri: '' } } : undefined,
    });
    portal.nodes.set('1', ours(wish, '1', { title: 'As the portal likes it' }));
    const entry = entryOf(wish.key, { nid: '1' });
    const failure = await proveNode(target, wish, entry, target.item.signal).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(VerifyFailedError);
    expect((failure as Error).message).toContain('title');
    expect(writes()).toHaveLength(1);
    await expect(proveNode(target, wish, entry, target.item.signal)).rejects.toBeInstanceOf(VerifyFailedError);
    expect(writes()).toHaveLength(1);
  });
});

// Writing a node with effect once, on portals that hide nodes, ignore uuids, or answer late.
import { describe, expect, it, onTestFinished } from 'vitest';
import { NodeUnclearError, VerifyFailedError } from '../../../src/model/errors.ts';
import type { LedgerEntry, Pending } from '../../../src/model/ledger-entry.ts';
import { logOf, type NodeWish } from '../../../src/pipeline/compare/node.ts';
import { itemOfEntry } from '../../../src/pipeline/handlers/item.ts';
import type { NodeTarget } from '../../../src/pipeline/handlers/node-locate.ts';
import { proveNode } from '../../../src/pipeline/handlers/node-prove.ts';
import { writeNode } from '../../../src/pipeline/handlers/node-write.ts';
import { openForTest } from '../../portal-client/support/open.ts';
import {
  type SmallPortal,
  type SmallPortalOptions,
  startSmallPortal,
} from '../../portal-client/support/small-portal.ts';
import { entryOf, itemOf, nodeWish, useLedger } from './support/job.ts';

const { ledger } = useLedger();

interface Case {
  portal: SmallPortal;
  target: NodeTarget;
  said: string[];
  wish: NodeWish;
  write(entry: LedgerEntry, pending?: Pending | null): Promise<LedgerEntry>;
  /** Writes that were sent, as `METHOD path`. */
  writes(): string[];
}

let count = 0;
const prepare = async (options: SmallPortalOptions = {}, more: Partial<NodeWish> = {}): Promise<Case> => {
  const portal = await startSmallPortal(options);
  onTestFinished(() => portal.close());
  const { item, said } = itemOf(`write/one/case-${count++}`);
  const target: NodeTarget = {
    item,
    ledger: ledger(),
    portal: openForTest(portal.url, { dialect: options.dialect ?? 'auto' }),
    onDrift: 'overwrite',
    createMissing: false,
    importsTogether: false,
  };
  const wish = nodeWish(item.key, more);
  return {
    portal,
    target,
    said,
    wish,
    write: async (entry, pending = null) => (await writeNode(target, wish, { ...entry, pending })).entry,
    writes: () =>
      portal.seen
        .filter(({ method, path }) => method !== 'GET' && !/login|token/.test(path))
        .map(({ method, path }) => `${method} ${path.split('?')[0]}`),
  };
};

const nonce = '0a1b2c3d';

const pendingCreate = (before: string): Pending => ({ what: 'create', before, nonce, at: 1 });
const pendingUpdate: Pending = { what: 'update', before: null, nonce, at: 1 };

/** A node of ours as an interrupted create has left it. */
const ours = (wish: NodeWish, nid: string, more: Record<string, unknown> = {}) => ({
  nid,
  vid: nid,
  uuid: '00000000-0000-4000-8000-000000000099',
  type: wish.type,
  title: wish.title,
  status: '1',
  log: logOf(wish, nonce),
  ...more,
});

describe('a create', () => {
  it('that the portal ends after the gateway before it has answered makes one node', async () => {
    const { wish, write, writes, portal } = await prepare({
      intercept: ({ method, path }, response) => {
        if (method !== 'POST' || path !== '/api/dataset/node') return undefined;
        setTimeout(() => response.writeHead(504).end('gateway time-out'), 1200);
        setTimeout(() => portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid })), 1700);
        return true;
      },
    });
    expect(await write(entryOf(wish.key))).toMatchObject({ nid: '1', pending: null });
    expect(writes()).toEqual(['POST /api/dataset/node']);
  });

  it('sends one request, which is pending until the answer, and not after it', async () => {
    const { target, wish, write, writes } = await prepare();
    const entry = await write(entryOf(wish.key));
    expect(entry.nid).toBe('1');
    expect(writes()).toEqual(['POST /api/dataset/node']);
    expect(await ledger().entry('city', wish.key)).toMatchObject({ nid: '1', pending: null });
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
    'interrupted on a %s portal that hides it: continues with the node above the mark',
    async (dialect) => {
      const { portal, target, said, wish, write, writes } = await prepare(
        { dialect },
        { published: dialect === 'form' },
      );
      portal.nodes.set('1', ours(wish, '1', { title: 'Somebody else', log: '' }));
      // Same title, but not our write: never adopted.
      portal.nodes.set('2', ours(wish, '2', { log: 'edited by hand' }));
      portal.nodes.set('3', ours(wish, '3', { status: dialect === 'form' ? '1' : '0' }));
      const entry = await write(entryOf(wish.key), pendingCreate('1'));
      expect(entry.nid).toBe('3');
      expect(said.join('\n')).toContain('going on with node 3');
      expect(target.item.actions).toContain('created');
      expect(writes().filter((write) => write.startsWith('POST'))).toEqual([]);
    },
  );

  it('interrupted before it had an effect: creates once', async () => {
    const { portal, said, wish, write, writes } = await prepare({ dialect: 'form' });
    portal.nodes.set('1', ours(wish, '1', { log: 'edited by hand' }));
    const entry = await write(entryOf(wish.key), pendingCreate('0'));
    expect(entry.nid).toBe('2');
    expect(said.join('\n')).toContain('an interrupted create left nothing');
    expect(writes()).toEqual(['POST /api/dataset/node']);
  });

  it('interrupted after it had an effect: is found by a list that shows it late', async () => {
    let lists = 0;
    const { portal, wish, write, writes } = await prepare({
      intercept: ({ path }) => (path.includes('uuid') && ++lists === 1 ? { body: [] } : undefined),
    });
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid }));
    expect(await write(entryOf(wish.key), { ...pendingCreate('0'), before: null })).toMatchObject({ nid: '1' });
    expect(writes()).toEqual([]);
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
    expect((await ledger().entry('city', wish.key))?.pending).toMatchObject({ what: 'create', before: '4' });
  });
});

describe('a node that the ledger names', () => {
  const known = (wish: NodeWish, more: Partial<LedgerEntry> = {}): LedgerEntry =>
    entryOf(wish.key, { nid: '1', vid: '1', live: true, metadataFingerprint: wish.fingerprint, ...more });

  it('is left alone where its row in the listing shows it, as wanted', async () => {
    const { portal, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid }));
    expect(await write(known(wish))).toEqual(known(wish));
    expect([writes(), portal.requests('GET', '/api/dataset/node/')]).toEqual([[], []]);
  });

  it('is not written to when its number was given to another one: it is created again', async () => {
    const { portal, target, wish, write, writes } = await prepare();
    const other = { uuid: '00000000-0000-4000-8000-000000000098', title: 'Of somebody else', log: '' };
    portal.nodes.set('1', ours(wish, '1', other));
    const file = { fid: '3', name: 't.csv', bytes: 1, sha256: 's' };
    const entry = await write(known(wish, { file, links: ['4'], datastore: 'imported' }));
    expect(entry).toMatchObject({ nid: '2', file: null, links: null, datastore: 'none', live: false });
    expect(writes()).toEqual(['POST /api/dataset/node']);
    expect(portal.nodes.get('1')).toMatchObject(other);
    expect(target.item.actions).toEqual(['recreated', 'created']);
  });

  it('is followed where the portal has it under another number now', async () => {
    const { portal, target, said, wish, write } = await prepare();
    portal.nodes.set('5', ours(wish, '5', { uuid: wish.uuid }));
    expect(await write(known(wish))).toMatchObject({ nid: '5' });
    expect(said).toContain('the node is 5 now, not 1');
    expect(target.item.actions).toContain('adopted');
  });

  it('is not guessed at where its uuid belongs to a node of another type', async () => {
    const { portal, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, type: 'dataset' }));
    await expect(write(known(wish))).rejects.toBeInstanceOf(NodeUnclearError);
    await expect(write(entryOf(wish.key))).rejects.toBeInstanceOf(NodeUnclearError);
    expect(writes()).toEqual([]);
  });
});

describe('a portal that makes its own uuids', () => {
  it('is believed our mark', async () => {
    const { portal, target, wish, write, writes } = await prepare({ dialect: 'form' });
    portal.nodes.set('1', ours(wish, '1'));
    expect(await write(entryOf(wish.key))).toMatchObject({ nid: '1' });
    expect(target.item.actions).toContain('adopted');
    expect(writes()).toEqual([]);
  });

  it('gets no second node with a title that may be ours, unless somebody decided so', async () => {
    const { portal, target, wish, write, writes } = await prepare({ dialect: 'form' });
    portal.nodes.set('1', ours(wish, '1', { log: 'edited by hand' }));
    await expect(write(entryOf(wish.key))).rejects.toMatchObject({
      code: 'node-unclear',
      hint: expect.stringContaining('--create-missing'),
    });
    expect(writes()).toEqual([]);
    target.createMissing = true;
    expect(await write(entryOf(wish.key))).toMatchObject({ nid: '2' });
  });

  it('gets a new resource of a new dataset, whatever has its title', async () => {
    const { portal, target, wish, write } = await prepare({ dialect: 'form' });
    portal.nodes.set('1', ours(wish, '1', { log: 'edited by hand' }));
    target.isNewDataset = true;
    expect(await write(entryOf(wish.key))).toMatchObject({ nid: '2' });
  });

  it('is not asked about the title of a node of ours under another key', async () => {
    const { portal, wish, write } = await prepare({ dialect: 'form' });
    portal.nodes.set('1', ours(wish, '1', { log: 'sluice write/one/other abc' }));
    expect(await write(entryOf(wish.key))).toMatchObject({ nid: '2' });
  });
});

describe('a busy database', () => {
  it('is asked again after a look, and gets one node', async () => {
    let tries = 0;
    const { portal, wish, write, writes } = await prepare({
      intercept: ({ method, path }) => {
        if (method !== 'POST' || !path.endsWith('/node') || ++tries > 2) return undefined;
        return { status: 500, reason: 'Internal Server Error', body: ['SQLSTATE[40001]: 1213 Deadlock found'] };
      },
    });
    expect(await write(entryOf(wish.key))).toMatchObject({ nid: '1' });
    expect(writes()).toEqual(Array.from({ length: 3 }, () => 'POST /api/dataset/node'));
    expect(portal.nodes.size).toBe(1);
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

  it('sends what is wanted and empties what we sent before and is wanted no more', async () => {
    const { portal, wish, write, writes } = await prepare({}, { fields: { body: { und: [{ value: 'new' }] } } });
    portal.nodes.set(
      '1',
      ours(wish, '1', { uuid: wish.uuid, log: 'older', body: { und: [{ value: 'old' }] }, field_by_hand: 'kept' }),
    );
    await write(known(wish));
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
    const sent = JSON.parse(portal.requests('PUT', '/api')[0]?.body.toString() ?? '') as Record<string, unknown>;
    expect(sent).toMatchObject({ body: { und: [{ value: 'new' }] }, field_author: [] });
    expect(sent).not.toHaveProperty('field_by_hand');
  });

  it('interrupted after it had its effect: sends nothing', async () => {
    const { portal, said, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, vid: '9' }));
    await write(known(wish), pendingUpdate);
    expect(writes()).toEqual([]);
    expect(said.join('\n')).toContain('had taken effect');
  });

  it.each(['attach', 'import'] as const)('leaves an interrupted %s to the step that began it', async (what) => {
    const { portal, wish, write } = await prepare();
    const pending: Pending = { what, before: '3', nonce, at: 1 };
    for (const node of [{ title: 'Before', log: 'older' }, {}]) {
      portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, ...node }));
      expect((await write({ ...known(wish), metadataFingerprint: null }, pending)).pending).toEqual(pending);
      expect((await ledger().entry('city', wish.key))?.pending).toEqual(pending);
    }
  });

  it.each(['attach', 'import'] as const)('interrupted itself: does not forget an interrupted %s', async (what) => {
    const { portal, wish, write } = await prepare({
      intercept: ({ method }) => (method === 'PUT' ? { status: 503, body: [''] } : undefined),
    });
    const entry: LedgerEntry = { ...known(wish), pending: { what, before: '3', nonce, at: 1 } };
    await ledger().put('city', entry);
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, title: 'Before', log: 'older' }));
    await expect(write(entry, entry.pending)).rejects.toMatchObject({ code: 'portal-unreachable' });
    expect((await ledger().entry('city', wish.key))?.pending).toEqual(entry.pending);
  });

  it('interrupted before it had its effect: sends it once', async () => {
    const { portal, wish, write, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, title: 'Before', log: 'older' }));
    await write(known(wish), pendingUpdate);
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
  });
});

describe('the proof of a node', () => {
  it('restores a node that was edited by others, once', async () => {
    const { portal, target, wish, writes } = await prepare();
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, title: 'Edited', log: '' }));
    const { node } = await proveNode(target, wish, {
      entry: entryOf(wish.key, { nid: '1', uuid: wish.uuid }),
      node: null,
    });
    expect(node.title).toBe(wish.title);
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
  });

  it('fails where the portal itself changes what it was sent, naming the fields, without a loop of writes', async () => {
    const { portal, target, wish, writes } = await prepare({
      intercept: ({ method, path }) =>
        method === 'PUT' && path.includes('/node/') ? { body: { nid: '1', uri: '' } } : undefined,
    });
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, title: 'As the portal likes it' }));
    const entry = entryOf(wish.key, { nid: '1' });
    const failure = await proveNode(target, wish, { entry, node: null }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(VerifyFailedError);
    expect((failure as Error).message).toContain('title');
    expect(writes()).toHaveLength(1);
    await expect(proveNode(target, wish, { entry, node: null })).rejects.toBeInstanceOf(VerifyFailedError);
    expect(writes()).toHaveLength(1);
  });

  it('remembers a field that the portal does not hold as sent, and counts it as no difference from then on', async () => {
    const { portal, target, said, wish, writes } = await prepare(
      {},
      { fields: { body: { und: [{ value: 'Green' }] } } },
    );
    const node = ours(wish, '1', { uuid: wish.uuid, body: { und: [{ value: 'Gr' }] } });
    portal.nodes.set('1', node);
    await target.item.did('updated');
    const { entry } = await proveNode(target, wish, { entry: entryOf(wish.key, { nid: '1' }), node: null });
    expect(entry.notHeld).toEqual({ body: 'Gr' });
    expect(itemOfEntry(entry, { outcome: 'done', reason: null }).warnings).toEqual([
      'the portal does not hold body as sent: it holds Gr',
    ]);
    expect(said).toHaveLength(1);

    const later = itemOf(wish.key);
    const again = await proveNode({ ...target, item: later.item }, wish, { entry, node: null });
    expect(again.entry.notHeld).toEqual({ body: 'Gr' });
    expect([later.said, writes()]).toEqual([[], []]);

    portal.nodes.set('1', { ...node, body: { und: [{ value: 'Green' }] } });
    const mended = await proveNode({ ...target, item: later.item }, wish, { entry, node: null });
    expect(mended.entry.notHeld).toEqual({});
  });

  it('restores a field that the portal does not hold as sent, once somebody has edited it', async () => {
    const { portal, target, wish, writes } = await prepare({}, { fields: { body: { und: [{ value: 'Green' }] } } });
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, vid: '2', log: '', body: { und: [{ value: 'Blue' }] } }));
    const known = { nid: '1', vid: '1', live: true, metadataFingerprint: wish.fingerprint, fieldNames: ['body'] };
    const entry = entryOf(wish.key, { ...known, notHeld: { body: 'Gr' }, baseline: {} });
    const { title, published, fields } = wish;
    await ledger().settle('city', entry, { sent: { title, published, fields } });
    const held = proveNode({ ...target, onDrift: 'hold' }, wish, { entry, node: null });
    await expect(held).rejects.toMatchObject({ code: 'drift' });
    await proveNode(target, wish, { entry, node: null });
    expect(writes()).toEqual(['PUT /api/dataset/node/1']);
  });

  it('fails where the portal does not hold the link of a resource', async () => {
    const { portal, target, wish } = await prepare(
      {},
      { fields: { field_link_api: { und: [{ url: 'https://a.example' }] } } },
    );
    portal.nodes.set('1', ours(wish, '1', { uuid: wish.uuid, field_link_api: [] }));
    await target.item.did('updated');
    const proof = proveNode(target, wish, { entry: entryOf(wish.key, { nid: '1' }), node: null });
    await expect(proof).rejects.toThrow('field_link_api is nothing');
  });
});

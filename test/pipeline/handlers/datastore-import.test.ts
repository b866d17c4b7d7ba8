// The import step against the states that portals tell of: what is ordered, and what is believed.
import { describe, expect, it, onTestFinished } from 'vitest';
import { ImportFailedError } from '../../../src/model/errors.ts';
import type { ItemAction } from '../../../src/model/report.ts';
import { importFile } from '../../../src/pipeline/handlers/datastore-import.ts';
import type { ResourceState } from '../../../src/pipeline/handlers/resource-state.ts';
import type { PortalTraits } from '../../../src/portal-client/client.ts';
import { openForTest } from '../../portal-client/support/open.ts';
import { type SmallPortal, startSmallPortal } from '../../portal-client/support/small-portal.ts';
import { attachedState, itemOf, useLedger } from './support/job.ts';

const { ledger } = useLedger();

/** `storage` and `data_import`; a list is told one after the other, the last one forever. */
type Told = [number, number];

interface Case {
  portal: SmallPortal;
  state: ResourceState;
  /** Changing requests for the datastore, as `METHOD path`. */
  orders: () => string[];
}

interface Given {
  /** Rows that the search reports the table; null where the portal offers none. */
  total?: number | null;
  actions?: ItemAction[];
  traits?: PortalTraits;
  /** Told until an import is ordered. */
  stale?: Told;
}

let count = 0;
const prepare = async (
  told: Told[],
  more: Partial<ResourceState> = {},
  { total = 2, actions = [], traits = {}, stale }: Given = {},
): Promise<Case> => {
  let turn = 0;
  let isOrdered = false;
  const portal = await startSmallPortal({
    intercept: ({ method, path }) => {
      if (path.startsWith('/api/action/datastore/search')) {
        if (total === null) return { body: { success: false } };
        return { body: { help: '', success: true, result: { total, fields: [{ id: 'a' }], records: [] } } };
      }
      if (!path.startsWith('/api/dataset/datastore/7')) return undefined;
      if (method === 'POST') isOrdered = true;
      if (method !== 'GET') return { body: [true] };
      const [storage, data_import] =
        (isOrdered ? undefined : stale) ?? told[Math.min(turn++, told.length - 1)] ?? ([0, 3] satisfies Told);
      return { body: { storage, data_import } };
    },
  });
  onTestFinished(() => portal.close());
  portal.nodes.set('7', { nid: '7', type: 'resource' });
  const { item } = itemOf(`import/one/case-${count++}`, { actions });
  const state = attachedState({ ledger: ledger(), portal: openForTest(portal.url, {}, { traits }), item }, more);
  return {
    portal,
    state,
    orders: () =>
      portal.seen
        .filter(({ method, path }) => method !== 'GET' && path.includes('/datastore/'))
        .map(({ method, path }) => `${method} ${path.replace('/api/dataset/datastore/7', '')}`),
  };
};

const importOrder = 'POST /import';

describe('the import step', () => {
  it('orders nothing where the portal has imported on attach', async () => {
    const { state, orders } = await prepare([[1, 2]]);
    await importFile(state);
    expect(orders()).toEqual([]);
    expect(state.entry).toMatchObject({ datastore: 'imported', rows: 2 });
    expect(state.target.item.actions).toEqual(['imported']);
  });

  it('orders the import of a file that is ready, and waits until it is done', async () => {
    const { state, orders } = await prepare([
      [0, 3],
      [1, 4],
      [1, 4],
      [1, 6],
    ]);
    await importFile(state);
    expect(orders()).toEqual([importOrder]);
    expect(state.entry.datastore).toBe('imported');
  });

  it('waits for an import in progress without ordering another', async () => {
    const { state, orders } = await prepare([
      [1, 4],
      [1, 6],
    ]);
    await importFile(state);
    expect(orders()).toEqual([]);
    expect(state.entry.datastore).toBe('imported');
  });

  const doneTwice: Told[] = [
    [1, 6],
    [1, 6],
  ];

  it.each([
    ['others than those of the file', { total: 5 }],
    ['as many as the file has, which was attached just now', { total: 2, actions: ['attached' as const] }],
  ])('removes the rows of the former file where the portal would keep them: %s', async (_what, given) => {
    const { state, orders } = await prepare(doneTwice, {}, given);
    await importFile(state);
    expect(orders()).toEqual(['DELETE ', importOrder]);
  });

  it('leaves rows in their place of which only the state was lost', async () => {
    const { state, orders } = await prepare([
      [0, 3],
      [1, 6],
    ]);
    await importFile(state);
    expect(orders()).toEqual([importOrder]);
  });

  it('imports a whole table again in its place whose state says forever that it is running', async () => {
    const intent = { action: 'import', nid: '7', at: 1 } as const;
    const actions: ItemAction[] = ['created', 'attached'];
    const { state, orders } = await prepare([[1, 6]], { intent, provesNow: true }, { actions, stale: [1, 4] });
    await importFile(state);
    expect(orders()).toEqual([importOrder]);
    expect(state.entry.datastore).toBe('imported');
  });

  it.each([
    [
      'failed half way',
      [
        [1, 7],
        [1, 6],
      ] as Told[],
    ],
    [
      'is done after all',
      [
        [1, 6],
        [1, 6],
      ] as Told[],
    ],
    [
      'ends only now',
      [
        [1, 4],
        [1, 6],
        [1, 6],
        [1, 6],
      ] as Told[],
    ],
  ])(
    'believes nothing of what the portal says of the file before that %s, when a good one comes back',
    async (_what, told) => {
      const { state, orders } = await prepare(told, { fallsBack: true }, { total: 5 });
      await importFile(state);
      expect(orders()).toEqual(['DELETE ', importOrder]);
      expect(state.entry.datastore).toBe('imported');
    },
  );

  it('takes a good file that comes back for imported where the portal has done so on attach', async () => {
    const { state, orders } = await prepare([[1, 2]], { fallsBack: true });
    await importFile(state);
    expect(orders()).toEqual([]);
    expect(state.entry.datastore).toBe('imported');
  });

  it('reports the portal the comma again after a file with another delimiter', async () => {
    const refused = {
      sha256: 'b',
      importFingerprint: 'o',
      delimiter: ';',
      isReplaced: false,
      reason: { code: 'c', message: 'm', hint: null },
    };
    const { state, orders } = await prepare(
      [
        [1, 7],
        [1, 6],
      ],
      { fallsBack: true },
      { total: 5 },
    );
    state.entry = { ...state.entry, refused };
    await importFile(state);
    expect(orders()).toEqual(['DELETE ', 'PUT ', importOrder]);
  });

  it('continues from an import that was ordered before a kill', async () => {
    const { state, orders } = await prepare([[1, 6]], { intent: { action: 'import', nid: '7', at: 1 } });
    await importFile(state);
    expect(orders()).toEqual([]);
    expect(state.entry.datastore).toBe('imported');
  });

  it('does not take an open import of another node for its own', async () => {
    const intent = { action: 'import', nid: '6', at: 1 } as const;
    const { state, orders } = await prepare(doneTwice, { intent }, { total: 5 });
    await importFile(state);
    expect(orders()).toEqual(['DELETE ', importOrder]);
  });

  it('makes rows again that were counted and found wrong', async () => {
    const { state, orders } = await prepare(
      [
        [1, 2],
        [1, 2],
      ],
      {},
      { total: 1 },
    );
    state.entry = { ...state.entry, datastore: 'failed' };
    await importFile(state);
    expect(orders()).toEqual(['DELETE ', importOrder]);
  });

  it('believes no success: a portal that says yes and then tells an error has failed', async () => {
    const { state, orders } = await prepare([
      [0, 3],
      [0, 7],
    ]);
    await expect(importFile(state)).rejects.toBeInstanceOf(ImportFailedError);
    expect(orders()).toEqual([importOrder]);
    expect(await ledger().intent('city', state.target.item.key)).toMatchObject({ action: 'import', nid: '7' });
  });

  it.each([
    [
      'keeps the rows of an import that failed before, until new ones are in, where attaching imports',
      true,
      [importOrder],
    ],
    ['removes them first where attaching imports nothing', false, ['DELETE ', importOrder]],
  ])('%s', async (_what, importsOnAttach, expected) => {
    const { state, orders } = await prepare(
      [
        [1, 7],
        [1, 6],
      ],
      {},
      { total: 5, traits: { importsOnAttach } },
    );
    await importFile(state);
    expect(orders()).toEqual(expected);
  });

  it.each([
    ['orders', false, [importOrder]],
    ['leaves to the portal', true, []],
  ])(
    '%s the import of a new file without a look at its state, and leaves the proof for later',
    async (_what, importsOnAttach, expected) => {
      const { portal, state, orders } = await prepare(
        [[0, 3]],
        { provesNow: false },
        { actions: ['created', 'attached'], traits: { importsOnAttach } },
      );
      await importFile(state);
      expect(orders()).toEqual(expected);
      expect(state.entry.datastore).toBe('pending');
      expect(portal.requests('GET', '/api/dataset/datastore/7')).toEqual([]);
    },
  );

  it('asks nothing of a portal without a datastore', async () => {
    const portal = await startSmallPortal({ datastore: false });
    onTestFinished(() => portal.close());
    portal.nodes.set('7', { nid: '7', type: 'resource' });
    const { item } = itemOf('import/one/none');
    const state = attachedState({ ledger: ledger(), portal: openForTest(portal.url), item });
    await importFile(state);
    expect(state.entry).toMatchObject({ datastore: 'none' });
    expect(item.actions).toEqual([]);
  });
});

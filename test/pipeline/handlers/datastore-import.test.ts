// The import step against the states that portals tell of: what is ordered, and what is believed.
import { describe, expect, it, onTestFinished } from 'vitest';
import { ImportFailedError } from '../../../src/model/errors.ts';
import type { Pending } from '../../../src/model/ledger-entry.ts';
import type { ItemAction } from '../../../src/model/report.ts';
import { importFile as importStep } from '../../../src/pipeline/handlers/datastore-import.ts';
import type { ResourceState } from '../../../src/pipeline/handlers/resource-file.ts';
import type { PortalTraits } from '../../../src/portal-client/settings.ts';
import { openForTest } from '../../portal-client/support/open.ts';
import { type Answer, refusal } from '../../portal-client/support/scripted-server.ts';
import { type SmallPortal, startSmallPortal } from '../../portal-client/support/small-portal.ts';
import { attachedState, type ChangingState, itemOf, useLedger } from './support/job.ts';

const { ledger } = useLedger();

const importFile = async (state: ChangingState): Promise<void> => {
  Object.assign(state, await importStep(state));
};

/** `storage` and `data_import`; a list is told one after the other, the last one forever. */
type Told = [number, number];

interface Case {
  portal: SmallPortal;
  state: ChangingState;
  /** Changing requests for the datastore, as `METHOD path`. */
  orders: () => string[];
}

interface Given {
  /** Rows that the search reports the table; null where the portal offers none. */
  total?: number | null;
  actions?: ItemAction[];
  /** A write that an earlier attempt has begun. */
  pending?: Pending;
  /** The rows are of the attached file; so are those of a new node when absent. */
  own?: boolean;
  traits?: PortalTraits;
  /** Told until an import is ordered. */
  stale?: Told;
  /** What the portal answers to each import in turn, and the rows that are in then; the last one forever. */
  imports?: { answer?: Answer; total: number }[];
}

let count = 0;
const prepare = async (
  told: Told[],
  more: Partial<ResourceState> = {},
  { total = 2, actions = [], own = actions.includes('created'), traits = {}, stale, imports, pending }: Given = {},
): Promise<Case> => {
  let turn = 0;
  let isOrdered = false;
  let held = total;
  let sent = 0;
  const portal = await startSmallPortal({
    intercept: ({ method, path }) => {
      if (path.startsWith('/api/action/datastore/search')) {
        if (held === null) return { body: { success: false } };
        return { body: { help: '', success: true, result: { total: held, fields: [{ id: 'a' }], records: [] } } };
      }
      if (!path.startsWith('/api/dataset/datastore/7')) return undefined;
      if (method === 'DELETE' && imports) held = 0;
      if (method === 'POST') {
        isOrdered = true;
        const turnOf = imports?.[Math.min(sent++, imports.length - 1)];
        held = turnOf?.total ?? held;
        return turnOf?.answer ?? { body: [true] };
      }
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
  state.entry = { ...state.entry, rowsAreOwn: own, pending: pending ?? null };
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
    const told: Told[] = [
      [0, 3],
      [1, 4],
      [1, 4],
      [1, 6],
    ];
    const { state, orders } = await prepare(told, {}, { own: true, total: 1 });
    await importFile(state);
    expect(orders()).toEqual([importOrder]);
    expect(state.entry.datastore).toBe('imported');
  });

  it('waits for an import in progress without ordering another', async () => {
    const running: Told[] = [
      [1, 4],
      [1, 6],
    ];
    const { state, orders } = await prepare(running, {}, { own: true });
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
    const lost: Told[] = [
      [0, 3],
      [1, 6],
    ];
    const { state, orders } = await prepare(lost, {}, { own: true });
    await importFile(state);
    expect(orders()).toEqual([importOrder]);
  });

  it('imports a whole table again in its place whose state says forever that it is running', async () => {
    const pending = { what: 'import', before: null, nonce: '', at: 1 } as const;
    const actions: ItemAction[] = ['created', 'attached'];
    const { state, orders } = await prepare([[1, 6]], { provesNow: true }, { pending, actions, stale: [1, 4] });
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

  it('searches for no table of a new node without storage before it says how its file is separated', async () => {
    const given = { actions: ['created' as const, 'attached' as const], total: null };
    const { state, orders, portal } = await prepare([[0, 2]], { provesNow: false }, given);
    if (state.table) state.table = { ...state.table, delimiter: ';' };
    await importFile(state);
    expect(orders()).toEqual(['PUT ', importOrder]);
    expect(portal.seen.filter(({ path }) => path.includes('/search'))).toEqual([]);
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
    const pending = { what: 'import', before: null, nonce: '', at: 1 } as const;
    const { state, orders } = await prepare([[1, 6]], {}, { pending, own: true });
    await importFile(state);
    expect(orders()).toEqual([]);
    expect(state.entry.datastore).toBe('imported');
  });

  it('takes as many rows as the file has for those of another file where an attempt ended before it removed these', async () => {
    const pending = { what: 'import', before: null, nonce: '', at: 1 } as const;
    const { state, orders } = await prepare([[1, 6]], {}, { pending, own: false });
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
    const failing: Told[] = [
      [0, 3],
      [0, 7],
    ];
    const { state, orders } = await prepare(failing, {}, { own: true, total: 1 });
    await expect(importFile(state)).rejects.toBeInstanceOf(ImportFailedError);
    expect(orders()).toEqual([importOrder]);
    expect((await ledger().entry('city', state.target.item.key))?.pending).toMatchObject({ what: 'import' });
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

  it('looks once at what attaching does where several tables want to know', async () => {
    const given: Given = { actions: ['created', 'attached'] };
    const { portal, state, orders } = await prepare([[1, 2]], { provesNow: false }, given);
    const target = { ...state.target, importsTogether: true };
    const { item } = itemOf('import/one/other', { actions: ['created', 'attached'] });
    const other = attachedState({ ledger: ledger(), portal: target.portal, item }, { provesNow: false });
    Object.assign(other.target, { importsTogether: true });
    await Promise.all([importFile({ ...state, target }), importFile(other)]);
    expect(portal.requests('GET', '/api/dataset/datastore/7')).toHaveLength(1);
    expect(orders()).toEqual([]);
  });

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

  const cut: Answer = { status: 500, reason: 'Internal Server Error', body: '' };
  const dead: Told[] = [[1, 4]];
  const sound = {
    columns: ['a'],
    contents: [],
    importer: { refuses: [], changes: [] },
    delimiter: ',',
    bom: false,
    bytes: 9,
    sha256: '',
  } as const;
  const table = (rows: number, refuses: string[] = []) => ({
    table: { ...sound, columns: ['a'], contents: [], rows, importer: { refuses, changes: [] } },
  });

  it('goes on behind the rows that are in when the portal cuts an import off, until the table is whole', async () => {
    const imports = [
      { answer: cut, total: 300 },
      { answer: cut, total: 550 },
      { answer: cut, total: 700 },
    ];
    const { state, orders } = await prepare(
      dead,
      { ...table(700), provesNow: false },
      { own: true, total: 0, stale: [0, 2], imports },
    );
    await importFile(state);
    expect(orders()).toEqual([importOrder, importOrder, importOrder]);
    expect(state.entry.datastore).toBe('pending');
  });

  it('gives an import up that no longer adds rows, and says to split the file', async () => {
    const imports = [
      { answer: cut, total: 300 },
      { answer: cut, total: 400 },
    ];
    const { state, orders } = await prepare(dead, table(700), { own: true, total: 0, stale: [0, 2], imports });
    await expect(importFile(state)).rejects.toMatchObject({
      code: 'import-failed',
      message: expect.stringContaining('400 of 700 rows were imported'),
      hint: expect.stringContaining('split the file into parts of less than 400 rows'),
    });
    expect(orders()).toHaveLength(4);
  });

  it('counts a table as failed, not the portal as down, where an import is answered with an error and no rows', async () => {
    const { state, orders } = await prepare(dead, table(700), {
      own: true,
      total: 0,
      stale: [0, 2],
      imports: [{ answer: cut, total: 0 }],
    });
    await expect(importFile(state)).rejects.toBeInstanceOf(ImportFailedError);
    expect(orders()).toHaveLength(2);
  });

  it.each([
    'An error occurred (0): Error parsing CSV: { "Message": "Invalid Input OTHER", "Chunk": "x" }',
    'An error occurred (42000): SQLSTATE[42000]: Syntax error or access violation: 1118 Row size too large (> 8126).',
  ])('takes what the importer says of a file for its verdict: %s', async (words) => {
    const answer = { status: 500, reason: `Internal Server Error : ${words}`, body: '' };
    const risks = ['line 2, column 2: a backslash precedes a quote'];
    const { state, orders } = await prepare(dead, table(700, risks), {
      own: true,
      total: 0,
      stale: [0, 2],
      imports: [{ answer, total: 0 }],
    });
    await expect(importFile(state)).rejects.toMatchObject({
      code: 'import-failed',
      message: expect.stringContaining(words.slice(0, 60)),
      hint: expect.stringContaining(risks[0] ?? ''),
    });
    expect(orders()).toEqual([importOrder]);
  });

  it('is a fault of the account where the portal does not let it use the datastore of its own resource', async () => {
    const portal = await startSmallPortal({
      intercept: ({ path }) =>
        path.startsWith('/api/dataset/datastore/') ? refusal(403, 'Access denied for user creator') : undefined,
    });
    onTestFinished(() => portal.close());
    portal.nodes.set('7', { nid: '7', type: 'resource' });
    const { item } = itemOf('import/one/denied');
    const state = attachedState({ ledger: ledger(), portal: openForTest(portal.url), item });
    await expect(importFile(state)).rejects.toMatchObject({
      code: 'portal-refused',
      hint: expect.stringContaining('*manage datastore*'),
    });
    expect(state.entry.datastore).toBe('pending');
  });
});

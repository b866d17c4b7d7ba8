// What each step does to a table, and what it says of itself.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seenKeysAt } from '../../../src/tables/transform/step/rows.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { made } from './support/made.ts';

const people = 'id,name,amount,day\n1,Ann,10,2026-01-01\n2,Bob,,2026-01-02\n3,Cid,7.50,2026-01-03\n';

/** The text and what was said of a table that is made of `people`. */
const stepped = async (table: unknown[], text = people): Promise<{ text: string; note: string }> => {
  const result = await made('t.csv', text, { table });
  if (result.kind !== 'table') throw new Error(result.why);
  return { text: result.text, note: result.notes.at(-1) ?? '' };
};

describe('steps about columns', () => {
  it('select keeps columns in the order that is named', async () => {
    const { text, note } = await stepped([{ select: ['amount', 'id'] }]);
    expect(text).toBe('amount,id\n10,1\n,2\n7.50,3\n');
    expect(note).toBe('select: 2 columns of 4');
  });

  it('drop leaves columns out', async () => {
    expect((await stepped([{ drop: ['name', 'day'] }])).text).toBe('id,amount\n1,10\n2,\n3,7.50\n');
  });

  it('rename gives new names, also in exchange', async () => {
    expect((await stepped([{ rename: { id: 'name', name: 'id' } }, { select: ['id'] }])).text).toBe(
      'id\nAnn\nBob\nCid\n',
    );
  });

  it.each([
    [{ select: ['gone'] }],
    [{ drop: ['gone'] }],
    [{ rename: { gone: 'x' } }],
    [{ filter: 'gone > 1' }],
    [{ cast: { gone: 'text' } }],
    [{ dedupe: ['gone'] }],
    [{ fill: { in: ['gone'], with: 0 } }],
    [{ replace: { in: ['gone'], cell: 0, with: 1 } }],
    [{ sort: ['gone'] }],
    [{ computed: { x: 'gone' } }],
  ])('%o names the columns there are', async (step) => {
    await expect(made('t.csv', people, { table: [step] })).rejects.toMatchObject({
      code: 'table-step',
      message: expect.stringContaining('there is no column "gone"; there are "id", "name", "amount", "day"'),
    });
  });

  it('a name that stands twice cannot be meant', async () => {
    await expect(made('t.csv', 'a,a\n1,2\n', { table: [{ select: ['a'] }] })).rejects.toMatchObject({
      code: 'table-step',
      message: expect.stringContaining('several columns'),
    });
  });
});

describe('steps about rows', () => {
  it('filter keeps the rows for which an expression holds', async () => {
    const { text, note } = await stepped([{ filter: 'amount >= 7.5 and name in ("Ann", "Cid")' }]);
    expect(text).toBe('id,name,amount,day\n1,Ann,10,2026-01-01\n3,Cid,7.50,2026-01-03\n');
    expect(note).toBe('filter amount >= 7.5 and name in ("Ann", "Cid"): 1 row dropped');
  });

  it('dedupe keeps the first of equal keys', async () => {
    const { text, note } = await stepped([{ dedupe: ['a', 'b'] }], 'a,b,c\n1,2,x\n1,2,y\n12,,z\n1,2,w\n,12,v\n');
    expect(text).toBe('a,b,c\n1,2,x\n12,,z\n,12,v\n');
    expect(note).toBe('dedupe by a, b: 2 rows dropped');
  });

  it('sort is stable, and sorts numbers as such with other cells behind them', async () => {
    const text = 'g,n\nb,10\na,9\na,10\nb,x\na,\n';
    expect((await stepped([{ sort: ['g'] }], text)).text).toBe('g,n\na,9\na,10\na,\nb,10\nb,x\n');
    expect((await stepped([{ sort: [{ column: 'n', as: 'number', order: 'down' }] }], text)).text).toBe(
      'g,n\nb,10\na,10\na,9\nb,x\na,\n',
    );
  });
});

describe('the same step twice', () => {
  it('sorts twice and drops doubles twice', async () => {
    const table = [{ sort: ['b'] }, { dedupe: ['b'] }, { sort: ['a'] }, { dedupe: ['a'] }];
    expect((await stepped(table, 'a,b\n2,x\n1,y\n1,x\n2,z\n')).text).toBe('a,b\n1,y\n2,x\n');
  });
});

describe('keys that were seen', () => {
  it('are the same, however long, and new once', () => {
    const path = join(tempDir(), 'seen');
    const seen = seenKeysAt(path);
    const long = 'x'.repeat(100);
    const keys = ['a', 'b', 'a', 'c', 'd', 'e', 'b', long, `${long}y`, long, 'e'];
    expect(keys.map((key) => seen.add([key, '1']))).toEqual([
      true,
      true,
      false,
      true,
      true,
      true,
      false,
      true,
      true,
      false,
      false,
    ]);
    seen.close();
    seen.close();
  });
});

describe('steps about cells', () => {
  it('cast writes numbers, dates and truth values in one notation, and leaves empty cells', async () => {
    const text = 'n,i,d,b\n"1.234,50",007,31.1.26,ja\n-5,+3,01.12.1999,nein\n , ,, \n';
    const cast = {
      n: { to: 'number', decimal: ',', group: '.' },
      i: 'integer',
      d: { to: 'date', from: ['DD.MM.YYYY', 'D.M.YY'] },
      b: { to: 'boolean', true: ['ja'], false: ['nein'] },
    };
    expect((await stepped([{ cast }], text)).text).toBe(
      'n,i,d,b\n1234.50,7,2026-01-31,true\n-5,3,1999-12-01,false\n,,,\n',
    );
  });

  it('replace changes whole cells, text in them, or what matches', async () => {
    const text = 'a,b\nn/a,1 EUR\nx n/a,2 EUR\n';
    expect((await stepped([{ replace: { in: ['a'], cell: ['n/a', '-'], with: '' } }], text)).text).toBe(
      'a,b\n,1 EUR\nx n/a,2 EUR\n',
    );
    expect((await stepped([{ replace: { text: ' EUR', with: '' } }], text)).text).toBe('a,b\nn/a,1\nx n/a,2\n');
    const swapped = await stepped([{ replace: { pattern: '(\\d) (\\w+)', with: '$2 $1' } }], text);
    expect(swapped.text).toBe('a,b\nn/a,EUR 1\nx n/a,EUR 2\n');
    expect(swapped.note).toBe('replace: 2 cells changed');
  });

  it('fill fills empty cells with a value or with the cell above', async () => {
    expect((await stepped([{ fill: { in: ['amount'], with: 0 } }])).text).toContain('2,Bob,0,');
    const { text, note } = await stepped([{ fill: { in: ['a'], from: 'above' } }], 'a,b\n,0\nx,1\n,2\n ,3\ny,4\n');
    expect(text).toBe('a,b\n,0\nx,1\nx,2\nx,3\ny,4\n');
    expect(note).toBe('fill: 2 cells filled');
  });

  it.each([
    ['computed doubles', [{ computed: { b: 'a & a' } }, { computed: { b: 'b & b' } }], 300_000, 2],
    ['replace makes longer', [{ replace: { text: 'x', with: 'y'.repeat(5) } }], 300_000, 1],
  ])('a cell that %s is a fault with line and column', async (_, table, length, column) => {
    await expect(made('t.csv', `a\n1\n${'x'.repeat(length)}\n`, { table })).rejects.toMatchObject({
      code: 'table-oversize',
      line: 3,
      column,
    });
  });

  it.each([
    ['computed', { computed: { b: `a${' & a'.repeat(1999)}` } }],
    ['filter', { filter: `a${' & a'.repeat(1999)} != ""` }],
    ['replace', { replace: { text: 'x', with: 'y'.repeat(2000) } }],
  ])('a text that %s makes longer than any can be is a fault with the line', async (_, step) => {
    const making = made('t.csv', `a\n1\n${'x'.repeat(300_000)}\n`, { table: [step] });
    await expect(making).rejects.toMatchObject({ code: 'table-oversize', line: 3 });
  });

  it('constant and computed add columns, or overwrite them', async () => {
    const table = [
      { constant: { year: 2026, name: 'all' } },
      { computed: { twice: 'amount * 2', label: 'name & " " & year', more: 'twice + 1' } },
      { select: ['name', 'year', 'twice', 'label', 'more'] },
    ];
    expect((await stepped(table)).text).toBe(
      'name,year,twice,label,more\nall,2026,20,all 2026,21\nall,2026,,all 2026,\nall,2026,15,all 2026,16\n',
    );
  });

  it('are counted in the job log', async () => {
    const result = await made('t.csv', people, {
      table: [{ cast: { amount: 'integer' } }, { filter: 'id < 3' }],
      badRows: 'skip',
      maxBadRows: 1,
    });
    expect(result).toMatchObject({
      rowsIn: 3,
      rowsOut: 2,
      notes: [expect.anything(), 'cast: 0 cells changed, 1 bad row', 'filter id < 3: 0 rows dropped'],
    });
  });
});

describe('a module of one’s own', () => {
  const module = (text: string, name = 'step.ts'): string => {
    const path = join(tempDir(), name);
    writeFileSync(path, text);
    return path;
  };

  it('changes rows as an async generator, in its place among the steps', async () => {
    const path = module(`
      export async function* transform(rows: AsyncIterable<Record<string, string>>, { columns }: { columns: string[] }) {
        let sum = 0;
        for await (const row of rows) {
          sum += Number(row.amount);
          yield { who: row.name, sum, of: columns.length, none: null };
        }
      }
    `);
    const { text, note } = await stepped([{ select: ['name', 'amount'] }, { transform: path }, { drop: ['none'] }]);
    expect(text).toBe('who,sum,of\nAnn,10,2\nBob,10,2\nCid,17.5,2\n');
    expect(note).toBe('drop: 1 column of 4');
  });

  it('is loaded again when it changed, although the thread lives on', async () => {
    const path = module(
      'export default async function* (rows) { for await (const row of rows) yield { v: 1 }; }',
      'a.mjs',
    );
    expect((await stepped([{ transform: path }])).text).toBe('v\n1\n1\n1\n');
    writeFileSync(path, 'export default async function* (rows) { yield { v: 2 }; }');
    expect((await stepped([{ transform: path }])).text).toBe('v\n2\n');
  });

  it('that leaves out a key of a later row leaves the cell empty, also one that every object has', async () => {
    const path = module('export async function* transform() { yield { a: 1, constructor: 2 }; yield { a: 3 }; }');
    expect((await stepped([{ transform: path }])).text).toBe('a,constructor\n1,2\n3,\n');
  });

  it.each([
    ['throws', 'export async function* transform() { throw new Error("no luck"); }', 'failed: no luck'],
    ['exports nothing', 'export const x = 1;', 'does not export a function'],
    ['cannot be read as a program', 'export const = ;', 'failed'],
    ['gives what is no row', 'export async function* transform() { yield 1; }', 'row 1 is not an object'],
    ['gives nothing to iterate', 'export const transform = () => 5;', 'does not return an async iterable'],
    [
      'throws before its first row',
      'export const transform = () => { throw new Error("no luck"); }',
      'failed: no luck',
    ],
    [
      'throws with a code like ours',
      'export async function* transform() { throw Object.assign(new Error("no luck"), { code: "table-x" }); }',
      'failed: no luck',
    ],
    ['ends its thread', 'export async function* transform() { process.exit(0); }', 'ended its thread'],
    [
      'throws beside its rows',
      'export async function* transform() { setImmediate(() => { throw new Error("late"); }); await new Promise(() => {}); }',
      'ended its thread: late',
    ],
    ['gives nested cells', 'export async function* transform() { yield { a: [] }; }', 'the cell "a" is a list'],
    [
      'changes its columns',
      'export async function* transform() { yield { a: 1 }; yield { b: 1 }; }',
      'row 2 has a key "b"',
    ],
  ])('that %s is a fault of the step', async (_, text, message) => {
    await expect(made('t.csv', people, { table: [{ transform: module(text) }] })).rejects.toMatchObject({
      code: 'table-step',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    [
      'throws',
      'const fail = () => {\n  throw new Error("no luck");\n};\nexport async function* transform() { fail(); }',
      2,
    ],
    [
      'throws at a row',
      'export async function* transform(rows) {\n\n  for await (const row of rows)\n    row.x.y;\n}',
      4,
    ],
    ['cannot be read as a program', '\n\nexport const = ;\n', 3],
    ['throws while it is loaded', '\nnull.x;\n', 2],
    [
      'throws beside its rows',
      'export async function* transform() {\n  setImmediate(() => { throw new Error("late"); });\n  await new Promise(() => {});\n}',
      2,
    ],
  ])('that %s names its line', async (_, text, line) => {
    for (const name of ['step.mjs', 'step.ts'])
      await expect(made('t.csv', people, { table: [{ transform: module(text, name) }] })).rejects.toMatchObject({
        code: 'table-step',
        message: expect.stringContaining(`transform ${name}:${line} `),
      });
  });

  it.each([
    ['the table is too large', 'yield { a: 1 }', [], 'the table holds more than'],
    ['a later step does not fit', 'yield { a: 1 }', [{ drop: ['b'] }], 'step drop: there is no column "b"'],
    ['its first row is none', 'yield 1', [], 'row 1 is not an object'],
    ['a later row is none', 'yield { a: 1 }; yield 1', [], 'row 2 is not an object'],
  ])('ends what it began where %s, and its own faults then do not count', async (_, rows, later, message) => {
    const ended = join(tempDir(), 'ended');
    const path = module(`
      import { writeFileSync } from 'node:fs';
      export async function* transform() {
        try {
          for (;;) { ${rows}; }
        } finally {
          writeFileSync(${JSON.stringify(ended)}, '');
          throw new Error('of the end');
        }
      }
    `);
    await expect(
      made('t.csv', people, { table: [{ transform: path }, ...later] }, { tableBytes: 1000 }),
    ).rejects.toMatchObject({ message: expect.stringContaining(message) });
    expect(existsSync(ended)).toBe(true);
  });

  it('that is not there is a fault of the step', async () => {
    await expect(made('t.csv', people, { table: [{ transform: '/nowhere/step.ts' }] })).rejects.toMatchObject({
      code: 'table-step',
      message: expect.stringContaining('/nowhere/step.ts cannot be read'),
    });
  });
});

describe('split', () => {
  const text = 'region,n\nNorth,1\nSouth,2\nNorth,3\n';

  it('keeps the rows of its own value, and tells how many belong to other resources', async () => {
    const split = { by: 'region', values: ['North', 'South'], only: 'North' };
    expect(await stepped([{ split }], text)).toEqual({
      text: 'region,n\nNorth,1\nNorth,3\n',
      note: 'split by region: 1 row of other resources left out',
    });
  });

  it('takes rows for bad ones whose value no resource has', async () => {
    await expect(
      made('t.csv', text, { table: [{ split: { by: 'region', values: ['North'], only: 'North' } }] }),
    ).rejects.toMatchObject({ code: 'table-rows', message: expect.stringContaining('is not one of the values') });
  });

  it('says where it belongs', async () => {
    await expect(
      made('t.csv', text, { table: [{ split: { by: 'region', values: ['North'] } }] }),
    ).rejects.toMatchObject({
      code: 'table-step',
    });
  });
});

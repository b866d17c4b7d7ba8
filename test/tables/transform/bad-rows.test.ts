// Rows that do not fit: ragged ones, cells that cannot be cast, violations of a schema; and what the policies make of them.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { made, prepared, textOf } from './support/made.ts';

const table = [{ cast: { n: 'integer' } }];

describe('bad rows', () => {
  it('fail the whole table unless they may be left out; each is reported with line and column', async () => {
    await expect(made('t.csv', 'n,m\n1,2\nx,2\n3\n', { table })).rejects.toMatchObject({
      code: 'table-rows',
      line: 3,
      message:
        '2 bad rows of 3: nothing is published\nline 3, column 1 ("n"): is not a valid whole number\nline 4: the row has 1 cell, the header has 2',
    });
  });

  it('are reported in part where they are many', async () => {
    const rows = 'x\n'.repeat(1000);
    await expect(made('t.csv', `n\n${rows}`, { table })).rejects.toMatchObject({
      message: expect.stringMatching(/^100 or more bad rows: nothing is published\n(line .*\n){10}and 90 more$/),
    });
    await expect(made('t.csv', `n\n${rows}`, { table, badRows: 'skip' })).rejects.toMatchObject({
      message: expect.stringMatching(/^1,000 bad rows of 1,000, more than the 0.5% allowed \(maxBadRows\)/),
    });
  });

  it('are left out up to a share or a number of them', async () => {
    const text = `n\n${'1\n'.repeat(199)}x\n`;
    expect(await made('t.csv', text, { table, badRows: 'skip' })).toMatchObject({
      rowsIn: 200,
      rowsOut: 199,
      rejects: null,
    });
    const short = `n\n${'1\n'.repeat(198)}x\n`;
    await expect(made('t.csv', short, { table, badRows: 'skip' })).rejects.toMatchObject({ code: 'table-rows' });
    expect(await made('t.csv', short, { table, badRows: 'skip', maxBadRows: 1 })).toMatchObject({ rowsOut: 198 });
    await expect(made('t.csv', short, { table, badRows: 'skip', maxBadRows: 0 })).rejects.toThrow();
  });

  it('go to a file as they were read, with line and reason', async () => {
    const text = 'skipped\nn;d\n" 1";ok\n"x;y";"a\nb"\n7\n';
    const result = await made('t.csv', text, {
      table: [{ skipRows: 1 }, { rename: { n: 'N' } }, { cast: { N: 'integer' } }],
      badRows: 'quarantine',
      maxBadRows: '100%',
    });
    expect(result).toMatchObject({
      text: 'N,d\n1,ok\n',
      rejects:
        'line,reason,n,d\n4,N: is not a valid whole number,x;y,"a\nb"\n6,"the row has 1 cell, the header has 2",7\n',
    });
  });

  it('lie with the table in folders for their owner alone', async () => {
    const table = [{ cast: { n: 'integer' } }];
    const result = await prepared('t.csv', 'n\n1\nx\n', { table, badRows: 'quarantine', maxBadRows: '100%' });
    const [path, rejects] = result.kind === 'table' ? [result.path, result.rejects ?? ''] : ['', ''];
    for (const folder of [dirname(path), dirname(rejects)]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('may have quotes that do not fit', async () => {
    const text = 'n,m\n1,a\n2,"b" c\n3,d\n';
    await expect(made('t.csv', text, { table })).rejects.toMatchObject({ code: 'table-quote', line: 3 });
    const result = await made('t.csv', text, { badRows: 'quarantine', maxBadRows: 1 });
    expect(result).toMatchObject({ text: 'n,m\n1,a\n3,d\n' });
  });
});

describe('a schema', () => {
  const schema = (fields: unknown[], more: Record<string, unknown> = {}) => ({ schema: { fields, ...more } as never });

  it('leaves the cells as they are where they fit', async () => {
    const fields = [
      { name: 'id', type: 'integer', constraints: { required: true, unique: true, minimum: 1, maximum: 10 } },
      { name: 'code', type: 'string', constraints: { pattern: '[A-Z]{2}', minLength: 2, maxLength: 2 } },
      { name: 'kind', constraints: { enum: ['a', 'b'] } },
      { name: 'day', type: 'date', format: '%d.%m.%Y', constraints: { minimum: '2026-01-01' } },
      { name: 'sum', type: 'number', decimalChar: ',', groupChar: '.' },
    ];
    const text = 'id,code,kind,day,sum,more\n1,AB,a,31.12.2026,"1.000,5",x\n2,,,,,\n';
    expect(await textOf('t.csv', text, schema(fields))).toBe(text);
    expect(await made('t.csv', text, schema(fields, { foreignKeys: [] }))).toMatchObject({
      notes: [
        expect.anything(),
        'schema: 5 fields checked, 0 bad rows; without a field: "more"; foreignKeys are not checked',
      ],
    });
  });

  it.each([
    ['integer', {}, 'x', 'is not a valid integer'],
    ['number', {}, '1,5', 'is not a valid number'],
    ['boolean', {}, 'maybe', 'is not a valid boolean'],
    ['date', {}, '2026-02-30', 'is not a valid date'],
    ['datetime', {}, '2026-02-28', null],
    ['time', {}, '25:00', 'is not a valid time'],
    ['year', {}, '26', 'is not a valid year'],
    ['yearmonth', {}, '2026-13', 'is not a valid yearmonth'],
    ['string', { format: 'email' }, 'me', 'is not a valid string'],
    ['string', { format: 'email' }, 'me@example.org', null],
    ['string', { format: 'year' }, 'x', null],
    ['string', { format: 'constructor' }, 'x', null],
    ['integer', { constraints: { minimum: 5 } }, '4', 'is less than 5'],
    ['integer', { constraints: { maximum: 5 } }, '10', 'is more than 5'],
    ['date', { constraints: { maximum: '2025-12-31' } }, '2026-01-01', 'is more than 2025-12-31'],
    ['string', { constraints: { pattern: 'a+' } }, 'aab', 'does not match a+'],
    ['string', { constraints: { enum: ['x'] } }, 'y', 'is none of the allowed values'],
    ['string', { constraints: { minLength: 2 } }, 'ä', 'is shorter than 2'],
    ['string', { constraints: { maxLength: 2 } }, '😀😀😀', 'is longer than 2'],
    ['any', {}, 'x', null],
  ])('judges a cell of type %s %o: %s', async (type, more, cell, message) => {
    const pending = made('t.csv', `a\n"${cell}"\n`, schema([{ name: 'a', type, ...more }]));
    if (message === null) expect(await pending).toMatchObject({ rowsOut: 1 });
    else
      await expect(pending).rejects.toMatchObject({
        code: 'table-rows',
        line: 2,
        message: expect.stringContaining(`line 2, column 1 ("a"): ${message}`),
      });
  });

  it('finds empty cells, values that stand twice, and keys that do', async () => {
    const fields = [
      { name: 'a', constraints: { required: true } },
      { name: 'b', constraints: { unique: true } },
    ];
    const text = 'a,b\n,1\n1,1\n2,1\n3,-\n';
    await expect(made('t.csv', text, schema(fields, { missingValues: ['', '-'] }))).rejects.toMatchObject({
      message: [
        '3 bad rows of 4: nothing is published',
        'line 2, column 1 ("a"): is empty, but required',
        'line 3, column 2 ("b"): is not unique',
        'line 4, column 2 ("b"): is not unique',
      ].join('\n'),
    });
    const keyed = made(
      't.csv',
      'a,b\n1,1\n1,2\n1,2\n',
      schema([{ name: 'a' }, { name: 'b' }], { primaryKey: ['a', 'b'] }),
    );
    await expect(keyed).rejects.toMatchObject({
      message: expect.stringContaining('line 4: another row has the same key (a, b)'),
    });
  });

  it('must have fields that are columns', async () => {
    await expect(made('t.csv', 'a\n1\n', schema([{ name: 'b' }]))).rejects.toMatchObject({
      code: 'table-step',
      message: expect.stringContaining('no columns: "b"'),
    });
  });
});

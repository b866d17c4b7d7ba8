// Cells and rows that are no data, and data that look alike.
import { describe, expect, it } from 'vitest';
import { inspectTable } from '../../../src/tables/check.ts';
import { fileOf } from '../../support/table-file.ts';

const findingsOf = async (content: string, how = {}) => (await inspectTable(fileOf(content), how)).findings;

/** A table whose second column holds this value, quoted where it has to be. */
const withValue = (value: string): string => `id,owner\n1,Ulm\n2,"${value.replaceAll('"', '""')}"\n3,Bonn\n`;

describe('a value as a program names it', () => {
  it.each([
    '[object Object]',
    '[Function: name]',
    '[Array]',
    "b'Ulm'",
    'b"Ulm\'s"',
    "Decimal('12.50')",
    'datetime.date(2019, 4, 1)',
    'datetime.datetime(2019, 4, 1, 0, 0)',
    "Timestamp('2019-04-01 00:00:00')",
    'np.float64(12.5)',
    "<class 'str'>",
    '<generator object rows at 0x7f3a>',
    '<__main__.Town object at 0x7f3a>',
    '[Ljava.lang.String;@1b6d3586',
    '[B@4554617c',
    'Town object (12)',
    '<Town: Ulm>',
    'System.Byte[]',
    '@{Town=Ulm; River=Donau}',
    'a:1:{i:0;s:3:"Ulm";}',
    'map[town:Ulm]',
    '{"$oid":"507f1f77bcf86cd799439011"}',
    'System.Collections.Generic.List`1[System.String]',
    'ARRAY(0x55d0c8)',
    '#<Town:0x00007f>',
    'ObjectId("507f1f77bcf86cd799439011")',
    '[BLOB - 12 B]',
    '%!d(string=Ulm)',
    '="007"',
    '{{ owner }}',
    `\${owner}`,
    '<%= owner %>',
    '########',
  ])('is a fault, unless the layout is given: %s', async (value) => {
    const [fault] = (await findingsOf(withValue(value))).filter(({ code }) => code !== null);
    expect(fault).toMatchObject({ kind: 'program-value', count: 1, mend: null, places: [{ line: 3, column: 2 }] });
    const given = await findingsOf(withValue(value), { skipRows: 0 });
    expect(given.filter(({ code }) => code !== null)).toEqual([]);
  });

  it.each(['com.example.Town@3d4eac69', 'main.Town.None', 'c("Ulm", "Bonn")', 'Loading...'])(
    'is a fault also where each value of a column is one that ends like any other: %s',
    async (value) => {
      const cell = `"${value.replaceAll('"', '""')}"`;
      const table = `id,owner\n1,${cell}\n2,${cell}\n`;
      expect(await findingsOf(table)).toMatchObject([{ kind: 'program-value', places: [{ line: 2, column: 2 }] }]);
    },
  );

  it.each([
    'Decimal(10,2)',
    'System.String',
    'datetime.date',
    'Timestamp (UTC)',
    'Optional. See below',
    'Optional (12)',
    'Objects of the museum (12)',
    'Number(5)',
    'a:1',
    'c(a)',
    'Loading bay',
    '@ulm {b}',
    'np.mean(x)',
    '[Ulm, Bonn]',
    '["Ulm", "Bonn"]',
    '{"town": "Ulm"}',
    '{town}',
    '=A1&"x"',
    '=1+2',
    'Ulm (Donau)',
    '<none>',
    '<b>Ulm</b>',
    "the 'old' town's",
    "b'",
    'anna@example.org',
    '#12',
    '#ff8800',
    '####',
    'NaN',
    'NULL',
    'None',
    'undefined',
    '${',
    'ULM(12)',
  ])('is none: %s', async (value) => {
    expect((await findingsOf(withValue(value))).filter(({ code }) => code !== null)).toEqual([]);
  });
});

const towns = ['1,Ulm,Donau,5', '2,Bonn,Rhein,7', '3,Trier,Mosel,9', '4,Rom,Tiber,8'];
const table = (...rows: string[]): string => `id,town,river,n\n${rows.join('\n')}\n`;

describe('a row that is no record', () => {
  it.each([
    ['a row that is commented out', table('#0,Bern,Aare,3', ...towns), 2],
    ['rows of comments', table(...towns.slice(0, 2), '# from here on, of, last, year', ...towns.slice(2)), 4],
    ['an end mark', table(...towns, 'END,,,'), 6],
    ['a word of its own in the last row', table(...towns, 'provisional,,,'), 6],
    ['a sum without a name', table(...towns, ',,,29'), 6],
  ])('is told: %s', async (_, content, line) => {
    const [fault] = (await findingsOf(content)).filter(({ code }) => code !== null);
    expect(fault).toMatchObject({ kind: 'footer', code: 'table-ragged', places: [{ line }] });
    expect((await findingsOf(content, { skipRows: 0 })).filter(({ code }) => code !== null)).toEqual([]);
  });

  it.each([
    ['errors of a spreadsheet in the first column', table('#N/A,Bern,Aare,3', ...towns)],
    ['a header that begins with #', '#id,n\n1,5\n2,6\n3,7\n'],
    ['names that begin with #', `tag,n\n#ulm,5\n#bonn,6\ntrier,7\n`],
    ['tags among numbers and names', `tag,n\n${'#ulm,1\n'.repeat(12)}bonn,2\n3,4\n5,6\n7,8\n`],
    ['many tags among numbers', `tag,n\n${'#ulm,1\n'.repeat(60)}3,4\n5,6\n7,8\n`],
    ['ids of two kinds', table(...towns, 'A5,Bern,Aare,3')],
    ['a last row with a value more', table(...towns, 'A5,Bern,,')],
    ['a first cell that is missing in several rows', table(',,,4', ...towns, ',,,29')],
    ['few rows', 'id,n\n1,2\n,3\n'],
    ['sparse rows', 'a,b,c\n1,,\n,2,\n,,3\n4,,\n,5,\n'],
    ['a list of single values', 'town\nUlm\n5\n6\n7\nEND\n'],
  ])('is none: %s', async (_, content) => {
    expect((await findingsOf(content)).filter(({ code }) => code !== null)).toEqual([]);
  });
});

import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encoderOf } from '../../../src/tables/scan/encodings.ts';
import { made, textOf } from './support/made.ts';
import { zipOf } from './support/zip.ts';

const safe = { mend: 'safe' } as const;

/** Text that is a table beyond doubt, and the CSV that it becomes. */
const tables: [what: string, content: string | Buffer, csv: string][] = [
  ['tabs', 'town\tn\nUlm\t3\nBonn\t5\n', 'town,n\nUlm,3\nBonn,5\n'],
  ['tabs between words', 'town\tstate\nUlm\tBW\n', 'town,state\nUlm,BW\n'],
  ['semicolons', 'town;price\r\nUlm;1,5\r\n', 'town,price\nUlm,"1,5"\n'],
  ['bars', 'town|n\nUlm|3\n', 'town,n\nUlm,3\n'],
  ['commas', 'stop_id,stop_name,stop_lat\nS1,"Ulm, Hbf",48.4\n', 'stop_id,stop_name,stop_lat\nS1,"Ulm, Hbf",48.4\n'],
  [
    'commas between words',
    'agency_id,agency_url\nDTA,http://x.example\n',
    'agency_id,agency_url\nDTA,http://x.example\n',
  ],
  ['numbers behind spaced names', 'town, n\nUlm,3\nBonn,5\n', 'town, n\nUlm,3\nBonn,5\n'],
  ['empty cells', 'a\tb\tc\n1\t\t\n\t2\t\n', 'a,b,c\n1,,\n,2,\n'],
  ['a byte order mark', '\ufefftown\tn\nUlm\t3\n', 'town,n\nUlm,3\n'],
];

/** Text that is none, or not for certain. */
const others: [what: string, content: string | Buffer][] = [
  ['prose', 'This folder holds the counts of 2026.\nThey are by day, by place and by lane.\n'],
  ['prose with as many commas a line', 'Dear reader, hello\nWith regards, Ann\n'],
  ['a list', 'Ulm\nBonn\nAalen\n'],
  ['a program', 'int a;\nint b;\nint c;\n'],
  ['settings', '[server]\nport = 80\nname = x\n'],
  ['rows of several lengths', 'a\tb\n1\t2\n1\t2\t3\n'],
  ['columns aligned by spaces', 'town      n\nUlm       3\nBonn      5\n'],
  ['rows without a header', '1\t2\n3\t4\n5\t6\n'],
  ['two headers', 'a\tb\n1\t2\n\nc\td\n3\t4\n'],
  ['a header alone', 'a\tb\n'],
  ['a map of MapInfo', '!table\n!version 300\n!charset WindowsLatin1\n\nDefinition Table\n  Type NATIVE\n'],
  ['a web page', '<html><body><table><tr><td>a</td></tr></table></body></html>'],
  ['JSON', '[{"a":1},{"a":2}]'],
  ['nothing', ''],
  ['bytes of another kind', Buffer.from([0, 1, 2, 3, 0, 255, 254])],
];

describe.each(['t.txt', 't.tab', 'T.TXT'])('text named %s', (name) => {
  it.each(tables)('is a table where its layout is certain: %s', async (_, content, csv) => {
    expect(await textOf(name, content)).toBe(csv);
  });

  it.each(others)('goes as a file, with a warning that says so, where it is not: %s', async (_, content) => {
    const warning = expect.stringMatching(
      /^t\.\w+ is not certainly a table \(.+\); it is published as a file, without rows: if it is one, .*save it as \.csv/i,
    );
    for (const details of [{}, safe])
      expect(await made(name, content, details)).toMatchObject({ kind: 'as-is', warnings: [warning] });
  });
});

it('says what keeps a text from being a table', async () => {
  const ragged = await made('t.tab', 'a\tb\n1\t2\n1\t2\t3\n');
  expect(ragged).toMatchObject({ why: expect.stringContaining('(line 3: the row has 3 cells, the header has 2)') });
});

it('is fixed first where that is wanted', async () => {
  const titled = 'Towns of 2026\n\ntown\tn\nUlm\t3\nBonn\t5\n';
  expect((await made('t.txt', titled)).kind).toBe('as-is');
  expect(await textOf('t.txt', titled, safe)).toBe('town,n\nUlm,3\nBonn,5\n');
  const latin1 = encoderOf('windows-1252')('Straße;Ort\nKönigstraße;München\nSchloßallee;Köln\n');
  expect(await textOf('t.txt', latin1, safe)).toBe('Straße,Ort\nKönigstraße,München\nSchloßallee,Köln\n');
});

it('is a fault where a table is requested, as with any name', async () => {
  const table = [{ select: ['a'] }];
  await expect(made('t.txt', 'a\tb\n1\t2\t3\n', { table })).rejects.toMatchObject({ code: 'table-rows' });
  expect(await textOf('t.txt', 'a b\n1 2\n', { table: [{ delimiter: ' ' }] })).toBe('a,b\n1,2\n');
});

it('is unpacked first, and has to prove the same in an archive', async () => {
  expect(await textOf('t.txt.gz', gzipSync('town\tn\nUlm\t3\n'))).toBe('town,n\nUlm,3\n');
  expect((await made('t.tab.gz', gzipSync('Read me.\n'))).kind).toBe('as-is');
  const shapes = await zipOf({ 'roads.shp': 'x', 'roads.dbf': 'x', 'readme.txt': 'Roads of 2026.\nBy the county.\n' });
  for (const details of [{}, safe]) expect((await made('t.zip', shapes, details)).kind).toBe('as-is');
  expect(await textOf('t.zip', await zipOf({ 'stops.txt': 'id,name\n1,Ulm\n' }))).toBe('id,name\n1,Ulm\n');
});

it.each(['t.xls', 't.ods', 't.xlsb'])('%s is a fault where a table is requested, and nothing else', async (name) => {
  await expect(made(name, 'x', { table: [{ select: ['a'] }] })).rejects.toMatchObject({
    code: 'table-input',
    hint: 'save it as .xlsx or .csv',
  });
  await expect(made(name, 'x')).rejects.toThrow('has no recipe');
});

it('an archive of workbooks that are not read is published with a warning', async () => {
  const zip = await zipOf({ 'a.ods': 'x' });
  const warnings = [expect.stringContaining('published as a file, without rows: publish its tables as .csv or .xlsx')];
  for (const details of [{}, safe])
    expect(await made('t.zip', zip, details)).toMatchObject({ kind: 'as-is', warnings });
});

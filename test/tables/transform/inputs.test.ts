// Files of other kinds become CSV: what is read, and what is said of what cannot be.
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { made, textOf } from './support/made.ts';
import { type Value, type WorkbookOptions, workbookOf } from './support/workbook.ts';
import { zipOf } from './support/zip.ts';

/** Steps that ask for a table and change nothing. */
const steps = { table: [{ replace: { cell: 'never there', with: '' } }] };

describe('delimited text', () => {
  it('becomes UTF-8 with commas and LF, quoted only where that is needed', async () => {
    const text = '\ufeffa;b\r\n"x;y";"say ""hi"""\r\n"two\r\nlines";z\r\n';
    expect(await textOf('t.csv.gz', gzipSync(text))).toBe('a,b\nx;y,"say ""hi"""\n"two\r\nlines",z\n');
  });

  it('keeps a row whose only cell is empty', async () => {
    expect(await textOf('t.csv.gz', gzipSync('a\n""\n1\n'))).toBe('a\n""\n1\n');
  });

  it('is read in the encoding that is named, and UTF-16 by its byte order mark', async () => {
    const latin = Buffer.from('name;town\nJos\xe9;K\xf6ln\n', 'latin1');
    expect(await textOf('t.csv', latin, { table: [{ encoding: 'windows-1252' }] })).toBe('name,town\nJosé,Köln\n');
    const wide = Buffer.from('\ufeffa\tb\n1\tß\n', 'utf16le');
    expect(await textOf('t.csv', wide, { table: [{ delimiter: 'tab' }] })).toBe('a,b\n1,ß\n');
  });

  it('is never guessed to be another encoding: the line is named', async () => {
    const latin = Buffer.from('name\nok\nJos\xe9\n', 'latin1');
    await expect(made('t.csv.gz', gzipSync(latin))).rejects.toMatchObject({
      code: 'table-encoding',
      line: 3,
      hint: expect.stringContaining('`encoding: iso-8859-1`'),
    });
  });

  it('that is packed once more is called what it is, not text in another encoding', async () => {
    const [gzip, zip] = [gzipSync(gzipSync('a\n1\n')), gzipSync(await zipOf({ 't.csv': 'a\n1\n' }))];
    for (const [content, kind] of [
      [gzip, 'a gzip archive'],
      [zip, 'a ZIP archive or an Excel workbook'],
    ] as const) {
      const message = expect.stringContaining(`the file is ${kind}`);
      await expect(made('t.csv.gz', content)).rejects.toMatchObject({ code: 'table-encoding', message });
    }
  });

  it('reports an unclosed quote and a row beyond the limit', async () => {
    await expect(made('t.csv.gz', gzipSync('a,b\n1,"x\n'))).rejects.toMatchObject({ code: 'table-quote' });
    const long = `a\n"${'x'.repeat(5000)}"\n`;
    await expect(made('t.csv.gz', gzipSync(long), {}, { rowBytes: 1000 })).rejects.toMatchObject({
      code: 'table-oversize',
      line: 2,
    });
  });

  it('is cut off when its gzip is', async () => {
    const whole = gzipSync(`a\n${'1\n'.repeat(10_000)}`);
    await expect(made('t.csv.gz', whole.subarray(0, whole.length - 20))).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('is damaged'),
    });
  });
});

describe('a header', () => {
  it('is below skipped lines of any shape, wherever the bytes are cut', async () => {
    const text = 'Report "2026\n\nmade;by;us\r\na;b\n1;2\n';
    const table = [{ skipRows: 2 }, { header: { row: 2 } }];
    expect(await textOf('t.csv', text, { table })).toBe('a,b\n1,2\n');
    expect(
      await textOf('t.csv', text.replaceAll('\n', '\r').replaceAll('\r\r', '\r'), { table: [{ skipRows: 2 }] }),
    ).toBe('a,b\n1,2\n');
  });

  it('is trimmed, named again and renamed', async () => {
    const table = [{ header: { trim: true, rename: { 'b c': 'd' } } }];
    expect(await textOf('t.csv', ' a ,b   c\n1,2\n', { table })).toBe('a,d\n1,2\n');
    expect(await textOf('t.csv', 'x,x\n1,2\n', { table: [{ header: { names: ['a', 'b'] } }] })).toBe('a,b\n1,2\n');
    await expect(made('t.csv', 'x,x\n1,2\n', { table: [{ header: { names: ['a'] } }] })).rejects.toMatchObject({
      code: 'table-step',
    });
  });

  it('must be there', async () => {
    await expect(made('t.csv', 'a\n1\n', { table: [{ skipRows: 5 }] })).rejects.toMatchObject({ code: 'table-empty' });
  });
});

describe('an archive', () => {
  it('gives its only table, wherever it lies', async () => {
    const zip = await zipOf({ '__MACOSX/._t.csv': 'x', 'notes.pdf': 'x', 'deep/er/t.tsv': 'a\tb\n1\t2\n' });
    expect(await textOf('t.zip', zip)).toBe('a,b\n1,2\n');
  });

  it('gives the CSV among files that describe it, and tells what is left out', async () => {
    const zip = await zipOf({ 'readme.txt': 'x', 'meta.json': '{}', 't.csv': 'a\n1\n' });
    expect(await made('t.zip', zip)).toMatchObject({
      text: 'a\n1\n',
      notes: ['"t.csv" of the archive; left out: "readme.txt", "meta.json"', expect.anything()],
    });
  });

  it('must be reported which table of several', async () => {
    const zip = await zipOf({ 'a.csv': 'a\n1\n', 'b.csv': 'b\n2\n' });
    await expect(made('t.zip', zip, steps)).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('2 tables: "a.csv", "b.csv"'),
      hint: expect.stringContaining('member: a.csv'),
    });
    const why = 't.zip holds 2 tables: "a.csv", "b.csv"';
    const warning = `${why}; it is published as a file, without rows: name one: \`member: a.csv\`, or publish`;
    const warnings = [expect.stringContaining(warning)];
    expect(await made('t.zip', zip)).toEqual({ kind: 'as-is', why, warnings });
    expect(await textOf('t.zip', zip, { member: 'b.csv' })).toBe('b\n2\n');
    await expect(made('t.zip', zip, { member: 'c.csv' })).rejects.toMatchObject({ code: 'table-input' });
  });

  it('goes as it is when it holds no table and none is requested', async () => {
    const zip = await zipOf({ 'roads.shp': 'x' });
    expect(await made('t.zip', zip)).toMatchObject({
      kind: 'as-is',
      why: expect.stringContaining('t.zip holds no table'),
    });
    await expect(made('t.zip', zip, { table: [{ select: ['a'] }] })).rejects.toMatchObject({ code: 'table-input' });
  });
});

describe('a workbook', () => {
  it('gives text, numbers, truth values and dates as people see them', async () => {
    const book = await workbookOf([
      ['text', 'number', 'flag', 'day', 'time'],
      ['a & <b>', 0.1 + 0.2, true, new Date('2026-02-28'), new Date('2026-02-28T13:05:00Z')],
      ['007', 12345678901, false, new Date('1999-12-31'), null],
    ]);
    expect(await textOf('t.xlsx', book)).toBe(
      'text,number,flag,day,time\na & <b>,0.3,true,2026-02-28,2026-02-28T13:05:00\n007,12345678901,false,1999-12-31,\n',
    );
  });

  it('pads short rows, leaves empty rows out, and tells rows that are longer than the header', async () => {
    const book = await workbookOf([['a', 'b'], [1], [], [null, 2], [3, 4, 5]]);
    await expect(made('t.xlsx', book)).rejects.toMatchObject({
      code: 'table-rows',
      message: expect.stringContaining('row 5: the row has 3 cells, the header has 2'),
    });
    expect(await textOf('t.xlsx', book, { badRows: 'skip', maxBadRows: 1 })).toBe('a,b\n1,\n,2\n');
  });

  it('is refused where nobody says which sheet of several, by name or number; hidden ones do not count', async () => {
    const options = { name: 'One', more: { Two: [['b'], [2]], Three: [['c'], [3]] }, hidden: ['Three'] };
    const book = await workbookOf([['a'], [1]], options);
    expect((await made('t.xlsx', book)).kind).toBe('as-is');
    await expect(made('t.xlsx', book, { mend: 'safe' })).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('several sheets with values: "One", "Two", "Three" (hidden)'),
      hint: expect.stringContaining('`sheet: "One"`'),
    });
    expect(await textOf('t.xlsx', book, { sheet: 'Two' })).toBe('b\n2\n');
    expect(await textOf('t.xlsx', book, { sheet: 3 })).toBe('c\n3\n');
    await expect(made('t.xlsx', book, { sheet: 'Four' })).rejects.toMatchObject({ code: 'table-input' });
    const single = await workbookOf([['a'], [1]], { more: { Two: [['b']] }, hidden: ['Two'] });
    expect(await textOf('t.xlsx', single)).toBe('a\n1\n');
  });

  it('counts days from 1904 where it says so', async () => {
    const book = await workbookOf([['day'], [new Date('2026-01-01')]], { since1904: true });
    expect(await textOf('t.xlsx', book)).toBe('day\n2030-01-02\n');
  });

  it('reads shared texts in pieces, inline texts, formula results and escapes', async () => {
    const rows = [
      '<row r="1"><c r="A1" t="inlineStr"><is><t>head</t></is></c><c r="C1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>',
      '<row r="2"><c r="A2" t="str"><f>1+1</f><v>two_x000A_lines</v></c><c r="C2" t="e"><v>#N/A</v></c></row>',
    ];
    const sheet = `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`;
    const shared = '<sst><si><r><t>ri</t></r><r><t>ch</t></r><rPh sb="0" eb="1"><t>hint</t></rPh></si></sst>';
    const book = await workbookOf([['x']], {
      parts: { 'xl/worksheets/sheet1.xml': sheet, 'xl/sharedStrings.xml': shared },
    });
    expect(await textOf('t.xlsx', book)).toBe('head,b,rich\n"two\nlines",,#N/A\n');
  });

  it('is told from other files', async () => {
    await expect(made('t.xlsx', await zipOf({ 'a.md': '# a' }))).rejects.toMatchObject({ code: 'table-input' });
    await expect(made('t.xlsx', Buffer.from('d0cf11e0a1b11ae1', 'hex'))).rejects.toMatchObject({
      message: 't.xlsx is an old Excel workbook (.xls), or one with a password',
    });
    await expect(made('t.xlsx', 'a,b\n1,2\n')).rejects.toMatchObject({
      code: 'table-input',
      message: 't.xlsx is a table of text, not a ZIP archive or a workbook',
    });
  });

  it('is told from an archive by what is inside, whatever its name', async () => {
    expect(await textOf('t.xlsx', await zipOf({ 'a.csv': 'a\n1\n' }))).toBe('a\n1\n');
    expect(await textOf('t.zip', await workbookOf([['a'], [1]]))).toBe('a\n1\n');
  });

  it('skips rows above the header', async () => {
    const book = await workbookOf([['Report'], [], ['a', 'b'], [1, 2]]);
    expect(await textOf('t.xlsx', book, { table: [{ header: { row: 3 } }] })).toBe('a,b\n1,2\n');
  });

  it.each<[WorkbookOptions]>([
    [{ more: { Two: [], Three: [[null]] } }],
    [{ more: { 'Leer 1': [[], []] } }],
    [{ name: 'Data', more: { Notes: [] }, hidden: ['Notes'] }],
    [{ name: 'Table', more: { Chart: [[null, null]] } }],
  ])('beside empty sheets is read as the only one: %j', async (options) => {
    expect(await textOf('t.xlsx', await workbookOf([['a'], [1]], options))).toBe('a\n1\n');
  });

  it.each([
    [
      [
        [null, 'a', 'b'],
        [null, 1, 2],
      ],
      'a,b\n1,2\n',
    ],
    [[[null, null, 'a'], [null, null, 1], [], [null, null, 3]], 'a\n1\n3\n'],
    [[[], [null, 'a', 'b'], [null, 1], [null, null, 2]], 'a,b\n1,\n,2\n'],
    [
      [
        [null, 'a'],
        [7, 1],
      ],
      ',a\n7,1\n',
    ],
  ])('%j: gives no columns for empty ones before the table', async (rows, text) => {
    expect(await textOf('t.xlsx', await workbookOf(rows as Value[][]))).toBe(text);
  });

  it('with macros is read as one without', async () => {
    const { kind } = await made('t.xlsm', await workbookOf([['a'], [1]]));
    expect(kind).toBe('table');
  });

  it.each([
    ['[h]:mm:ss', 1.104166666666667, 'PT26H30M'],
    ['[hh]:mm', 0.25, 'PT6H'],
    ['[mm]:ss', 0.0005208333333333333, 'PT45S'],
    ['[h]:mm:ss.000', 1.1574074074074074e-8, 'PT0.001S'],
    ['[s]', -0.5, '-PT12H'],
    ['[h]:mm', 0, 'PT0S'],
    ['h:mm:ss', 0.25, '06:00:00'],
  ])('shows %s of %d as %s', async (format, days, text) => {
    const sheet = `<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row><row r="2"><c r="A2" s="1"><v>${days}</v></c></row></sheetData></worksheet>`;
    const styles = `<styleSheet><numFmts count="1"><numFmt numFmtId="165" formatCode="${format}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="165"/></cellXfs></styleSheet>`;
    const book = await workbookOf([['a']], { parts: { 'xl/worksheets/sheet1.xml': sheet, 'xl/styles.xml': styles } });
    expect(await textOf('t.xlsx', book)).toBe(`a\n${text}\n`);
  });
});

describe('JSON that is no list of objects', () => {
  it.each(['[[1,2],[3,4]]', '[1,2,3]', '["a"]', '[[]]'])(
    '%s goes as it is, unless a table is requested',
    async (text) => {
      expect(await made('t.json', text)).toMatchObject({
        kind: 'as-is',
        why: expect.stringContaining('not an object'),
      });
      await expect(made('t.json', text, steps)).rejects.toMatchObject({ code: 'table-input' });
    },
  );

  it('is a fault where only a later row is none', async () => {
    await expect(made('t.json', '[{"a":1},[2]]')).rejects.toMatchObject({ code: 'table-input', line: 2 });
  });
});

describe('JSON', () => {
  it('lines become rows, with all keys of all rows as columns', async () => {
    const lines = '{"id":1,"name":"a"}\n\n{"name":null,"id":2,"more":true}\r\n{"id":"x,y"}';
    expect(await textOf('t.ndjson', lines)).toBe('id,name,more\n1,a,\n2,,true\n"x,y",,\n');
    expect(await textOf('t.jsonl.gz', gzipSync(lines))).toBe('id,name,more\n1,a,\n2,,true\n"x,y",,\n');
  });

  it('arrays become rows; numbers keep their digits', async () => {
    const text = ' [ {"n": 12345678901234567890, "p": 1.10, "s": "a],[{\\"b"} ,\n{"n":-0.5e3,"s":"]"} ] ';
    expect(await textOf('t.json', text)).toBe('n,p,s\n12345678901234567890,1.10,"a],[{""b"\n-0.5e3,,]\n');
  });

  it.each([
    ['a nested object', '[{"a":1},{"a":{"b":1}}]', 'row 2: the value of "a" is an object'],
    ['a nested list', '[{"a":[1]}]', 'row 1: the value of "a" is a list'],
    ['a row that is not an object', '[{"a":1},2]', 'row 2 is not an object'],
    ['a faulty row', '[{"a":1},{a:2}]', 'row 2 is not JSON'],
    ['a missing row', '[{"a":1},]', 'row 2 is not JSON'],
    ['an array that is cut off', '[{"a":1},{"a":2}', 'not one complete array'],
    ['text behind the array', '[{"a":1}] x', 'not one complete array'],
    ['an empty array', '[]', 'has no rows'],
  ])('with %s is refused', async (_, text, message) => {
    await expect(made('t.json', text, steps)).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining(message),
    });
  });

  it('that is no array goes as it is unless steps are requested', async () => {
    const shapes = '{"type":"FeatureCollection","features":[]}';
    expect(await made('t.json', shapes)).toEqual({ kind: 'as-is', why: 't.json is not an array of rows' });
    const why = 'row 1: the value of "a" is a list, which does not fit into a table';
    const nested = { kind: 'as-is', why, warnings: [expect.stringContaining(`${why}; it is published as a file`)] };
    expect(await made('t.json', '[{"a":[1]}]')).toEqual(nested);
    await expect(made('t.json', shapes, { table: [{ select: ['a'] }] })).rejects.toMatchObject({ code: 'table-input' });
  });
});

describe('keys that are not for a kind of file', () => {
  it.each([
    ['t.csv', { sheet: 'A' }],
    ['t.csv', { member: 'A' }],
    ['t.ndjson', { table: [{ delimiter: ';' }] }],
    ['t.ndjson', { table: [{ skipRows: 1 }] }],
  ])('are refused: %s %o', async (name, details) => {
    await expect(made(name, '{"a":1}\n', details)).rejects.toMatchObject({ code: 'table-input' });
  });
});

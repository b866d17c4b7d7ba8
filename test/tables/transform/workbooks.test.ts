// Workbooks as many programs write them: what people see in the spreadsheet is what is made of it, or it is refused.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkTable } from '../../../src/tables/check.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { made, prepared, textOf } from './support/made.ts';
import { type Value, type WorkbookOptions, workbookOf } from './support/workbook.ts';
import { zipOf } from './support/zip.ts';

/** A sheet of these rows of cells, each written as XML. */
const sheetOf = (rows: string[]): string =>
  `<worksheet><sheetData>${rows.map((cells, row) => `<row r="${row + 1}">${cells}</row>`).join('')}</sheetData></worksheet>`;

const text = (place: string, value: string): string => `<c r="${place}" t="inlineStr"><is><t>${value}</t></is></c>`;

/** A workbook whose sheet is this XML. */
const bookOf = (sheet: string, parts: Record<string, string> = {}): Promise<Buffer> =>
  workbookOf([['x']], { name: 'Data', parts: { 'xl/worksheets/sheet1.xml': sheet, ...parts } });

/** A workbook with one column `a` of these numbers in this format. */
const numbersOf = (format: string, numbers: string[]): Promise<Buffer> => {
  const cells = numbers.map((number, row) => `<c r="A${row + 2}" s="1"><v>${number}</v></c>`);
  const code = format.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const styles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="${code}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>`;
  return bookOf(sheetOf([text('A1', 'a'), ...cells]), { 'xl/styles.xml': styles });
};

/** The fault of a table in the end, after its check. */
const faultOf = async (book: Buffer): Promise<unknown> => {
  const table = await prepared('t.xlsx', book);
  if (table.kind !== 'table') throw new Error(table.why);
  return checkTable(table.path, table.reading).then(
    () => null,
    (error: unknown) => error,
  );
};

describe('numbers of a workbook', () => {
  it.each([
    ['1405202108700581', '1405202108700581'],
    ['-568883383628111872', '-568883383628111872'],
    ['1.405202108700581E15', '1405202108700581'],
    ['1234567890123456.7', '1234567890123456.7'],
    ['-1.7976931348623157E+308', '-1.7976931348623157E+308'],
    ['2.69653970229347E+308', '2.69653970229347E+308'],
    ['0.30000000000000004', '0.3'],
    ['1E-3', '0.001'],
  ])('%s is %s', async (number, shown) => {
    expect(await textOf('t.xlsx', await numbersOf('General', [number]))).toBe(`a\n${shown}\n`);
  });

  it.each([
    ['00000', '2138', '02138'],
    ['000', '0', '000'],
    ['"NUTS"000', '12', 'NUTS012'],
    ['\\N\\U\\T\\S000', '12', 'NUTS012'],
    ['000\\-00\\-0000', '12', '000-00-0012'],
    ['00000\\-0000', '21381234', '02138-1234'],
    ['[<=9999999]###\\-####;\\(###\\)\\ ###\\-####', '5551234567', '(555) 123-4567'],
    ['[<=9999999]###\\-####;\\(###\\)\\ ###\\-####', '5551234', '555-1234'],
    ['00.00', '1.11', '01.11'],
    ['000 00', '12345', '123 45'],
    ['0000', '-7', '-0007'],
    ['0000;-0000', '-7', '-0007'],
    ['[Red]000', '7', '007'],
    ['00000', '123456789012345678', '123456789012345678'],
  ])('in the format %s: %s is shown as %s', async (format, number, shown) => {
    expect(await textOf('t.xlsx', await numbersOf(format, [number]))).toBe(`a\n${shown}\n`);
  });

  it.each([
    ['#,##0', '1234'],
    ['# ##0', '1234567'],
    ["#'##0.00", '1234567'],
    ['0.00', '1.5'],
    ['00000', '1.5'],
    ['00.00', '1.113'],
    ['0" kg"', '5'],
    ['"$"000', '5'],
    ['[$€-407] 000', '5'],
    ['000%', '0.5'],
    ['0.0E+00', '1234567'],
    ['00/00', '0.5'],
  ])('in the format %s stay numbers: %s', async (format, number) => {
    expect(await textOf('t.xlsx', await numbersOf(format, [number]))).toBe(`a\n${number}\n`);
  });
});

describe('the parts of a workbook', () => {
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const relations = (...of: [id: string, type: string, target: string][]): string =>
    `<ns0:Relationships xmlns:ns0="http://schemas.openxmlformats.org/package/2006/relationships">${of
      .map(([id, type, target]) => `<ns0:Relationship Target="${target}" Type="${office}/${type}" Id="${id}"/>`)
      .join('')}</ns0:Relationships>`;
  const book = (id = 'r:id="rId1"'): string =>
    `<workbook><sheets><sheet name="S" sheetId="1" ${id}/></sheets></workbook>`;
  const sheet =
    '<worksheet><sheetData><row><c t="s"><v>0</v></c></row><row><c s="1"><v>45000</v></c></row></sheetData></worksheet>';
  const shared = '<sst><si><t>day</t></si></sst>';
  const styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>';

  it.each<[string, Record<string, string>]>([
    [
      'beside the workbook in other case',
      {
        'xl/workbook.xml': book(),
        'xl/_rels/workbook.xml.rels': relations(['rId1', 'worksheet', './worksheets/Sheet1.xml']),
        'xl/worksheets/sheet1.xml': sheet,
        'xl/SharedStrings.xml': shared,
        'xl/Styles.xml': styles,
      },
    ],
    [
      'under other names, with another prefix',
      {
        '_rels/.rels': relations(['r1', 'officeDocument', 'xl/workbook22.xml']),
        'xl/workbook22.xml': book('relationships:id="a"'),
        'xl/_rels/workbook22.xml.rels': relations(
          ['a', 'worksheet', 'worksheets/data.xml'],
          ['b', 'sharedStrings', 'texts7.xml'],
          ['c', 'styles', 'styles2.xml'],
        ),
        'xl/worksheets/data.xml': sheet,
        'xl/texts7.xml': shared,
        'xl/styles2.xml': styles,
      },
    ],
    [
      'in other places',
      {
        '_rels/.rels': relations(['r1', 'officeDocument', '/book/main/W.xml']),
        'book/main/w.xml': book(),
        'book/main/_rels/w.xml.rels': relations(
          ['rId1', 'worksheet', '/sheet.xml'],
          ['b', 'sharedStrings', '../shared.xml'],
          ['c', 'styles', '/styles.xml'],
        ),
        'sheet.xml': sheet,
        'book/shared.xml': shared,
        'styles.xml': styles,
      },
    ],
  ])('are found %s', async (_, parts) => {
    expect(await textOf('t.xlsx', await zipOf(parts))).toBe('day\n2023-03-15\n');
  });

  it('are missed where they are named and not there: dates would turn into numbers', async () => {
    const parts = {
      'xl/workbook.xml': book(),
      'xl/_rels/workbook.xml.rels': relations(['rId1', 'worksheet', 'sheet.xml'], ['c', 'styles', 'styles2.xml']),
      'xl/sheet.xml': sheet,
      'xl/sharedStrings.xml': shared,
    };
    await expect(made('t.xlsx', await zipOf(parts))).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('/xl/styles2.xml'),
    });
  });
});

describe('cells of a workbook', () => {
  const bookWith = (...cells: string[]): Promise<Buffer> =>
    bookOf(sheetOf([text('A1', 'a') + text('B1', 'b'), ...cells]));

  it.each([
    ['<v>1</v>', 'true'],
    ['<v>true</v>', 'true'],
    ['<v>\n  1\n</v>', 'true'],
    ['<v>false</v>', 'false'],
    ['<v>0</v>', 'false'],
    ['<v></v>', ''],
  ])('hold the truth value that XML writes: %j', async (value, shown) => {
    const book = await bookWith(`<c r="A2"><v>7</v></c><c r="B2" t="b">${value}</c>`);
    expect(await textOf('t.xlsx', book)).toBe(`a,b\n7,${shown}\n`);
  });

  it.each(['<c r="B2" t="s"/>', '<c r="B2" t="s"><v></v></c>', '<c r="B2"><v> </v></c>'])(
    'hold nothing without a value: %s',
    async (cell) => {
      expect(await textOf('t.xlsx', await bookWith(`<c r="A2"><v>7</v></c>${cell}`))).toBe('a,b\n7,\n');
    },
  );

  it('stand beside the cell before, even an empty one, where no place is written', async () => {
    const cells = ['<c><v>1</v></c><c/><c><v>3</v></c>', '<c r="B3"><v>5</v></c><c><v>6</v></c>'];
    const book = await bookOf(sheetOf([text('A1', 'a') + text('B1', 'b') + text('C1', 'c'), ...cells]));
    expect(await textOf('t.xlsx', book)).toBe('a,b,c\n1,,3\n,5,6\n');
  });

  it('are found by small letters, too', async () => {
    expect(await textOf('t.xlsx', await bookWith('<c r="a2"><v>7</v></c><c r="b2"><v>8</v></c>'))).toBe('a,b\n7,8\n');
  });

  it.each([
    ['a cell', '<row r="2"><c r="A2"><v>7</v></c><c r="A2"><v>8</v></c></row>', 'cell A2 is there twice'],
    ['a row', '<row r="2"><c r="A2"><v>7</v></c></row><row r="2"><c r="B2"><v>8</v></c></row>', 'row 2 follows row 2'],
    ['a row above', '<row r="3"><c r="A3"><v>7</v></c></row><row r="2"/>', 'row 2 follows row 3'],
  ])('are not overwritten or shifted: %s', async (_, rows, message) => {
    const header = `<row r="1">${text('A1', 'a')}${text('B1', 'b')}</row>`;
    const book = await bookOf(`<worksheet><sheetData>${header}${rows}</sheetData></worksheet>`);
    await expect(made('t.xlsx', book)).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining(message),
    });
  });
});

describe('formulas without a result', () => {
  const header = text('A1', 'a') + text('B1', 'b');
  const hint = expect.stringContaining('save it');

  it.each([
    ['without a value', '<c r="B2"><f>A2*2</f></c>'],
    ['with an empty value', '<c r="B2"><f>A2*2</f><v/></c>'],
  ])('fail the table, with their place: %s', async (_, cell) => {
    const book = await bookOf(
      sheetOf([header, `<c r="A2"><v>1</v></c>${cell}`, '<c r="A3"><v>2</v></c><c r="B3"><v>4</v></c>']),
    );
    const message = 'sheet "Data", row 2, column B: the formula has no result in the file';
    await expect(made('t.xlsx', book)).rejects.toMatchObject({
      code: 'table-formula',
      line: 2,
      column: 2,
      message,
      hint,
    });
    expect(await made('t.xlsx', book, { badRows: 'skip', maxBadRows: 1 })).toMatchObject({ text: 'a,b\n2,4\n' });
  });

  it('are results where they gave an empty text', async () => {
    const book = await bookOf(sheetOf([header, '<c r="A2"><v>1</v></c><c r="B2" t="str"><f>""</f><v></v></c>']));
    expect(await made('t.xlsx', book)).toMatchObject({ text: 'a,b\n1,\n', warnings: [] });
  });

  it('are told where their rows hold nothing else, unless no row has a value', async () => {
    const empty = '<c r="A3"><f>X1</f></c><c r="B3"><f>X1</f></c>';
    const book = await bookOf(sheetOf([header, '<c r="A2"><v>1</v></c><c r="B2"><v>2</v></c>', empty]));
    expect(await made('t.xlsx', book)).toMatchObject({
      text: 'a,b\n1,2\n',
      warnings: [expect.stringMatching(/^1 formula has no result in the file, the first of them A3/)],
    });
    await expect(made('t.xlsx', await bookOf(sheetOf([header, '<c r="A2"><f>X1</f></c>'])))).rejects.toMatchObject({
      code: 'table-formula',
      hint,
    });
  });
});

describe('the layout of a sheet', () => {
  it('has no columns or rows of styled empty cells', async () => {
    const styled = '<c r="C1" s="1"/><c r="XFD1" s="1"/>';
    const book = await bookOf(
      sheetOf([text('A1', 'a') + text('B1', 'b') + styled, '<c r="A2"><v>1</v></c><c r="D2" s="1"/>', styled]),
    );
    expect(await textOf('t.xlsx', book)).toBe('a,b\n1,\n');
  });

  it.each<[string, Value[][]]>([
    [
      'to its right',
      [
        ['a', 'b'],
        [1, 'x', ...Array(30).fill(null), ' ', '\u00a0'],
        [2, 'y'],
      ],
    ],
    [
      'behind its header',
      [
        ['a', 'b', null, ' '],
        [1, 'x'],
        [2, 'y'],
      ],
    ],
    ['below it', [['a', 'b'], [1, 'x'], [2, 'y'], ...Array(90).fill([]), [null, '  ']]],
    [
      'to its left',
      [
        [null, 'a', 'b'],
        [' ', 1, 'x'],
        [null, 2, 'y'],
      ],
    ],
  ])('has no texts of spaces %s', async (_, rows) => {
    expect(await textOf('t.xlsx', await workbookOf(rows))).toBe('a,b\n1,x\n2,y\n');
  });

  it.each([',', ';'])('is not the lines of a text, divided by "%s", in its first column', async (by) => {
    const lines = [
      ['id', 'town', 'n'],
      ['1', 'Ulm', '5'],
      ['2', 'Bonn', '7'],
    ].map((cells) => [cells.join(by)]);
    await expect(made('t.xlsx', await workbookOf(lines))).rejects.toMatchObject({
      code: 'table-header',
      message: expect.stringContaining('sheet "Sheet1", row 1: every line is one cell that holds cells separated by'),
    });
    const list = [['Name, Vorname'], ['Lee, Ann'], ['Cho, Bob']];
    expect(await textOf('t.xlsx', await workbookOf(list))).toBe('"Name, Vorname"\n"Lee, Ann"\n"Cho, Bob"\n');
  });

  it.each<[string, Value[][], number]>([
    ['one', [['Visitors'], ['name', 'n'], ['x', 1]], 1],
    ['several, between blank rows', [['Visitors', null], [], ['2026'], [], ['name', 'n'], ['x', 1]], 4],
  ])('is told from titles, with the rows to skip: %s', async (_, rows, skipRows) => {
    const book = await workbookOf(rows);
    await expect(made('t.xlsx', book)).rejects.toMatchObject({
      code: 'table-header',
      message: `sheet "Sheet1", row 1: titles or notes precede the header in row ${skipRows + 1}`,
      hint: expect.stringContaining(`\`skipRows: ${skipRows}\``),
    });
    expect(await textOf('t.xlsx', book, { table: [{ skipRows }] })).toBe('name,n\nx,1\n');
  });

  it.each<[string, Value[][]]>([
    ['one', [['Visitors'], ['name', 'n'], ['x', 1]]],
    ['with a line break, above a blank row', [['Visitors\nof 2026'], [], ['name', 'n'], ['x', 1]]],
    ['not in the first column, below blank rows', [[], [], [null, 'Visitors'], ['2026'], ['name', 'n'], ['x', 1]]],
  ])('has titles left out where the file is fixed, as those of a text: %s', async (_, rows) => {
    const book = await workbookOf(rows);
    const table = await made('t.xlsx', book, { mend: 'safe' });
    expect(table).toMatchObject({ text: 'name,n\nx,1\n', fixes: ['the rows above the header are left out'] });
  });

  it('is left to a person where it is not clear which row is the header, with what to set', async () => {
    const rows: Value[][] = [[], ['Visitors'], [], ['name', 'kind'], ['x', 'y']];
    for (const details of [{}, { mend: 'safe' as const }])
      await expect(made('t.xlsx', await workbookOf(rows), details)).rejects.toMatchObject({
        code: 'table-header',
        message: expect.stringContaining('sheet "Sheet1", row 2: the table is ambiguous'),
        hint: expect.stringContaining('`skipRows: 3` or `skipRows: 1`'),
      });
    const one = await made('t.xlsx', await workbookOf(rows), { skipRows: 3 });
    expect(one).toMatchObject({ text: 'name,kind\nx,y\n' });
  });

  it('with titles of several cells says what to do, and takes `skipRows` beside `table`', async () => {
    const rows: Value[][] = [
      ['Visitors', null, null, 'as of May'],
      ['id', 'name', 'n', 'm', 'k'],
      [1, 'x', 2, 3, 4],
    ];
    const book = await workbookOf(rows);
    await expect(made('t.xlsx', book)).rejects.toMatchObject({
      code: 'table-header',
      message: 'sheet "Sheet1", row 1, column B: the header cell is empty',
      hint: expect.stringContaining('such as `skipRows: 2`'),
    });
    expect(await textOf('t.xlsx', book, { skipRows: 1 })).toBe('id,name,n,m,k\n1,x,2,3,4\n');
  });

  it('tells blank rows that are left out, and refuses a table that follows them', async () => {
    const rows: Value[][] = [['animal', 'count'], ['cat', 5], [], ['dog', 8]];
    expect(await made('t.xlsx', await workbookOf(rows))).toMatchObject({ fixes: ['blank rows are left out'] });
    const another: Value[][] = [...rows, [], ['country', 'gdp'], ['NO', 1], ['SE', 2]];
    expect(await faultOf(await workbookOf(another))).toMatchObject({
      code: 'table-header',
      line: 6,
      message: expect.stringContaining('sheet "Sheet1", row 6: a row of names follows a blank row'),
    });
  });

  it.each<[string, Value[][], string]>([
    ['an empty column and blank rows above', [[], [null, 'a', 'a'], [null, 1, 2]], 'sheet "Sheet1", row 2, column C: '],
    [
      'a line break in the header',
      [
        ['n', 'x\ny', 'n'],
        [1, 2, 3],
      ],
      'sheet "Sheet1", row 1, column C: ',
    ],
  ])('gives faults their place in the sheet: %s', async (_, rows, place) => {
    expect(await faultOf(await workbookOf(rows))).toMatchObject({ message: expect.stringContaining(place) });
  });

  it('is refused where a column without a name gets a value further down', async () => {
    const rows: Value[][] = Array.from({ length: 3000 }, (_, row) => [row === 2500 ? 7 : null, row === 0 ? 'a' : row]);
    await expect(made('t.xlsx', await workbookOf(rows))).rejects.toMatchObject({
      code: 'table-header',
      message: expect.stringContaining('row 2501 has a value below it'),
    });
  });

  it('is no table where no sheet has values: such a file is published as it is', async () => {
    const options: WorkbookOptions = { more: { Two: [[null]] } };
    expect(await made('t.xlsx', await workbookOf([], options))).toMatchObject({ kind: 'as-is' });
  });
});

describe('the limits of a workbook', () => {
  it('keep its sheets few, and read a part once however many sheets share it', async () => {
    const sheets = (count: number): string =>
      `<workbook xmlns:r="r"><sheets>${Array.from({ length: count }, (_, at) => `<sheet name="S${at}" r:id="rId1"/>`).join('')}</sheets></workbook>`;
    const empty = `<worksheet><sheetData>${'<row><c s="1"/></row>'.repeat(100_000)}</sheetData></worksheet>`;
    const shared = await bookOf(empty, { 'xl/workbook.xml': sheets(900) });
    expect(await made('t.xlsx', shared)).toMatchObject({
      kind: 'as-is',
      why: expect.stringContaining('"S9" and 890 more'),
    });
    await expect(made('t.xlsx', await bookOf(empty, { 'xl/workbook.xml': sheets(3000) }))).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('more than 1,000 sheets'),
    });
  });

  it('bound the time of any table, and free its thread', async () => {
    const rows = Array.from({ length: 400_000 }, (_, row) => `${row},x\n`);
    await expect(
      made('t.csv', `a,b\n${rows.join('')}`, { table: [{ sort: ['b'] }] }, { mostMs: 10 }),
    ).rejects.toMatchObject({
      code: 'table-input',
      message: expect.stringContaining('takes too long'),
    });
    expect(await textOf('t.csv', 'b,a\n1,2\n', { table: [{ select: ['a'] }] })).toBe('a\n2\n');
  });

  it('let tables of one manifest wait for each other, not those of others', async () => {
    const dir = tempDir();
    const module = join(dir, 'step.mjs');
    writeFileSync(module, 'export async function* transform() { await new Promise(() => {}); }');
    const stop = new AbortController();
    const bad = Array.from({ length: 4 }, () =>
      made('t.csv', 'a\n1\n', { table: [{ transform: module }] }, { manifest: 'bad', signal: stop.signal }),
    );
    const ended = Promise.allSettled(bad);
    expect(await textOf('t.csv', 'b,a\n1,2\n', { table: [{ select: ['a'] }] }, { manifest: 'good' })).toBe('a\n2\n');
    stop.abort(new Error('stopped'));
    expect((await ended).map(({ status }) => status)).toEqual(bad.map(() => 'rejected'));
  });
});

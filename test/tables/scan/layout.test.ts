import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { findLayout } from '../../../src/tables/scan/layout.ts';
import { readTable } from '../../../src/tables/scan/reader.ts';
import { draws, fc } from '../../support/extent.ts';

/** Cells of everything that could mislead: delimiters, quotes, line breaks, spaces, letters beyond ASCII. */
const text = (letters: readonly string[]) => fc.string({ unit: fc.constantFrom(...letters), maxLength: 7 });
const misleading = ['a', 'b', '1', ' ', 'é', '日', ',', ';', '\t', '|', '"', "'", '\n', '\r\n', '.', '=', '#'];

/** Dialects that are detected from the bytes, and how their cells are quoted. */
const claimed = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  style: fc.constantFrom(
    { quote: '"', escape: '"', quoted: false, letters: [...misleading, '\\'] },
    { quote: '"', escape: '"', quoted: true, letters: [...misleading, '\\'] },
    { quote: '"', escape: '\\', quoted: true, letters: misleading },
    { quote: "'", escape: "'", quoted: true, letters: misleading },
  ),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  bom: fc.boolean(),
});

const tables = (letters: readonly string[]) =>
  fc
    .integer({ min: 2, max: 5 })
    .chain((width) =>
      fc.array(fc.array(text(letters), { minLength: width, maxLength: width }), { minLength: 2, maxLength: 9 }),
    );

const readBack = async (bytes: Buffer, layout: ReturnType<typeof findLayout>): Promise<string[][]> => {
  const rows: string[][] = [];
  for await (const batch of readTable([bytes], layout.dialect)) rows.push(...batch);
  return rows;
};

describe('a table in a dialect that is detected', () => {
  it('is read back as it was written, whatever is in its cells', async () => {
    const cases = claimed.chain((how) => fc.tuple(fc.constant(how), tables(how.style.letters)));
    await fc.assert(
      fc.asyncProperty(cases, async ([{ delimiter, style, end, bom }, table]) => {
        const written = stringify(table, {
          delimiter,
          quote: style.quote,
          escape: style.escape,
          quoted: style.quoted,
          quoted_empty: style.quoted,
          quoted_match: /[,;\t|"'\r\n]/,
          record_delimiter: end,
        });
        const bytes = Buffer.from(written);
        const layout = findLayout(bytes, true);
        expect(await readBack(bom ? Buffer.concat([Buffer.from('\ufeff'), bytes]) : bytes, layout)).toEqual(table);
      }),
      { numRuns: draws(1500) },
    );
  });

  it.each([
    ['titles of one cell', 'Report 2026\nby the city\nid,name,amount\n1,a,2\n2,b,3\n', ',', 2],
    ['a title and a blank line above two columns', 'Report\n\nid;name\n1;a\n2;b\n', ';', 1],
    ['the line of Excel for another delimiter', 'sep=|\r\na,b|c\r\n1,2|3\r\n', '|', 1],
    ['no title: a table of one column with lists in it', 'tags\na;b\nc;d\n', ',', 0],
    ['no title: a short header', 'id,name\n1,a,2\n2,b,3\n', ',', 0],
    ['no title: one word above values', 'amount,,\n1,2,3\n4,5,6\n', ',', 0],
  ])('is distinguished from what is above it: %s', (_, content, delimiter, titleRows) => {
    expect(findLayout(Buffer.from(content), true)).toMatchObject({ dialect: { delimiter }, titleRows });
  });
});

describe('the ways to read an ambiguous table', () => {
  it('count the line of Excel for another delimiter', () => {
    const { candidates } = findLayout(Buffer.from('sep=;\na;b\n\nid;name\nx;a\ny;b\n'), true);
    expect(candidates).toEqual([
      { key: 'skipRows: 1', reads: 'a | b' },
      { key: 'skipRows: 3', reads: 'id | name' },
    ]);
  });
});

const delimiterOf = (text: string): string => findLayout(Buffer.from(text), true).dialect.delimiter;

describe('the delimiter is detected from the head of a file', () => {
  it.each([
    ['comma', 'a,b,c\n1,2,3\n', ','],
    ['semicolon with decimal commas', 'name;price\nx;1,5\ny;2,25\n', ';'],
    ['tab with commas in the text', 'a\tb\nx, y, z\t1\np, q\t2\n', '\t'],
    ['vertical bar', 'a|b\n1|2\n', '|'],
    ['semicolon although quoted cells are full of commas', '"a";"b"\n"x,y,z";"1,2,3"\n', ';'],
    ['comma although a row is too short', 'a,b,c\n1,2\n4,5,6\n', ','],
    ['comma for a table of one column', 'name\nAnn\nBob\n', ','],
    ['semicolon with CR line ends', 'a;b\r1;2\r', ';'],
    ['comma for an empty file', '', ','],
  ])('%s', (_, text, delimiter) => {
    expect(delimiterOf(text)).toBe(delimiter);
  });

  it('does not count the row that the end of the head cuts', () => {
    const head = Buffer.from('a;b;c\n1;2;3\n4,5,6,7');
    expect(findLayout(head, false).dialect.delimiter).toBe(';');
  });
});

import { describe, expect, it } from 'vitest';
import { TableFaultError } from '../../../src/model/errors.ts';
import { rfc4180, type TableDialect } from '../../../src/tables/scan/dialect.ts';
import { readTable } from '../../../src/tables/scan/reader.ts';

const bytes = (text: string | Buffer): Buffer => (typeof text === 'string' ? Buffer.from(text) : text);

/** Cuts a text into chunks of `size` bytes. */
function* inChunks(content: string | Buffer, size: number): Generator<Buffer> {
  const all = bytes(content);
  const first = Math.max(4, size); // as of a file, of which a byte order mark is never cut
  yield all.subarray(0, first);
  for (let at = first; at < all.length; at += size) yield all.subarray(at, at + size);
}

const rowsOf = async (
  content: string | Buffer,
  dialect: Partial<TableDialect> = {},
  size = 1 << 16,
  options: { rowBytes?: number } = {},
): Promise<string[][]> => {
  const rows: string[][] = [];
  for await (const batch of readTable(inChunks(content, size), { ...rfc4180, ...dialect }, options)) {
    rows.push(...batch);
  }
  return rows;
};

const faultOf = async (...args: Parameters<typeof rowsOf>): Promise<TableFaultError> => {
  const error = await rowsOf(...args).then(
    () => new Error('the table was read without a fault'),
    (e: unknown) => e,
  );
  if (!(error instanceof TableFaultError)) throw error;
  return error;
};

const placeOf = ({ code, line, column }: TableFaultError) => ({ code, line, column });

describe('a table is read by RFC 4180 and every byte is kept', () => {
  it('keeps spaces, backslashes and empty cells as they are', async () => {
    expect(await rowsOf('a,b,c\n  1  ,C:\\dir,\n"",x\\,2\n')).toEqual([
      ['a', 'b', 'c'],
      ['  1  ', 'C:\\dir', ''],
      ['', 'x\\', '2'],
    ]);
  });

  it('keeps delimiters, quotes and line breaks inside quoted cells', async () => {
    expect(await rowsOf('a,b\r\n"x, y","say ""hi""\r\nthere"\r\n')).toEqual([
      ['a', 'b'],
      ['x, y', 'say "hi"\r\nthere'],
    ]);
  });

  it.each([['\n'], ['\r\n'], ['\r']])('accepts %j as line end, also without one after the last row', async (end) => {
    expect(await rowsOf(`a,b${end}1,2${end}3,4`)).toEqual([
      ['a', 'b'],
      ['1', '2'],
      ['3', '4'],
    ]);
  });

  it('skips blank lines below the header', async () => {
    expect(await rowsOf('a,b\n\n1,2\n\n\n3,4\n\n')).toHaveLength(3);
  });

  it('skips a byte order mark', async () => {
    expect(await rowsOf('\ufeffa,b\n1,2\n', {}, 1)).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('reads the same rows however the bytes are cut, also inside a character', async () => {
    const text = 'näme,日本\r\n"😀 ""x""\r\n",ü\r\n\r\nß,"é,é"\r\n';
    const whole = await rowsOf(text);
    for (const size of [1, 2, 3, 5, 7]) expect(await rowsOf(text, {}, size)).toEqual(whole);
  });

  it('accepts another delimiter, quote and escape', async () => {
    expect(await rowsOf("a;b\n'x;y';'it\\'s'\n", { delimiter: ';', quote: "'", escape: '\\' })).toEqual([
      ['a', 'b'],
      ['x;y', "it's"],
    ]);
  });

  it('reads quotes as text where nothing is quoted', async () => {
    expect(await rowsOf('a\tb\n5" pipe\t"x"\n', { delimiter: '\t', quote: '' })).toEqual([
      ['a', 'b'],
      ['5" pipe', '"x"'],
    ]);
  });

  it('drops the cell after the last delimiter where every row ends with one', async () => {
    expect(await rowsOf('a,b,\n1,2,\n', { trailingDelimiter: true })).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
    const fault = await faultOf('a,b,\n1,2,\n1,2,3\n', { trailingDelimiter: true });
    expect(placeOf(fault)).toEqual({ code: 'table-ragged', line: 3, column: 3 });
  });
});

describe('a fault is reported with its code, line and column', () => {
  it.each([
    ['a short row', 'a,b,c\n1,2,3\n4,5\n', { code: 'table-ragged', line: 3, column: undefined }],
    ['a long row', 'a,b\n1,2,3\n4,5\n', { code: 'table-ragged', line: 2, column: undefined }],
    [
      'a short row behind cells with CRLF in them',
      'a,b\r\n"1\r\n2\r\n3",4\r\n5\r\n',
      { code: 'table-ragged', line: 5, column: undefined },
    ],
    ['a short row that itself spans lines', 'a,b\n1,2\n"x\ny"\n', { code: 'table-ragged', line: 3, column: undefined }],
    ['a quote that is never closed', 'a,b\n1,2\n3,"open\n5,6\n7,8\n', { code: 'table-quote', line: 3, column: 2 }],
    [
      'a quote that the next quoted cell closes',
      'a,b\n"open,2\n3,4\n"x",6\n',
      { code: 'table-quote', line: 2, column: 1 },
    ],
    ['text behind a closing quote', 'a,b\n1,"x"y\n', { code: 'table-quote', line: 2, column: 2 }],
    ['a quote inside a plain cell', 'a,b\n1,5" pipe\n', { code: 'table-quote', line: 2, column: 2 }],
    ['a space before an opening quote', 'a,b\n1, "x"\n', { code: 'table-quote', line: 2, column: 2 }],
    ['an empty file', '', { code: 'table-empty', line: 1, column: undefined }],
    ['a file of line breaks', '\n\r\n\n', { code: 'table-empty', line: 1, column: undefined }],
    ['a file of a byte order mark', '\ufeff', { code: 'table-empty', line: 1, column: undefined }],
    ['a blank first line', '\na,b\n1,2\n', { code: 'table-header', line: 1, column: undefined }],
    ['a NUL byte', 'a,b\n1,2\n1,\u00002\n', { code: 'table-encoding', line: 3, column: 2 }],
    ['a Latin-1 byte', Buffer.from('a,b\n1,M\xfcller\n', 'latin1'), { code: 'table-encoding', line: 2, column: 2 }],
    [
      'a character that is cut off at the end',
      Buffer.from('a,b\n1,\xe6\x97', 'latin1'),
      { code: 'table-encoding', line: 2, column: 2 },
    ],
    [
      'UTF-16 with a mark',
      Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'),
      { code: 'table-encoding', line: 1, column: undefined },
    ],
    [
      'UTF-16 without a mark',
      Buffer.from('a,b\n1,2\n', 'utf16le'),
      { code: 'table-encoding', line: 1, column: undefined },
    ],
  ])('%s', async (_, content, place) => {
    expect(placeOf(await faultOf(content))).toEqual(place);
    expect(placeOf(await faultOf(content, {}, 1))).toEqual(place);
  });

  it('names an encoding of two or four bytes a character', async () => {
    expect((await faultOf(Buffer.from([0xfe, 0xff, 0, 0x61]))).message).toContain('UTF-16');
    expect((await faultOf(Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]))).message).toContain('UTF-32');
  });

  it('says how many cells were found and how many were expected', async () => {
    const fault = await faultOf('a,b,c\n1,2\n');
    expect(fault.message).toBe('line 2: the row has 2 cells, the header has 3');
    expect(fault.hint).toContain('a missing delimiter');
  });

  it('names the byte that is not UTF-8 and what it is in Windows-1252', async () => {
    const fault = await faultOf(Buffer.from('a,b\nM\xfcller,2\n', 'latin1'));
    expect(fault.message).toContain('byte 6 of the file is 0xFC');
    expect(fault.message).toContain('"ü"');
    expect(fault.hint).toContain('UTF-8');
  });

  it('names the line where a quote opened and the line where it went wrong', async () => {
    const fault = await faultOf('a,b\n"open,2\n3,4\n"x",6\n');
    expect(fault.message).toContain('line 2, column 1');
    expect(fault.message).toContain('runs on to line 4');
  });

  it('stops at a row over the limit and names the quote that is still open', async () => {
    const rows = '1,2\n'.repeat(500);
    const fault = await faultOf(`a,b\n1,"open\n${rows}`, {}, 128, { rowBytes: 1000 });
    expect(placeOf(fault)).toEqual({ code: 'table-oversize', line: 2, column: 2 });
    const wide = await faultOf(`a,b\n1,2\n1,${'x'.repeat(2000)}\n`, {}, 128, { rowBytes: 1000 });
    expect(placeOf(wide)).toEqual({ code: 'table-oversize', line: 3, column: undefined });
  });

  it('yields the sound rows before the fault first', async () => {
    const seen: string[][] = [];
    const read = async () => {
      for await (const batch of readTable([bytes('a,b\n1,2\n3\n')], rfc4180)) seen.push(...batch);
    };
    await expect(read()).rejects.toMatchObject({ code: 'table-ragged', line: 3 });
    expect(seen).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('never shows what is in the rows', async () => {
    for (const content of ['a,b\nsecret\n', 'a,b\n"secret\n', 'a,b\nsecret"x,2\n', 'a,b\n"secret"x,2\n']) {
      const fault = await faultOf(content);
      expect(`${fault.message} ${fault.hint}`).not.toContain('secret');
    }
  });
});

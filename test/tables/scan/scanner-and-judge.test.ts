import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { TableFaultError } from '../../../src/model/errors.ts';
import { CellScanner } from '../../../src/tables/scan/cell-scanner.ts';
import { rfc4180, type TableDialect } from '../../../src/tables/scan/dialect.ts';
import { readTable } from '../../../src/tables/scan/reader.ts';
import { draws, fc } from '../../support/extent.ts';

function* inChunks(content: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

type Verdict = { code: string; line?: number } | { rows: string[][] };

const read = async (text: string, dialect: TableDialect, size: number): Promise<Verdict> => {
  const rows: string[][] = [];
  try {
    for await (const batch of readTable(inChunks(Buffer.from(text), size), dialect)) rows.push(...batch);
    return { rows };
  } catch (error) {
    if (error instanceof TableFaultError) return { code: error.code };
    throw error;
  }
};

const codes: Record<string, string> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: 'table-ragged',
  CSV_QUOTE_NOT_CLOSED: 'table-quote',
  CSV_INVALID_CLOSING_QUOTE: 'table-quote',
  INVALID_OPENING_QUOTE: 'table-quote',
};

/** What csv-parse says about the same text. */
const judged = (text: string, { delimiter, quote, escape: by }: TableDialect): Verdict => {
  try {
    const record_delimiter = ['\r\n', '\n', '\r'];
    const how = { delimiter, quote: quote === '' ? null : quote, escape: quote === '' ? null : by };
    return { rows: parse(text, { ...how, skip_empty_lines: true, record_delimiter }) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { code: codes[code] ?? `unknown ${code}` };
  }
};

const dialects = fc
  .record({
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    quote: fc.constantFrom('"', '"', "'", ''),
    escape: fc.constantFrom('same', 'same', '\\'),
  })
  .map(({ delimiter, quote, escape: by }): TableDialect => {
    return { ...rfc4180, delimiter, quote, escape: by === 'same' ? quote : by };
  });

/** Text of the pieces that matter in a dialect, most of them in an order that is wrong. */
const brokenText = ({ delimiter: d, quote: q, escape: e }: TableDialect): fc.Arbitrary<string> =>
  fc
    .array(
      fc.constantFrom('a', 'ü', ' ', d, q, e, '\n', '\r', '\r\n', `a${d}a\n`, `${q}a${q}${d}a\n`, `${q}${q}`, ';', ','),
      { maxLength: 24 },
    )
    .map((pieces) => `a${d}a\n${pieces.join('')}`);

describe('the scanner and csv-parse', () => {
  it('agree on verdict, rows and cells of texts that are broken in every way', async () => {
    const cases = dialects.chain((dialect) =>
      fc.tuple(fc.constant(dialect), brokenText(dialect), fc.integer({ min: 1, max: 40 })),
    );
    let [sound, faulty] = [0, 0];
    await fc.assert(
      fc.asyncProperty(cases, async ([dialect, text, size]) => {
        const judge = judged(text, dialect);
        if ('rows' in judge) sound += 1;
        else faulty += 1;
        expect(await read(text, dialect, size)).toEqual(judge);
      }),
      { numRuns: draws(5000) },
    );
    expect(Math.min(sound, faulty)).toBeGreaterThan(draws(500));
  });

  it('agree on tables that csv-stringify writes in any dialect, and on the cells that were written', async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.string({
        unit: fc.constantFrom('a', '1', '"', "'", ',', ';', '\t', '|', '\n', '\r', ' ', '\\', 'é'),
        maxLength: 8,
      }),
    );
    const tables = fc
      .integer({ min: 2, max: 4 })
      .chain((width) =>
        fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 6 }),
      );
    const quoting = dialects.filter(({ quote }) => quote !== '');
    await fc.assert(
      fc.asyncProperty(
        tables,
        quoting,
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        async (table, dialect, end, quoted, size) => {
          const clean = table.map((row) =>
            row.map((value) => value.replaceAll('\0', '').toWellFormed().replaceAll('\ufeff', '')),
          );
          const { delimiter, quote, escape: by } = dialect;
          const quoted_match = by === quote ? /[\n\r]/ : /[\n\r\\]/;
          const text = stringify(clean, { delimiter, quote, escape: by, record_delimiter: end, quoted, quoted_match });
          const judge = judged(text, dialect);
          expect(await read(text, dialect, size)).toEqual(judge);
          expect(judge).toEqual({ rows: clean });
        },
      ),
      { numRuns: draws(2000) },
    );
  });
});

describe('cells of texts that are broken in every way', () => {
  const cellsOf = (text: string, dialect: TableDialect, size: number): string[][] => {
    const scanner = new CellScanner(dialect, 1e6);
    const found: string[][] = [];
    const take = (): void => {
      for (let row = 0; row < scanner.rows; row++) {
        const cells = Array.from({ length: scanner.width(row) }, (_, at) => scanner.firstCell(row) + at);
        found.push(cells.map((cell) => scanner.bytes.toString('utf8', scanner.starts[cell], scanner.ends[cell])));
      }
    };
    for (const chunk of inChunks(Buffer.from(text), size)) {
      scanner.feed(chunk);
      take();
    }
    scanner.finish();
    take();
    return found;
  };

  it('end with the text, where a quote is never closed', () => {
    const rows = [
      ['a', 'b'],
      ['1', '"x', 'y', 'z'],
    ];
    for (const size of [1, 3, 100]) expect(cellsOf('a,b\n1,"x,y,z', rfc4180, size)).toEqual(rows);
  });

  it('are the same however the bytes are cut', () => {
    const delimiters = fc.constantFrom(null, null, null, ' ');
    const spaced = fc
      .tuple(dialects, delimiters)
      .map(([dialect, by]) => (by ? { ...dialect, delimiter: by } : dialect));
    const cases = spaced.chain((dialect) =>
      fc.tuple(fc.constant(dialect), brokenText(dialect), fc.integer({ min: 1, max: 12 })),
    );
    fc.assert(
      fc.property(cases, ([dialect, text, size]) => {
        expect(cellsOf(text, dialect, size)).toEqual(cellsOf(text, dialect, text.length * 4));
      }),
      { numRuns: draws(2000) },
    );
  });
});

// What holds for every table: the same input and steps give the same bytes, and no value is lost on the way.

import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { draws, fc } from '../../support/extent.ts';
import { made, textOf } from './support/made.ts';
import { workbookOf } from './support/workbook.ts';
import { zipOf } from './support/zip.ts';

const cell = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('', '"', '""', ',', ';', 'a\nb', 'a\r\nb', ' x ', '0', '-1.5', 'ü', '😀', '=1+1'),
  fc.integer().map(String),
);
// NUL is no text, and a lone CR or byte order mark is written differently by different programs.
const clean = cell.map((text) => text.replaceAll(/[\0\r\ufeff]/g, ''));
const tables = fc
  .integer({ min: 2, max: 5 })
  .chain((width) => fc.array(fc.array(clean, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 30 }));
const header = (width: number): string[] => Array.from({ length: width }, (_, index) => `c${index}`);

const readBack = (text: string): string[][] => parse(text) as string[][];

describe('any table', () => {
  it('written with any delimiter is the same as canonical CSV', async () => {
    await fc.assert(
      fc.asyncProperty(tables, fc.constantFrom(',', ';', '\t', '|'), fc.boolean(), async (rows, delimiter, crlf) => {
        const whole = [header(rows[0]?.length ?? 0), ...rows];
        const text = stringify(whole, { delimiter, record_delimiter: crlf ? '\r\n' : '\n', quoted: true });
        const step = { delimiter: delimiter === '\t' ? 'tab' : delimiter };
        const made = await textOf('t.csv', text, { table: [step] });
        expect(readBack(made)).toEqual(whole);
        expect(await textOf('t.csv', made, { table: [{ delimiter: ',' }] })).toBe(made);
      }),
      { numRuns: draws(100) },
    );
  });

  it('is the same from gzip, archive, workbook and JSON', async () => {
    await fc.assert(
      fc.asyncProperty(tables, async (rows) => {
        const names = header(rows[0]?.length ?? 0);
        // XML cannot hold all control characters, and rows without anything to see are none in a workbook.
        const plain = rows
          // biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
          .map((cells) => cells.map((text) => text.replaceAll(/[\u0000-\u001f\ufffe\uffff]|_x/g, '')))
          .filter((cells) => cells.some((text) => text.trim() !== ''));
        const csv = stringify([names, ...plain]);
        const objects = plain.map((cells) => Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])));
        const expected = await textOf('t.csv.gz', gzipSync(csv));
        expect(await textOf('t.zip', await zipOf({ 't.csv': csv }))).toBe(expected);
        expect(await textOf('t.xlsx', await workbookOf([names, ...plain]))).toBe(expected);
        if (objects.length === 0) return;
        expect(await textOf('t.json', JSON.stringify(objects))).toBe(expected);
        expect(await textOf('t.ndjson', objects.map((row) => JSON.stringify(row)).join('\n'))).toBe(expected);
      }),
      { numRuns: draws(60) },
    );
  });
});

const names = ['c0', 'c1', 'c2', 'new'] as const;
const step: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }).map((select) => ({ select })),
  fc.constantFrom(...names).map((name) => ({ drop: [name] })),
  fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)).map(([from, to]) => ({ rename: { [from]: to } })),
  fc.constantFrom('c0 > 1', 'empty(c1)', 'c0 contains "a" or c1 != ""', 'length(c0) < 5').map((filter) => ({ filter })),
  fc
    .tuple(fc.constantFrom(...names), fc.constantFrom('integer', 'number', 'boolean', 'date', 'text'))
    .map(([name, to]) => ({ cast: { [name]: to } })),
  fc.record({ cell: fc.constantFrom('', '0', '"'), with: fc.string() }).map((replace) => ({ replace })),
  fc.constantFrom(...names).map((name) => ({ fill: { in: [name], from: 'above' } })),
  fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }).map((dedupe) => ({ dedupe })),
  fc.string().map((value) => ({ constant: { new: value } })),
  fc
    .constantFrom('c0 & c1', 'c0 + 1', 'upper(c1)', 'round(c0, 1)')
    .map((computed) => ({ computed: { new: computed } })),
  fc.constantFrom(...names).map((name) => ({ sort: [name] })),
);

describe('the same input and the same steps', () => {
  it('give the same bytes, or the same error, every time', async () => {
    let tablesMade = 0;
    await fc.assert(
      fc.asyncProperty(tables, fc.array(step, { maxLength: 5 }), async (rows, table) => {
        const text = stringify([header(rows[0]?.length ?? 0), ...rows]);
        const once = async (): Promise<unknown> => {
          const details = { table, badRows: 'quarantine', maxBadRows: '100%' } as const;
          const result = await made('t.csv', text, details).catch((error: { code: string; message: string }) => error);
          if (!('kind' in result)) return { code: result.code, message: result.message };
          tablesMade++;
          return result;
        };
        const first = await once();
        expect(first).not.toMatchObject({ code: undefined });
        expect(await once()).toEqual(first);
      }),
      { numRuns: draws(150) },
    );
    expect(tablesMade).toBeGreaterThan(draws(50));
  });
});

// Whatever a spreadsheet writes is read back, with every row at its line.
import { stringify } from 'csv-stringify/sync';
import { expect, it } from 'vitest';
import { readIndex } from '../../../src/sources/index/index-rows.ts';
import { draws, fc } from '../../support/extent.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { writeText } from '../../support/yaml-file.ts';

const dir = tempDir();
/** Text of cells: quotes, delimiters, line ends, other scripts. */
const cell = fc
  .array(fc.oneof(fc.constantFrom('"', ',', ';', '\t', '|', '\n', '\r\n', 'a', ' ', 'ü', '数'), fc.string()), {
    maxLength: 6,
  })
  .map((parts) =>
    parts
      .join('')
      .replaceAll('\0', '')
      .replaceAll(/\r(?!\n)/g, '')
      .replace(/[\uD800-\uDFFF]/g, ''),
  );

it('reads what csv-stringify writes, by any delimiter, line end and quoting', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }),
      fc.record({
        delimiter: fc.constantFrom(',', ';', '\t', '|'),
        record_delimiter: fc.constantFrom('\n', '\r\n'),
        quoted: fc.boolean(),
        bom: fc.boolean(),
      }),
      async (rows, options) => {
        const head = ['dataset', 'title', 'file'];
        const text = stringify([head, ...rows], { ...options, quoted_empty: true, quoted_match: /[\r\n]/ });
        const file = writeText(dir, 'list.csv', text);
        const read = await readIndex(file, () => false);
        expect(read.headings).toEqual(head);
        const wanted = rows
          .map((row) => row.map((value) => value.trim()))
          .filter((row) => row.some((value) => value !== ''));
        expect(read.rows.map(({ fault }) => fault)).toEqual(wanted.map(() => null));
        const got = read.rows.map(({ cells }) =>
          head.map((name) => cells.find(({ heading }) => heading === name)?.value ?? ''),
        );
        expect(got).toEqual(wanted);
        const before = (count: number): string =>
          stringify([head, ...rows.slice(0, count)], { ...options, quoted_empty: true, quoted_match: /[\r\n]/ });
        const places = rows.map((row, index) => ({ row, line: before(index).split('\n').length }));
        const filled = places.filter(({ row }) => row.some((value) => value.trim() !== ''));
        expect(read.rows.map(({ line }) => line)).toEqual(filled.map(({ line }) => line));
      },
    ),
    { numRuns: draws(150) },
  );
});

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixFile } from '../../../src/tables/fix/fix-worker.ts';
import type { Finding } from '../../../src/tables/inspect/finding.ts';
import { inspectFile } from '../../../src/tables/inspect/inspect-file.ts';
import { defaultRowBytes } from '../../../src/tables/scan/dialect.ts';
import { cases, draws, fc } from '../../support/extent.ts';
import { tempDir } from '../../support/temp-dir.ts';

const dir = tempDir();
const cancelled = new Int32Array(new SharedArrayBuffer(4));
const [source, target] = [join(dir, 'source.csv'), join(dir, 'target.csv')];

const inspect = (path: string) => inspectFile({ path, rowBytes: defaultRowBytes, cancelled });

/** Fixes a file with this content where every fault has a mend; tells the verdict and what came of it. */
const mended = (content: Buffer) => {
  rmSync(target, { force: true });
  writeFileSync(source, content);
  const inspection = inspect(source);
  if (inspection.verdict === 'faulty') return { verdict: inspection.verdict, answer: null };
  const separator = inspection.delimiter;
  const answer = fixFile({ path: source, target, rowBytes: defaultRowBytes, separator, inspection, cancelled });
  return { verdict: inspection.verdict, answer };
};

/** A row that equals the header only since it was mended is reported, but was not left out: the file did not hold it. */
const leftToMend = ({ kind, mend }: Finding): boolean => mend !== null && kind !== 'repeated-header';

const words = fc.constantFrom(
  'Ann',
  'Bob',
  '12',
  '3.5',
  '',
  'x y',
  'Größe',
  'n/a',
  '2026-01-31',
  '"q, r"',
  '"s ""t"""',
  '7',
);

/** Ways in which people spoil a line of a table. */
const spoilers: ((line: string) => string)[] = [
  (line) => line,
  (line) => line,
  (line) => `${line},`,
  (line) => `${line},,`,
  (line) => line.replace('Ann', '"Ann'),
  (line) => line.replace('Bob', '"Bob "B" C"'),
  (line) => line.replace('x y', 'x" y'),
  (line) => line.replace('Ann', 'A\0nn'),
  (line) => line.replace('Bob', 'B\u0007ob'),
  (line) => line.replace(/[^,]/g, ''),
  (line) => `\n${line}`,
  (line) => `${line}\r`,
];

const spoiltTables = fc
  .record({
    width: fc.integer({ min: 1, max: 4 }),
    header: fc.array(fc.constantFrom('id', 'name', 'Name', '', 'größe', '日本', ' day ', 'long'.repeat(20)), {
      minLength: 4,
      maxLength: 4,
    }),
    rows: fc.array(fc.tuple(fc.array(words, { minLength: 4, maxLength: 4 }), fc.constantFrom(...spoilers)), {
      maxLength: 8,
    }),
    above: fc.constantFrom('', '', '\ufeff', 'A title of it\n', 'A title\n\n', '\n'),
    below: fc.constantFrom('', '', 'Source: the city\n', '\n\nA note below\n'),
    encoding: fc.constantFrom('utf8', 'utf8', 'latin1', 'utf16le'),
  })
  .map(({ width, header, rows, above, below, encoding }) => {
    const lines = rows.map(([cells, spoil]) => spoil(cells.slice(0, width).join(',')));
    const text = `${above}${[header.slice(0, width).join(','), ...lines].join('\n')}\n${below}`;
    return Buffer.from(text, encoding as BufferEncoding); // one of those above
  });

const pieces = fc.constantFrom(
  'a',
  'ü',
  ',',
  ';',
  '"',
  "'",
  '\\',
  '\n',
  '\r',
  '\r\n',
  ' ',
  '\0',
  '\t',
  '1',
  '',
  'a,b\n',
);
const scraps = fc.array(pieces, { maxLength: 30 }).map((parts) => Buffer.from(parts.join('')));

describe('a file that was fixed', () => {
  it('is sound and has nothing left to fix, whatever was done to it', () => {
    const seen = { sound: 0, mendable: 0, faulty: 0 };
    let unsure = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 3, arbitrary: spoiltTables }, { weight: 1, arbitrary: scraps }), (content) => {
        const { verdict, answer } = mended(content);
        seen[verdict] += 1;
        if (verdict === 'faulty') return;
        if (Array.isArray(answer)) {
          unsure += 1; // what is left could be read in another way, so nothing was written
          expect(existsSync(target)).toBe(false);
          return;
        }
        expect(answer).toHaveProperty('mends');
        const again = inspect(target);
        expect(again.verdict).toBe('sound');
        expect(again.findings.filter(leftToMend)).toEqual([]);
      }),
      { numRuns: draws(400) },
    );
    expect(unsure).toBeLessThan(30);
    expect(Math.min(seen.sound, seen.mendable, seen.faulty)).toBeGreaterThan(cases(10, 1));
  });

  it('stays as it is when it is fixed again', () => {
    fc.assert(
      fc.property(spoiltTables, (content) => {
        if (mended(content).verdict === 'faulty') return;
        if (inspect(target).findings.some(({ kind, mend }) => kind === 'repeated-header' && mend !== null)) return;
        const once = readFileSync(target);
        mended(once);
        expect(readFileSync(target).equals(once)).toBe(true);
      }),
      { numRuns: draws(120) },
    );
  });
});

// Tables as programs and people write them, read back: right, or refused, but never wrong and certain.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { expect, it } from 'vitest';
import { fixSafely } from '../../src/tables/fix/fix-worker.ts';
import { inspectFile } from '../../src/tables/inspect/inspect-file.ts';
import { defaultRowBytes, portalDelimiter } from '../../src/tables/scan/dialect.ts';
import { draws, fc } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';

const nouns = [
  'Ort',
  'Straße',
  'Wind',
  'Note',
  'Betrag',
  'Datum',
  'Zeit',
  'Typ',
  'Menge',
  'Kennung',
  'geo',
  'Local time',
];
const words = ['Ulm', 'Bad Ems', 'clear', 'Nord', 'x', 'Anna', 'Hoch', 'am See', 'rot'];

/** What columns hold; most hold one kind. Some texts hold commas, some numbers are written with one. */
const kinds: Record<string, fc.Arbitrary<string>> = {
  word: fc.constantFrom(...words),
  comma: fc.tuple(fc.constantFrom(...words), fc.constantFrom(...words)).map((two) => two.join(', ')),
  list: fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 3 }).map((some) => some.join(',')),
  point: fc.integer({ min: 1, max: 9999 }).map((n) => `${n / 100}`),
  decimal: fc.tuple(fc.nat(99), fc.integer({ min: 10, max: 99 })).map((two) => two.join(',')),
  pair: fc.tuple(fc.nat(89), fc.nat(179)).map(([lat, lon]) => `${lat}.5, ${lon}.5`),
  count: fc.nat(99999).map(String),
  day: fc.integer({ min: 10, max: 28 }).map((day) => `2021-05-${day}`),
  time: fc.integer({ min: 10, max: 23 }).map((hour) => `04.05.2021 ${hour}:00`),
  empty: fc.constantFrom('', 'Ulm'),
};

const table = fc.uniqueArray(fc.constantFrom(...nouns), { minLength: 2, maxLength: 6 }).chain((names) =>
  fc
    .tuple(...names.map(() => fc.constantFrom(...Object.values(kinds))))
    .chain((columns) => fc.array(fc.tuple(...columns.map((column) => column)), { minLength: 2, maxLength: 25 }))
    .filter((rows) => rows.every((row) => row.filter((cell) => cell !== '').length > 1))
    .map((rows) => ({ names, rows: rows.map((row) => [...row]) })),
);

const forms = fc.record({
  delimiter: fc.constantFrom(',', ';', ';', '\t', '|'),
  quotes: fc.constantFrom('needed', 'all', 'texts'),
  end: fc.constantFrom('\n', '\r\n'),
  titles: fc.constantFrom<string[]>([], [], [], ['Bericht'], ['Wetter, Bremen', ''], ['Stand 2021']),
  /** Delimiters behind every row but the header, or behind both. */
  surplus: fc.constantFrom([0, 0], [0, 0], [0, 1], [0, 2], [1, 1]),
  /** The header has a name too few, or one too many. */
  header: fc.constantFrom(0, 0, 0, 0, -1, 1),
  /** A comma in a name of the header. */
  hasComma: fc.boolean(),
});

interface Form {
  delimiter: string;
  quotes: string;
  end: string;
  titles: string[];
  surplus: readonly number[];
  header: number;
  hasComma: boolean;
}

interface Data {
  names: string[];
  rows: string[][];
}

/** The header as it is written. */
const headerOf = ({ names }: Data, { header, hasComma }: Form): string[] => {
  const all = names.map((name, at) => (at === 0 && hasComma ? `${name}, ${name} 2` : name));
  if (header < 0) return all.slice(0, -1);
  return header > 0 ? [...all, 'Rest'] : all;
};

const written = (data: Data, form: Form): string => {
  const { delimiter, quotes, end, titles, surplus } = form;
  const lines = (records: string[][], behind = 0): string =>
    stringify(records, {
      delimiter,
      quoted: quotes === 'all',
      quoted_string: quotes === 'texts',
      record_delimiter: `${delimiter.repeat(behind)}${end}`,
    });
  const above = titles.map((title) => `${title}${end}`).join('');
  return `${above}${lines([headerOf(data, form)], surplus[0])}${lines(data.rows, surplus[1])}`;
};

/** The table that a person sees in the file; null where rows and header do not fit each other. */
const seen = (data: Data, form: Form): string[][] | null => {
  const header = headerOf(data, form);
  const rows = data.rows.map((row) => [...row, ...Array.from({ length: form.surplus[1] ?? 0 }, () => '')]);
  const fits = rows.every(
    (row) => row.length >= header.length && row.slice(header.length).every((cell) => cell === ''),
  );
  return fits ? [header, ...rows.map((row) => row.slice(0, header.length))] : null;
};

const dir = tempDir();
const [path, target] = [join(dir, 'table.csv'), join(dir, 'fixed.csv')];
const cancelled = new Int32Array(new SharedArrayBuffer(8));

/** The table that goes live with `mend: safe`; null where it is refused. */
const live = (text: string): string[][] | null => {
  writeFileSync(path, text);
  const task = { path, rowBytes: defaultRowBytes, cancelled };
  const { verdict, delimiter } = inspectFile(task);
  rmSync(target, { force: true });
  const fixed = fixSafely(task, target);
  if (fixed === null && verdict !== 'sound') return null;
  return parse(readFileSync(fixed === null ? path : target), { delimiter: portalDelimiter(delimiter) });
};

it('a table is read as it was written, or refused', () => {
  const counts = { read: 0, refused: 0, plainRead: 0, plainRefused: 0, clearRefused: 0 };
  fc.assert(
    fc.property(table, forms, (data, form) => {
      const text = written(data, form);
      const found = live(text);
      const right = seen(data, form);
      const isPlain = form.titles.length === 0 && form.header === 0 && form.surplus[1] === 0 && !form.hasComma;
      counts[found === null ? 'refused' : 'read'] += 1;
      if (isPlain) counts[found === null ? 'plainRefused' : 'plainRead'] += 1;
      if (found === null && right !== null) counts.clearRefused += 1;
      if (found !== null) expect(found).toEqual(right);
    }),
    { numRuns: Number(process.env.READINGS ?? draws(2000)) },
  );
  if (process.env.READINGS !== undefined) process.stdout.write(`${JSON.stringify(counts)}\n`);
  expect(counts.plainRefused).toBeLessThan(counts.plainRead / 20);
  expect(counts.read).toBeGreaterThan(counts.refused);
});

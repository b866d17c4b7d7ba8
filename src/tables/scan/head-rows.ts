// The first rows of a table as its layout is judged by them, and what they say about the row that may be their header.
import { has, quoteFaults } from './byte-class.ts';
import { CellScanner } from './cell-scanner.ts';
import type { TableDialect } from './dialect.ts';
import { kindNumber, kindOf } from './value-kind.ts';

export interface HeadRow {
  line: number;
  cells: number;
  /** Empty cells at its end that are not in quotes. */
  tail: number;
  filled: number;
  faulty: boolean;
  quoted: number;
  /** True when the first cell has text with a space. */
  prose: boolean;
  sharp: boolean;
  /** A blank line is right above. */
  isApart: boolean;
  /** Of the first rows only: the kind of each cell, see `value-kind.ts`, and its beginning, one byte a character. */
  kinds: number[];
  begins: string[];
}

const sharp = 0x23;

/** How many rows keep kinds and beginnings, unless they have more cells than the second number, and how long these are. */
export const [closeRows, closeCells, longestBegin] = [60, 300, 80];

const headRow = (scanner: CellScanner, row: number, isClose: boolean): HeadRow => {
  const { bytes, starts, ends, marks } = scanner;
  const first = scanner.firstCell(row);
  const cells = scanner.width(row);
  const begin = scanner.startOf(row);
  const firstMark = marks[first] ?? 0;
  const facts: HeadRow = {
    line: scanner.lineOf(row),
    cells,
    tail: 0,
    filled: 0,
    faulty: false,
    quoted: 0,
    prose: (firstMark & has.space) !== 0 && (firstMark & (has.text | has.high)) !== 0,
    sharp: bytes[begin] === sharp,
    isApart: /(?:\n|\r(?!\n))(?:\r\n?|\n)$/.test(bytes.toString('latin1', Math.max(0, begin - 4), begin)),
    kinds: [],
    begins: [],
  };
  const isLookedAt = isClose && cells <= closeCells;
  for (let cell = first; cell < first + cells; cell++) {
    const [start, stop, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
    if ((mark & quoteFaults & ~has.quoteSpaces) !== 0) facts.faulty = true;
    if ((mark & has.quotes) !== 0) facts.quoted += 1;
    if (start !== stop) facts.filled += 1;
    facts.tail = start === stop && (mark & has.quotes) === 0 ? facts.tail + 1 : 0;
    if (!isLookedAt) continue;
    facts.kinds.push(kindOf(bytes, start, stop, mark & ~quoteFaults));
    facts.begins.push(bytes.toString('latin1', start, Math.min(stop, start + longestBegin)));
  }
  return facts;
};

/** Reads the head of a table; `whole` when it is all of it. Otherwise the last row may be cut and is left out. */
export const headRows = (head: Buffer, dialect: TableDialect, whole: boolean): HeadRow[] => {
  const scanner = new CellScanner(dialect, head.length + 1);
  const rows: HeadRow[] = [];
  const take = (): void => {
    for (let row = 0; row < scanner.rows; row++) rows.push(headRow(scanner, row, rows.length < closeRows));
  };
  scanner.feed(head);
  take();
  if (whole || rows.length === 0) {
    scanner.finish();
    take();
  }
  return rows;
};

const [empty, text] = [kindNumber('empty'), kindNumber('text')];

const year = /^(?:1[6-9]|20)\d\d$/;

/**
 * Compares a row with those below as if it were their header. `named`: columns that hold numbers, dates or the like in
 * every row below, and a name in the header; half for a year as name. `values`: header cells of those columns that have a
 * value of the same kind there.
 */
const headerEvidence = (rows: HeadRow[], at: number): { named: number; values: string[] } => {
  const evidence = { named: 0, values: [] as string[] };
  const header = rows[at];
  const below = rows.slice(at + 1).filter(({ kinds, cells }) => kinds.length > 0 && cells === header?.cells);
  header?.kinds.forEach((kind, column) => {
    const values = below.filter(({ kinds }) => kinds[column] !== empty);
    if (values.length === 0 || values.some(({ kinds }) => kinds[column] === text)) return;
    const own = header.begins[column] ?? '';
    if (kind === text) evidence.named += 1;
    else if (year.test(own) && !values.every(({ begins }) => year.test(begins[column] ?? ''))) evidence.named += 0.5;
    else if (values.some(({ kinds }) => kinds[column] === kind)) evidence.values.push(own);
  });
  return evidence;
};

/** True when a row is a record and no header: it has values in the columns that hold nothing else. */
export const isRecord = (rows: HeadRow[], at: number, fewestCounted: number): boolean => {
  const { named, values } = headerEvidence(rows, at);
  if (isKeyed(rows.slice(at))) return true;
  return named === 0 && values.length > 0 && !(values.length >= fewestCounted && isCounted(values));
};

/** True where every cell names its column itself, as in logs: `town=Ulm`, or `town: Ulm`. */
const isKeyed = ([header, ...below]: HeadRow[]): boolean => {
  const keys = header?.begins.map((cell) => /^[a-z_][\w .-]*[=:](?!\/\/)/i.exec(cell)?.[0] ?? ' ') ?? [];
  const known = below.filter(({ kinds }) => kinds.length > 0);
  const areOf = ({ begins }: HeadRow): boolean => keys.every((key, at) => begins[at]?.startsWith(key));
  return keys.length > 1 && !keys.includes(' ') && known.length > 0 && known.every(areOf);
};

const isCounted = (values: string[]): boolean => {
  const numbers = values.map(Number);
  const [first = 0, second = 0] = numbers;
  return second > first && numbers.every((number, at) => number === first + at * (second - first));
};

/** True when a row may be a header: it has names, or years, and no other values. */
export const mayBeHeader = ({ kinds, begins }: HeadRow): boolean =>
  kinds.length > 0 && kinds.every((kind, at) => kind === empty || kind === text || year.test(begins[at] ?? ''));

/** True when the rows below prove that a row is their header. */
export const isNamed = (rows: HeadRow[], at: number): boolean => {
  const header = rows[at];
  return header !== undefined && mayBeHeader(header) && headerEvidence(rows, at).named >= 1;
};

/** True when a blank line is above a row, and another row above that. */
export const isBelowBlank = (rows: HeadRow[], at: number): boolean => at > 0 && rows[at]?.isApart === true;

/**
 * Another row of names, which may be the header, unless values prove that this one is: the next one, below a blank line or
 * proven where this has values, or one below a blank line further down with different names that are all proven.
 */
export const laterHeader = (rows: HeadRow[], at: number): number | undefined => {
  const header = rows[at];
  if (header === undefined || isNamed(rows, at)) return undefined;
  const isLater = (row: HeadRow, next: number): boolean => {
    if (next <= at || !mayBeHeader(row)) return false;
    const isApart = isBelowBlank(rows, next);
    const areOther = new Set(row.begins).size === row.cells;
    if (next === at + 1) return isApart || (areOther && !mayBeHeader(header) && isNamed(rows, next));
    if (!isApart || row.cells !== header.cells || `${row.begins}` === `${header.begins}`) return false;
    return areOther && headerEvidence(rows, next).named >= Math.max(2, row.cells);
  };
  const found = rows.slice(0, at + 20).findIndex(isLater);
  return found < 0 ? undefined : found;
};

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
  /** The kind of each cell, of the first rows only; see `value-kind.ts`. */
  kinds: number[];
  /** Where each cell of those rows begins and ends in {@link head}. */
  spans: number[];
  head: Buffer;
}

const sharp = 0x23;

/** How many rows keep kinds and spans, unless they have more cells than the second number. */
const [closeRows, closeCells] = [60, 300];

const headRow = (head: Buffer, scanner: CellScanner, row: number, isClose: boolean): HeadRow => {
  const { base, bytes, starts, ends, marks } = scanner;
  const [first, cells] = [scanner.firstCell(row), scanner.width(row)];
  const firstMark = marks[first] ?? 0;
  const facts: HeadRow = {
    line: scanner.lineOf(row),
    cells,
    tail: 0,
    filled: 0,
    faulty: false,
    quoted: 0,
    prose: (firstMark & has.space) !== 0 && (firstMark & (has.text | has.high)) !== 0,
    sharp: bytes[scanner.startOf(row)] === sharp,
    kinds: [],
    spans: [],
    head,
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
    facts.spans.push(base + start, base + stop);
  }
  return facts;
};

/** Reads the head of a table; `whole` when it is all of it. Otherwise the last row may be cut and is left out. */
export const headRows = (head: Buffer, dialect: TableDialect, whole: boolean): HeadRow[] => {
  const scanner = new CellScanner(dialect, head.length + 1);
  const rows: HeadRow[] = [];
  const take = (): void => {
    for (let row = 0; row < scanner.rows; row++) rows.push(headRow(head, scanner, row, rows.length < closeRows));
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

/** The beginning of a cell as it stands there, one byte a character; '' in rows without kinds. */
export const cellBegin = ({ head, spans }: HeadRow, column: number): string => {
  const [start = 0, stop = 0] = [spans[2 * column], spans[2 * column + 1]];
  return head.toString('latin1', start, Math.min(stop, start + 80));
};

interface HeaderEvidence {
  /** Columns that hold numbers, dates or the like in every row below, and a name in the header; half for a year as name. */
  named: number;
  /** Header cells of those columns that have a value of the same kind there. */
  values: string[];
}

/** Compares a row with those below as if it were their header. */
const headerEvidence = (rows: HeadRow[], at: number): HeaderEvidence => {
  const header = rows[at];
  const evidence: HeaderEvidence = { named: 0, values: [] };
  const below = rows.slice(at + 1).filter(({ kinds, cells }) => kinds.length > 0 && cells === header?.cells);
  if (header === undefined || header.kinds.length === 0) return evidence;
  for (let column = 0; column < header.cells; column++) {
    const values = below.filter(({ kinds }) => kinds[column] !== empty);
    if (values.length === 0 || values.some(({ kinds }) => kinds[column] === text)) continue;
    const [own, kind] = [cellBegin(header, column), header.kinds[column]];
    if (kind === text) evidence.named += 1;
    else if (year.test(own) && !values.every((row) => year.test(cellBegin(row, column)))) evidence.named += 0.5;
    else if (values.some(({ kinds }) => kinds[column] === kind)) evidence.values.push(own);
  }
  return evidence;
};

/** True when a row is a record and no header: it has values in the columns that hold nothing else. */
export const isRecord = (rows: HeadRow[], at: number, fewestCounted: number): boolean => {
  const { named, values } = headerEvidence(rows, at);
  return named === 0 && values.length > 0 && !(values.length >= fewestCounted && isCounted(values));
};

const isCounted = (values: string[]): boolean => {
  const numbers = values.map(Number);
  const [first = 0, second = 0] = numbers;
  return second > first && numbers.every((number, at) => number === first + at * (second - first));
};

/** True when a row may be a header: it has names, or years, and no other values. */
export const mayBeHeader = (row: HeadRow): boolean =>
  row.kinds.length > 0 &&
  row.kinds.every((kind, at) => kind === empty || kind === text || year.test(cellBegin(row, at)));

/** True when the rows below prove that a row is their header. */
export const isNamed = (rows: HeadRow[], at: number): boolean => {
  const header = rows[at];
  return header !== undefined && mayBeHeader(header) && headerEvidence(rows, at).named >= 1;
};

/** True when a blank line is above a row, and another row above that. */
export const isBelowBlank = (rows: HeadRow[], at: number): boolean =>
  (rows[at]?.line ?? 0) > (rows[at - 1]?.line ?? Infinity) + 1;

/** True for a row above a blank line and another row of names, unless values prove that it is the header. */
export const mayBeTitle = (rows: HeadRow[], at: number): boolean => {
  const next = rows[at + 1];
  return next !== undefined && isBelowBlank(rows, at + 1) && mayBeHeader(next) && !isNamed(rows, at);
};

// The first rows of a table as one way of reading shows them.
import { has, quoteFaults } from './byte-class.ts';
import { CellScanner } from './cell-scanner.ts';
import type { TableDialect } from './dialect.ts';
import { kindNumber, kindOf } from './value-kind.ts';

/** What is checked in one row of the head. */
export interface HeadRow {
  line: number;
  cells: number;
  filled: number;
  /** True when a quote stands where none may. */
  faulty: boolean;
  /** Cells that are in quotes. */
  quoted: number;
  /** True when the first cell has text with a space. */
  prose: boolean;
  /** True when the row begins with `#`. */
  sharp: boolean;
  /** The kind of each cell, of the first rows only; see `value-kind.ts`. */
  kinds: number[];
  /** The cells as they stand there, one byte a character; of the first rows only. */
  texts: string[];
}

const sharp = 0x23;

/** So many rows are checked more closely, as long as they are no wider than this. */
const [closeRows, closeCells] = [60, 300];

const headRow = (scanner: CellScanner, row: number, isClose: boolean): HeadRow => {
  const { bytes, starts, ends, marks, rowCells, rowLines, rowStarts } = scanner;
  const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
  const firstMark = marks[first] ?? 0;
  const facts: HeadRow = {
    line: rowLines[row] ?? 1,
    cells: end - first,
    filled: 0,
    faulty: false,
    quoted: 0,
    prose: (firstMark & has.space) !== 0 && (firstMark & (has.text | has.high)) !== 0,
    sharp: bytes[rowStarts[row] ?? 0] === sharp,
    kinds: [],
    texts: [],
  };
  const isLookedAt = isClose && facts.cells <= closeCells;
  for (let cell = first; cell < end; cell++) {
    const [start, stop, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
    if ((mark & quoteFaults & ~has.quoteSpaces) !== 0) facts.faulty = true;
    if ((mark & has.quotes) !== 0) facts.quoted += 1;
    if (start !== stop) facts.filled += 1;
    if (!isLookedAt) continue;
    facts.kinds.push(kindOf(bytes, start, stop, mark & ~quoteFaults));
    facts.texts.push(bytes.toString('latin1', start, Math.min(stop, start + 80)));
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
  scanner.release();
  return rows;
};

const [empty, text] = [kindNumber('empty'), kindNumber('text')];

const year = /^(?:1[6-9]|20)\d\d$/;

/** What the rows below a header say about it. */
interface HeaderEvidence {
  /** Columns that hold numbers, dates or the like in every row below, and a name in the header. */
  named: number;
  /** Those of which the header has a value like all others. */
  values: string[];
}

/** Looks at a row as the header of those below. */
export const headerEvidence = (rows: HeadRow[], at: number): HeaderEvidence => {
  const header = rows[at];
  const evidence: HeaderEvidence = { named: 0, values: [] };
  const below = rows.slice(at + 1).filter(({ kinds, cells }) => kinds.length > 0 && cells === header?.cells);
  if (header === undefined || header.kinds.length === 0) return evidence;
  for (let column = 0; column < header.cells; column++) {
    const values = below.filter(({ kinds }) => kinds[column] !== empty);
    if (values.length === 0 || values.some(({ kinds }) => kinds[column] === text)) continue;
    const [own, kind] = [header.texts[column] ?? '', header.kinds[column]];
    if (kind === text || (year.test(own) && !values.every(({ texts }) => year.test(texts[column] ?? ''))))
      evidence.named += 1;
    else if (values.some(({ kinds }) => kinds[column] === kind)) evidence.values.push(own);
  }
  return evidence;
};

/** True when a row is one of the table and no header: where columns hold values only, so does it. */
export const isRecord = (rows: HeadRow[], at: number): boolean => {
  const { named, values } = headerEvidence(rows, at);
  return named === 0 && values.length > 0 && !isCounted(values);
};

/** True for names such as 1, 2, 3 or 2020, 2021, 2022. */
const isCounted = (values: string[]): boolean => {
  const numbers = values.map(Number);
  const [first = 0, second = 0] = numbers;
  return values.length > 2 && second > first && numbers.every((number, at) => number === first + at * (second - first));
};

/** True when a row may be a header: it has names, or years, and no other values. */
export const mayBeHeader = ({ kinds, texts }: HeadRow): boolean =>
  kinds.length > 0 && kinds.every((kind, at) => kind === empty || kind === text || year.test(texts[at] ?? ''));

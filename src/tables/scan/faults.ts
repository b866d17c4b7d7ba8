// Places and faults of scanned rows; the words are in fault-kinds.ts.
import type { TableFaultError } from '../../model/errors.ts';
import { has, quoteFaults } from './byte-class.ts';
import type { CellPosition, CellScanner } from './cell-scanner.ts';
import { type FactsOf, faultOf } from './fault-kinds.ts';

/** Titles or notes are above the header, in a file or a sheet of a workbook. */
export const titlesAbove = (line: number, header: number, sheet?: string): TableFaultError =>
  faultOf('title-rows', { line, sheet }, { header, unit: sheet === undefined ? 'line' : 'row' });

const lineBreaksIn = (bytes: Uint8Array, start: number, end: number): number => {
  let breaks = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === 13 || (byte === 10 && (at === start || bytes[at - 1] !== 13))) breaks += 1;
  }
  return breaks;
};

/** The place of the byte at offset `at` of `scanner.bytes`, which is in the cell of number `cell`. */
export const placeInRow = (scanner: CellScanner, row: number, cell: number, at: number): CellPosition => ({
  line: scanner.lineOf(row) + lineBreaksIn(scanner.bytes, scanner.startOf(row), at),
  column: cell - scanner.firstCell(row) + 1,
});

/** The fault of a row that is larger than the limit; also of the one that is not complete yet, `scanner.rows`. */
export const oversizeFault = (scanner: CellScanner, row: number, limit: number): TableFaultError => {
  const { facts, ...place } = oversizeOf(scanner, row, limit);
  return faultOf('row-oversize', place, facts);
};

/** Where a row over the limit is reported, and the facts about it. */
export const oversizeOf = (
  scanner: CellScanner,
  row: number,
  limit: number,
): { line: number; column?: number; facts: FactsOf<'row-oversize'> } => {
  const line = scanner.lineOf(row);
  const open = scanner.openInLimit;
  if (open === null || open.rowLine !== line) return { line, facts: { limit } };
  return { line: open.line, column: open.column, facts: { limit, isOpen: true } };
};

interface QuoteFault {
  kind: 'quote-unclosed' | 'quote-text-after' | 'quote-stray' | 'quote-spaces';
  facts: FactsOf<'quote-unclosed'>;
}

/** The fault of quoting that the marks of a cell stand for; null: none. */
export const quoteFaultOf = (scanner: CellScanner, cell: number, limit: number): QuoteFault | null => {
  const mark = scanner.marks[cell] ?? 0;
  if ((mark & has.unclosedInLimit) !== 0) return { kind: 'quote-unclosed', facts: { limit } };
  if ((mark & has.unclosed) !== 0) {
    const until = scanner.wrongCloses.get(scanner.base + scanner.outerStart(cell));
    return { kind: 'quote-unclosed', facts: { until } };
  }
  if ((mark & has.textAfterQuote) !== 0) return { kind: 'quote-text-after', facts: {} };
  if ((mark & has.strayQuote) !== 0) return { kind: 'quote-stray', facts: {} };
  return (mark & has.quoteSpaces) === 0 ? null : { kind: 'quote-spaces', facts: {} };
};

const faultOfCell = (scanner: CellScanner, row: number, cell: number, rowBytes: number): TableFaultError => {
  const start = scanner.outerStart(cell);
  const fault = quoteFaultOf(scanner, cell, rowBytes);
  if (fault !== null) return faultOf(fault.kind, placeInRow(scanner, row, cell, start), fault.facts);
  const nul = scanner.bytes.indexOf(0, start);
  return faultOf('nul', placeInRow(scanner, row, cell, nul), { offset: scanner.base + nul });
};

export const raggedFacts = (scanner: CellScanner, row: number, expected: number): FactsOf<'row-long'> => {
  const line = scanner.lineOf(row);
  const end = scanner.ends[scanner.firstCell(row + 1) - 1] ?? 0;
  const lastLine = line + lineBreaksIn(scanner.bytes, scanner.startOf(row), end);
  return { line, lastLine, found: scanner.width(row), expected };
};

/** The first fault of a row that should have `expected` cells (0: any number); null when it is sound. */
export const faultOfRow = (
  scanner: CellScanner,
  row: number,
  { expected, rowBytes }: { expected: number; rowBytes: number },
): TableFaultError | null => {
  const found = scanner.width(row);
  if (found === 0) return oversizeFault(scanner, row, rowBytes);
  for (let cell = scanner.firstCell(row); cell < scanner.firstCell(row + 1); cell++) {
    if (((scanner.marks[cell] ?? 0) & (quoteFaults | has.nul)) !== 0) return faultOfCell(scanner, row, cell, rowBytes);
  }
  if (expected === 0 || found === expected) return null;
  const facts = raggedFacts(scanner, row, expected);
  return faultOf(found > expected ? 'row-long' : 'row-short', { line: facts.line }, facts);
};

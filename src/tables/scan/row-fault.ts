// The first fault of one scanned row, with its place.
import type { TableFaultError } from '../../model/errors.ts';
import { has, quoteFaults } from './byte-class.ts';
import type { CellPosition, CellScanner } from './cell-scanner.ts';
import { nulByte, oversizeRow, raggedRow, spacedQuote, strayQuote, textAfterQuote, unclosedQuote } from './faults.ts';

/** Marks of cells that a strict reading refuses. */
export const refusedMarks = quoteFaults | has.nul;

/** Line breaks (LF, CRLF, CR) in `bytes` from `start` to before `end`. */
export const lineBreaksIn = (bytes: Uint8Array, start: number, end: number): number => {
  let breaks = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === 13 || (byte === 10 && (at === start || bytes[at - 1] !== 13))) breaks += 1;
  }
  return breaks;
};

/** The place of the byte at offset `at` of `scanner.bytes`, which stands in the cell of number `cell`. */
export const placeInRow = (scanner: CellScanner, row: number, cell: number, at: number): CellPosition => ({
  line: (scanner.rowLines[row] ?? 1) + lineBreaksIn(scanner.bytes, scanner.rowStarts[row] ?? 0, at),
  column: cell - (scanner.rowCells[row] ?? 0) + 1,
});

/** Offset of the first byte of a cell, its quote included. */
export const cellOffset = (scanner: CellScanner, cell: number): number =>
  (scanner.starts[cell] ?? 0) - (((scanner.marks[cell] ?? 0) & has.quotes) !== 0 ? 1 : 0);

/** The fault of a row that is larger than the limit; also of the one that is not complete yet, `scanner.rows`. */
export const oversizeFault = (scanner: CellScanner, row: number, rowBytes: number): TableFaultError => {
  const line = scanner.rowLines[row] ?? 1;
  const open = scanner.openInLimit;
  if (open === null || open.rowLine !== line) return oversizeRow(line, null, rowBytes);
  return oversizeRow(line, { line: open.line, column: open.column }, rowBytes);
};

/** The fault that the marks of a cell stand for. */
export const faultOfCell = (scanner: CellScanner, row: number, cell: number, rowBytes: number): TableFaultError => {
  const mark = scanner.marks[cell] ?? 0;
  const start = cellOffset(scanner, cell);
  const place = placeInRow(scanner, row, cell, start);
  if ((mark & has.unclosedInLimit) !== 0) return oversizeRow(place.line, place, rowBytes);
  if ((mark & has.unclosed) !== 0) {
    const line = scanner.wrongCloses.get(scanner.base + start);
    return line === undefined ? unclosedQuote(place) : textAfterQuote(place, { line, column: 1 });
  }
  if ((mark & has.textAfterQuote) !== 0) return textAfterQuote(place, place);
  if ((mark & has.strayQuote) !== 0) return strayQuote(place);
  if ((mark & has.quoteSpaces) !== 0) return spacedQuote(place);
  const nul = scanner.bytes.indexOf(0, start);
  return nulByte(placeInRow(scanner, row, cell, nul), scanner.base + nul);
};

/** The first fault of a row that should have `expected` cells (0: any number); null when it is sound. */
export const faultOfRow = (
  scanner: CellScanner,
  row: number,
  { expected, rowBytes }: { expected: number; rowBytes: number },
): TableFaultError | null => {
  const line = scanner.rowLines[row] ?? 1;
  if (scanner.rowOver[row] === 1) return oversizeFault(scanner, row, rowBytes);
  const [first, end] = [scanner.rowCells[row] ?? 0, scanner.rowCells[row + 1] ?? 0];
  for (let cell = first; cell < end; cell++) {
    if (((scanner.marks[cell] ?? 0) & refusedMarks) !== 0) return faultOfCell(scanner, row, cell, rowBytes);
  }
  if (expected === 0 || end - first === expected) return null;
  const lastLine = line + lineBreaksIn(scanner.bytes, scanner.rowStarts[row] ?? 0, scanner.ends[end - 1] ?? 0);
  return raggedRow({ line, lastLine, found: end - first, expected });
};

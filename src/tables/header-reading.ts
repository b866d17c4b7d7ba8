// The header row as it is scanned.
import { has } from './byte-class.ts';
import { CellScanner } from './cell-scanner.ts';
import { cellText } from './cell-text.ts';
import { contextAt } from './context.ts';
import type { TableDialect } from './dialect.ts';
import { mostColumns } from './header-findings.ts';

/** A header row. */
export interface ScannedHeader {
  cells: string[];
  line: number;
  /** Offset in the stream of each cell. */
  offsets: number[];
  /** What stands around each cell; empty for a header that is too wide. */
  contexts: string[];
  /** Its bytes without the line end. */
  raw: Buffer;
}

/** Takes a row of the scanner for the header. */
export const scannedHeader = (scanner: CellScanner, row: number, dialect: TableDialect): ScannedHeader => {
  const { base, bytes, starts, ends, marks, rowCells, rowLines, rowStarts } = scanner;
  const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
  const cells = Array.from({ length: end - first }, (_, at) => first + at);
  const start = rowStarts[row] ?? 0;
  const quote = ((marks[end - 1] ?? 0) & has.quotes) === 0 ? 0 : 1;
  return {
    cells: cells.map((cell) => cellText(scanner, cell, { dialect })),
    line: rowLines[row] ?? 1,
    offsets: cells.map((cell) => base + (starts[cell] ?? 0)),
    contexts: cells.length > mostColumns ? [] : cells.map((cell) => contextAt(bytes, starts[cell] ?? 0, scanner.end)),
    raw: Buffer.from(bytes.subarray(start, Math.max(start, (ends[end - 1] ?? start) + quote))),
  };
};

/** The cells of a header of which it became clear later how its bytes are to be read. */
export const decodedHeader = (raw: Buffer, dialect: TableDialect, decode: (bytes: Buffer) => string): string[] => {
  const scanner = new CellScanner(dialect, raw.length + 1);
  scanner.feed(raw);
  scanner.finish();
  const width = scanner.rows > 0 ? (scanner.rowCells[1] ?? 0) : 0;
  const cells = Array.from({ length: width }, (_, cell) => cellText(scanner, cell, { dialect, decode }));
  scanner.release();
  return cells;
};

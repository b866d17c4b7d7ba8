// Reads the rows of a table strictly: every byte is kept, a fault is thrown with its place.
import type { TableFaultError } from '../../model/errors.ts';
import { CellScanner } from './cell-scanner.ts';
import { cellsReader } from './cell-text.ts';
import { defaultRowBytes, type TableDialect } from './dialect.ts';
import { EncodingWatch } from './encoding-watch.ts';
import { hasBom, wideOf } from './encodings.ts';
import { faultOf } from './fault-kinds.ts';
import { faultOfRow, oversizeFault } from './faults.ts';

/**
 * Reads a table strictly by RFC 4180 with the given dialect: yields batches of rows, the first the header. Blank
 * lines below the header and a byte order mark, which the first chunk has as a whole, are skipped; cells are slices of the
 * text of their chunk. Throws a TableFaultError with line and column for the first fault, after the sound rows before it.
 */
export async function* readTable(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  dialect: TableDialect,
  { rowBytes = defaultRowBytes } = {},
): AsyncGenerator<string[][]> {
  const scanner = new CellScanner(dialect, rowBytes);
  const watch = new EncodingWatch();
  let width = 0;
  const faultOfCells = (row: number, cells: string[]): TableFaultError | null => {
    const fault = faultOfRow(scanner, row, { expected: width, rowBytes });
    if (fault !== null) return fault;
    if (width === 0 && scanner.lines.firstBlank === 1) return faultOf('blank-first', { line: 1 });
    width ||= cells.length;
    if (!dialect.trailingDelimiter || cells.pop() === '') return null;
    return faultOf('row-short', { line: scanner.lineOf(row), column: cells.length + 1 }, dialect);
  };
  function* taken(): Generator<string[][]> {
    const cellsOf = cellsReader(scanner, dialect);
    const rows: string[][] = [];
    let fault: TableFaultError | null = null;
    for (let row = 0; row < scanner.rows && fault === null; row++) {
      const cells = cellsOf(row);
      fault = faultOfCells(row, cells);
      if (fault === null) rows.push(cells);
    }
    if (rows.length > 0) yield rows;
    if (fault !== null) throw fault;
  }
  let offset = 0;
  for await (const chunk of source) {
    let bytes = chunk;
    if (offset === 0) {
      const wide = wideOf(chunk);
      if (wide !== null) throw faultOf('wide-encoding', { line: 1 }, { name: wide.encoding.slice(0, 6) });
      offset = hasBom(chunk) ? 3 : 0;
      scanner.beginBelow(offset, 0);
      bytes = chunk.subarray(offset);
    }
    const [bad] = watch.feed(bytes);
    scanner.feed(bytes.subarray(0, bad));
    yield* taken();
    if (scanner.isOver) throw oversizeFault(scanner, scanner.rows, rowBytes);
    if (bad !== undefined) {
      const facts = { byte: bytes[bad] ?? 0, offset: offset + bad, encoding: null };
      throw faultOf('other-encoding', scanner.place, facts);
    }
    offset += bytes.length;
  }
  const cut = watch.end();
  if (cut > 0) throw faultOf('cut-character', scanner.place, { offset: offset - cut });
  scanner.finish();
  yield* taken();
  if (width === 0) throw faultOf('empty-file', { line: 1 }, {});
}

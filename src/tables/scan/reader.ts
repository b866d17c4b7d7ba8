// Reads the rows of a table strictly: every byte is kept, a fault is thrown with its place.
import type { TableFaultError } from '../../model/errors.ts';
import { CellScanner } from './cell-scanner.ts';
import { cellsReader } from './cell-text.ts';
import { defaultRowBytes, type TableDialect } from './dialect.ts';
import { EncodingWatch } from './encoding-watch.ts';
import { hasBom, refuseWide } from './encodings.ts';
import { faultOf } from './fault-kinds.ts';
import { faultOfRow, oversizeFault } from './faults.ts';

export interface ReadOptions {
  rowBytes?: number;
}

/** Joins the first chunks until they have four bytes, so that a byte order mark is not cut. */
async function* withWholeHead(source: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of source) {
    if (head === null) yield chunk;
    else {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      if (head.length < 4) continue;
      yield head;
      head = null;
    }
  }
  if (head !== null && head.length > 0) yield head;
}

/**
 * Reads a table strictly by RFC 4180 with the given dialect: yields batches of rows, the first the header. Blank
 * lines below the header and a byte order mark are skipped; cells are slices of the text of their chunk. Throws a
 * TableFaultError with line and column for the first fault, after the sound rows before it.
 */
export async function* readTable(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  dialect: TableDialect,
  { rowBytes = defaultRowBytes }: ReadOptions = {},
): AsyncGenerator<string[][]> {
  const scanner = new CellScanner(dialect, rowBytes);
  const rows = new StrictRows(scanner, dialect, rowBytes);
  const watch = new EncodingWatch();
  let markBytes: number | null = null;
  let offset = 0; // behind the mark
  for await (const chunk of withWholeHead(source)) {
    let bytes = chunk;
    if (markBytes === null) {
      refuseWide(chunk);
      markBytes = hasBom(chunk) ? 3 : 0;
      scanner.beginBelow(markBytes, 0);
      bytes = chunk.subarray(markBytes);
    }
    const [bad] = watch.feed(bytes);
    scanner.feed(bytes.subarray(0, bad));
    yield* rows.take();
    if (scanner.isOver) throw oversizeFault(scanner, scanner.rows, rowBytes);
    if (bad !== undefined) {
      const facts = { byte: bytes[bad] ?? 0, offset: markBytes + offset + bad, encoding: null };
      throw faultOf('other-encoding', scanner.place, facts);
    }
    offset += bytes.length;
  }
  const cut = watch.end();
  if (cut > 0) throw faultOf('cut-character', scanner.place, { offset: (markBytes ?? 0) + offset - cut });
  scanner.finish();
  yield* rows.take();
  if (rows.width === 0) throw faultOf('empty-file', { line: 1 }, {});
}

/** The rows that a scanner completes, up to the first fault. */
class StrictRows {
  readonly #scanner: CellScanner;
  readonly #dialect: TableDialect;
  readonly #rowBytes: number;
  /** Cells of the header; 0 before it was read. */
  width = 0;

  constructor(scanner: CellScanner, dialect: TableDialect, rowBytes: number) {
    this.#scanner = scanner;
    this.#dialect = dialect;
    this.#rowBytes = rowBytes;
  }

  /** Yields the complete rows; throws the fault that follows them. */
  *take(): Generator<string[][]> {
    const cellsOf = cellsReader(this.#scanner, this.#dialect);
    const rows: string[][] = [];
    let fault: TableFaultError | null = null;
    for (let row = 0; row < this.#scanner.rows && fault === null; row++) {
      const cells = cellsOf(row);
      fault = this.#faultOf(row, cells);
      if (fault === null) rows.push(cells);
    }
    if (rows.length > 0) yield rows;
    if (fault !== null) throw fault;
  }

  #faultOf(row: number, cells: string[]): TableFaultError | null {
    const { lines } = this.#scanner;
    const fault = faultOfRow(this.#scanner, row, { expected: this.width, rowBytes: this.#rowBytes });
    if (fault !== null) return fault;
    if (this.width === 0 && lines.firstBlank === 1) return faultOf('blank-first', { line: 1 });
    this.width ||= cells.length;
    const { delimiter, trailingDelimiter } = this.#dialect;
    if (!trailingDelimiter || cells.pop() === '') return null;
    return faultOf('row-short', { line: this.#scanner.lineOf(row), column: cells.length + 1 }, { delimiter });
  }
}

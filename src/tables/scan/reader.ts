// Reads the rows of a table strictly: every byte is kept, a fault is thrown with its place.
import type { TableFaultError } from '../../model/errors.ts';
import { CellScanner } from './cell-scanner.ts';
import { cellsReader } from './cell-text.ts';
import { defaultRowBytes, type TableDialect } from './dialect.ts';
import { hasBom, refuseWide, Utf8Check } from './encodings.ts';
import { faultOf } from './fault-kinds.ts';
import { faultOfRow, oversizeFault } from './faults.ts';

/** Options of {@link readTable}. */
export interface ReadOptions {
  /** Largest size of one row in bytes; 1 MB when absent. */
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

/** One pass over one table. */
class TableReading {
  readonly #dialect: TableDialect;
  readonly #rowBytes: number;
  readonly #scanner: CellScanner;
  readonly #utf8 = new Utf8Check();

  /** Bytes before the chunk at hand, without a byte order mark. */
  #offset = 0;
  #markBytes = 0;
  #begun = false;
  /** Cells of the header; 0 before it was read. */
  #expected = 0;

  constructor(dialect: TableDialect, rowBytes: number) {
    this.#dialect = dialect;
    this.#rowBytes = rowBytes;
    this.#scanner = new CellScanner(dialect, rowBytes);
  }

  /** Yields the rows that a chunk completes; throws the fault that follows them. */
  *feed(chunk: Buffer): Generator<string[][]> {
    const scanner = this.#scanner;
    const bytes = this.#begun ? chunk : this.#begin(chunk);
    const bad = this.#utf8.feed(bytes);
    // A character that began in the chunk before is reported at this one's start.
    const at = Math.max(0, bad - this.#offset);
    scanner.feed(bad < 0 ? bytes : bytes.subarray(0, at));
    yield* this.#takeRows();
    if (scanner.isOver) throw oversizeFault(scanner, scanner.rows, this.#rowBytes);
    if (bad >= 0) {
      const offset = this.#markBytes + this.#offset + at;
      throw faultOf('other-encoding', scanner.place, { byte: bytes[at] ?? 0, offset, encoding: null });
    }
    this.#offset += bytes.length;
  }

  /** The source has ended: yields the last row. */
  *end(): Generator<string[][]> {
    const cut = this.#utf8.end();
    if (cut >= 0) throw faultOf('cut-character', this.#scanner.place, { offset: this.#markBytes + cut });
    this.#scanner.finish();
    yield* this.#takeRows();
    if (this.#expected === 0) throw faultOf('empty-file', { line: 1 }, {});
  }

  #begin(chunk: Buffer): Buffer {
    refuseWide(chunk);
    this.#begun = true;
    this.#markBytes = hasBom(chunk) ? 3 : 0;
    this.#scanner.base = this.#markBytes;
    return chunk.subarray(this.#markBytes);
  }

  *#takeRows(): Generator<string[][]> {
    const scanner = this.#scanner;
    const cellsOf = cellsReader(scanner, this.#dialect);
    const rows: string[][] = [];
    let fault: TableFaultError | null = null;
    for (let row = 0; row < scanner.rows; row++) {
      fault = faultOfRow(scanner, row, { expected: this.#expected, rowBytes: this.#rowBytes });
      if (fault !== null) break;
      const cells = cellsOf(row);
      fault = this.#acceptRow(row, cells);
      if (fault !== null) break;
      rows.push(cells);
    }
    if (rows.length > 0) yield rows;
    if (fault !== null) throw fault;
  }

  #acceptRow(row: number, cells: string[]): TableFaultError | null {
    if (this.#expected === 0) {
      if (this.#scanner.lines.firstBlank === 1) return faultOf('blank-first', { line: 1 });
      this.#expected = cells.length;
    }
    if (!this.#dialect.trailingDelimiter) return null;
    if (cells.pop() === '') return null;
    const place = { line: this.#scanner.rowLines[row] ?? 1, column: cells.length + 1 };
    const { delimiter } = this.#dialect;
    return faultOf('row-short', place, { delimiter });
  }
}

/**
 * Reads a table: yields batches of rows, as many as each chunk of `source` completes; the first row of the first batch
 * is the header. Strict by RFC 4180 with the given dialect: nothing is trimmed or guessed, CRLF, LF and CR end lines,
 * blank lines below the header are skipped, a byte order mark is skipped. Cells are slices of the text of their chunk:
 * copy those that you keep for long.
 *
 * Throws a TableFaultError with line and column: not UTF-8 or NUL bytes (`table-encoding`), no header row
 * (`table-empty`), a blank first line (`table-header`), another number of cells than the header (`table-ragged`), quotes
 * (`table-quote`), a row over `rowBytes` (`table-oversize`). The sound rows before a fault are yielded first.
 */
export async function* readTable(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  dialect: TableDialect,
  { rowBytes = defaultRowBytes }: ReadOptions = {},
): AsyncGenerator<string[][]> {
  const reading = new TableReading(dialect, rowBytes);
  for await (const chunk of withWholeHead(source)) yield* reading.feed(chunk);
  yield* reading.end();
}

// Rows of a table from its bytes: every byte is kept, a fault is reported with its place.
import type { TableFaultError } from '../../model/errors.ts';
import { has } from './byte-class.ts';
import { CellScanner } from './cell-scanner.ts';
import { unescapeOf } from './cell-text.ts';
import { defaultRowBytes, type TableDialect } from './dialect.ts';
import { Utf8Check } from './encodings.ts';
import {
  blankHeader,
  cutCharacter,
  emptyFile,
  faultOfRow,
  noTrailingDelimiter,
  notUtf8,
  oversizeFault,
  refusedMarks,
} from './faults.ts';
import { hasBom, refuseWide } from './sniff.ts';

/** Consecutive rows of a table; `firstLine` is the line of the file on which the first of them begins. */
interface RowBatch {
  firstLine: number;
  rows: string[][];
  /** The line of the file on which each of the rows begins. */
  lines: Float64Array;
}

/** What {@link readTable} takes beside the dialect. */
export interface ReadOptions {
  /** Largest size of one row in bytes; 1 MB when absent. */
  rowBytes?: number;
}

/** Chunks of which the first has at least four bytes (or is all there is), so that an encoding mark is seen whole. */
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

/** Rows that a chunk completed and the fault that is behind them, if there is one. */
interface Outcome extends RowBatch {
  fault: TableFaultError | null;
}

const noRows: Outcome = { firstLine: 1, rows: [], lines: new Float64Array(0), fault: null };

/** One pass over one table. */
class TableReading {
  readonly #dialect: TableDialect;
  readonly #rowBytes: number;
  readonly #scanner: CellScanner;
  readonly #utf8 = new Utf8Check();
  readonly #unescape: (text: string) => string;
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
    this.#unescape = unescapeOf(dialect);
  }

  /** Takes the next chunk. */
  feed(chunk: Buffer): Outcome {
    const bytes = this.#begun ? chunk : this.#begin(chunk);
    const bad = this.#utf8.feed(bytes);
    // A character that began in the chunk before is reported at this one's start.
    const at = Math.max(0, bad - this.#offset);
    this.#scanner.feed(bad < 0 ? bytes : bytes.subarray(0, at));
    const outcome = this.#takeRows();
    if (outcome.fault === null && this.#scanner.rowOver[this.#scanner.rows] === 1) {
      outcome.fault = oversizeFault(this.#scanner, this.#scanner.rows, this.#rowBytes);
    }
    if (bad >= 0 && outcome.fault === null) {
      outcome.fault = notUtf8(this.#scanner.place, bytes[at] ?? 0, this.#markBytes + this.#offset + at);
    }
    this.#offset += bytes.length;
    return outcome;
  }

  /** The source has ended; returns the row that was still open. */
  end(): Outcome {
    const cut = this.#utf8.end();
    if (cut >= 0) return { ...noRows, fault: cutCharacter(this.#scanner.place, this.#markBytes + cut) };
    this.#scanner.finish();
    const outcome = this.#takeRows();
    if (this.#expected === 0) outcome.fault ??= emptyFile();
    return outcome;
  }

  #begin(chunk: Buffer): Buffer {
    refuseWide(chunk);
    this.#begun = true;
    this.#markBytes = hasBom(chunk) ? 3 : 0;
    this.#scanner.base = this.#markBytes;
    return chunk.subarray(this.#markBytes);
  }

  #takeRows(): Outcome {
    const scanner = this.#scanner;
    if (scanner.rows === 0) return { ...noRows };
    const lines = scanner.rowLines.slice(0, scanner.rows);
    const outcome: Outcome = { firstLine: lines[0] ?? 1, rows: [], lines, fault: null };
    // One byte is one character here, so that offsets hold; cells with other characters are decoded for themselves.
    const end = scanner.rowStarts[scanner.rows] ?? 0;
    const text = scanner.bytes.toString('latin1', 0, end);
    for (let row = 0; row < scanner.rows; row++) {
      const cells = this.#rowOf(row, text);
      outcome.fault = cells === null ? faultOfRow(scanner, row, this.#limits()) : this.#acceptRow(row, cells);
      if (outcome.fault !== null || cells === null) break;
      outcome.rows.push(cells);
    }
    return outcome;
  }

  #limits(): { expected: number; rowBytes: number } {
    return { expected: this.#expected, rowBytes: this.#rowBytes };
  }

  /** The cells of a row; null when it has a fault. */
  #rowOf(row: number, text: string): string[] | null {
    const { bytes, starts, ends, marks, rowCells, rowOver } = this.#scanner;
    const [first, last] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    if (rowOver[row] === 1 || (last - first !== this.#expected && this.#expected > 0)) return null;
    const cells = new Array<string>(last - first); // an array that grows would take twice the memory
    for (let cell = first; cell < last; cell++) {
      const [start, end, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
      if ((mark & refusedMarks) !== 0) return null;
      const value = (mark & has.high) === 0 ? text.substring(start, end) : bytes.toString('utf8', start, end);
      cells[cell - first] = (mark & has.escapes) === 0 ? value : this.#unescape(value);
    }
    return cells;
  }

  #acceptRow(row: number, cells: string[]): TableFaultError | null {
    if (this.#expected === 0) {
      if (this.#scanner.lines.firstBlank === 1) return blankHeader();
      this.#expected = cells.length;
    }
    if (!this.#dialect.trailingDelimiter) return null;
    if (cells.pop() === '') return null;
    const place = { line: this.#scanner.rowLines[row] ?? 1, column: cells.length + 1 };
    return noTrailingDelimiter(place, this.#dialect.delimiter);
  }
}

/**
 * Reads a table: yields batches of rows, as many as each chunk of `source` completes; the first row of the first batch
 * is the header. Strict by RFC 4180 with the given dialect: nothing is trimmed or guessed, CRLF, LF and CR end lines,
 * blank lines below the header are skipped, a byte order mark is no data. Cells are slices of the text of their chunk: who
 * keeps a few of them for long should copy them.
 *
 * Throws a TableFaultError with line and column: not UTF-8 or NUL bytes (`table-encoding`), no header row
 * (`table-empty`), a blank first line (`table-header`), another number of cells than the header (`table-ragged`), quotes
 * (`table-quote`), a row over `rowBytes` (`table-oversize`). The sound rows before a fault are yielded first.
 */
export async function* readTable(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  dialect: TableDialect,
  options: ReadOptions = {},
): AsyncGenerator<RowBatch> {
  const reading = new TableReading(dialect, options.rowBytes ?? defaultRowBytes);
  for await (const chunk of withWholeHead(source)) yield* batchOf(reading.feed(chunk));
  yield* batchOf(reading.end());
}

function* batchOf({ fault, ...batch }: Outcome): Generator<RowBatch> {
  if (batch.rows.length > 0) yield batch;
  if (fault !== null) throw fault;
}

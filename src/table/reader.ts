// Rows of a table from its bytes: csv-parse is the judge, every byte is kept, a fault is told with its place.
import { Parser } from 'csv-parse';
import type { TableFaultError } from '../errors.ts';
import { defaultRowBytes, type TableDialect } from './dialect.ts';
import {
  blankHeader,
  cutCharacter,
  emptyFile,
  noTrailingDelimiter,
  notUtf8,
  nulByte,
  oversizeRow,
  raggedRow,
  strayQuote,
} from './faults.ts';
import { RowWalker } from './row-walker.ts';
import { hasBom, refuseWide } from './sniff.ts';
import { Utf8Check } from './utf8.ts';

/** Consecutive rows of a table; `firstLine` is the line of the file on which the first of them begins. */
export interface RowBatch {
  firstLine: number;
  rows: string[][];
}

/** What {@link readTable} can be told beside the dialect. */
export interface ReadOptions {
  /** Largest size of one row in bytes; 1 MB when absent. */
  rowBytes?: number;
}

type ParseFault = (Error & { code?: string; lines?: number; column?: number; record?: unknown[] }) | null | undefined;

/** csv-parse without the stream's own queue: rows are taken away after each chunk. */
class RowParser extends Parser {
  #rows: string[][] = [];

  override push(row: string[] | null): boolean {
    if (row === null) return super.push(null);
    this.#rows.push(row);
    return true;
  }

  /** The rows that were completed since the last call. */
  takeRows(): string[][] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }
}

const parserOf = (dialect: TableDialect, rowBytes: number): RowParser => {
  const parser = new RowParser({
    delimiter: dialect.delimiter,
    quote: dialect.quote === '' ? null : dialect.quote,
    escape: dialect.quote === '' ? null : dialect.escape,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: rowBytes,
    skip_empty_lines: true,
  });
  parser.on('error', () => undefined); // each write and the end report it to their own callback
  return parser;
};

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

/** Rows that a chunk completed and the fault that stands behind them, if there is one. */
interface Outcome extends RowBatch {
  fault: TableFaultError | null;
}

/** One pass over one table. */
class TableReading {
  readonly #dialect: TableDialect;
  readonly #rowBytes: number;
  readonly #parser: RowParser;
  readonly #walker: RowWalker;
  readonly #utf8 = new Utf8Check();
  /** Bytes before the chunk at hand, without a byte order mark. */
  #offset = 0;
  #markBytes = 0;
  #blankFirst = false;
  #rowsSeen = 0;

  constructor(dialect: TableDialect, rowBytes: number) {
    this.#dialect = dialect;
    this.#rowBytes = rowBytes;
    this.#parser = parserOf(dialect, rowBytes);
    this.#walker = new RowWalker(dialect, rowBytes);
  }

  /** Takes the next chunk. */
  async feed(chunk: Buffer): Promise<Outcome> {
    const bytes = this.#offset === 0 && this.#markBytes === 0 ? this.#begin(chunk) : chunk;
    const bad = this.#firstBadByte(bytes);
    const sound = bad < 0 ? bytes : bytes.subarray(0, bad);
    this.#walker.watch(this.#rowsSeen);
    const parseFault = await new Promise<ParseFault>((done) => this.#parser.write(sound, done));
    this.#walker.walk(sound);
    const rows = this.#takeRows();
    if (parseFault) return { firstLine: this.#walker.watchedLine, rows, fault: this.#told(parseFault) };
    const fault = this.#walker.oversize ?? (bad < 0 ? null : this.#badByte(bytes, bad));
    this.#offset += bytes.length;
    return { firstLine: this.#walker.watchedLine, rows, fault };
  }

  /** The source has ended; returns the row that was still open. */
  async end(): Promise<Outcome> {
    this.#walker.watch(this.#rowsSeen);
    const cut = this.#utf8.end();
    if (cut >= 0) return { firstLine: 1, rows: [], fault: cutCharacter(this.#walker.place, this.#markBytes + cut) };
    const parseFault = await new Promise<ParseFault>((done) => this.#parser.end(done));
    this.#walker.end();
    const rows = this.#takeRows();
    if (parseFault) return { firstLine: this.#walker.watchedLine, rows, fault: this.#told(parseFault) };
    return { firstLine: this.#walker.watchedLine, rows, fault: this.#rowsSeen === 0 ? emptyFile() : null };
  }

  close(): void {
    this.#parser.destroy();
  }

  #begin(chunk: Buffer): Buffer {
    refuseWide(chunk);
    this.#markBytes = hasBom(chunk) ? 3 : 0;
    const bytes = chunk.subarray(this.#markBytes);
    this.#blankFirst = bytes[0] === 10 || bytes[0] === 13;
    return bytes;
  }

  /** Offset in the chunk of the first byte that no table may hold, or -1. */
  #firstBadByte(bytes: Buffer): number {
    const bad = this.#utf8.feed(bytes);
    const nul = bytes.indexOf(0);
    if (bad < 0) return nul;
    const at = Math.max(0, bad - this.#offset); // a character that began in the chunk before is told at this one's start
    return nul < 0 ? at : Math.min(at, nul);
  }

  #badByte(bytes: Buffer, at: number): TableFaultError {
    const offset = this.#markBytes + this.#offset + at;
    const byte = bytes[at] ?? 0;
    return byte === 0 ? nulByte(this.#walker.place, offset) : notUtf8(this.#walker.place, byte, offset);
  }

  #takeRows(): string[][] {
    const rows = this.#parser.takeRows();
    if (rows.length > 0 && this.#rowsSeen === 0 && this.#blankFirst) throw blankHeader();
    this.#rowsSeen += rows.length;
    if (this.#dialect.trailingDelimiter) for (const row of rows) this.#dropTrailing(row);
    return rows;
  }

  #dropTrailing(row: string[]): void {
    if (row.pop() === '') return;
    const place = { line: this.#walker.place.line, column: row.length + 1 };
    throw this.#walker.fault ?? noTrailingDelimiter(place, this.#dialect.delimiter);
  }

  /** The fault that csv-parse found, with the place that the walker knows. */
  #told(fault: NonNullable<ParseFault>): TableFaultError {
    const line = fault.lines ?? 1;
    if (fault.code === 'CSV_MAX_RECORD_SIZE') {
      return this.#walker.oversize ?? oversizeRow(line, null, this.#rowBytes);
    }
    if (this.#walker.fault !== null) return this.#walker.fault;
    if (fault.code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH') {
      const found = fault.record?.length ?? 0;
      return raggedRow({ line, lastLine: line, found, expected: this.#walker.expectedCells });
    }
    return strayQuote({ line, column: (fault.column ?? 0) + 1 });
  }
}

/**
 * Reads a table: yields batches of rows, as many as each chunk of `source` completes; the first row of the first batch
 * is the header. Strict by RFC 4180 with the given dialect: nothing is trimmed or guessed, CRLF, LF and CR end lines,
 * blank lines below the header are skipped, a byte order mark is no data.
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
  try {
    for await (const chunk of withWholeHead(source)) {
      const { firstLine, rows, fault } = await reading.feed(chunk);
      if (rows.length > 0) yield { firstLine, rows };
      if (fault !== null) throw fault;
    }
    const { firstLine, rows, fault } = await reading.end();
    if (rows.length > 0) yield { firstLine, rows };
    if (fault !== null) throw fault;
  } finally {
    reading.close();
  }
}

// Follows rows, cells and quotes byte by byte, so that a fault can be told with the place where it began.
import type { TableFaultError } from '../errors.ts';
import type { TableDialect } from './dialect.ts';
import {
  noTrailingDelimiter,
  oversizeRow,
  type Place,
  raggedRow,
  strayQuote,
  textAfterQuote,
  unclosedQuote,
} from './faults.ts';

const lf = 10;
const cr = 13;

/** Where the walker stands in a cell. */
type State = 'start' | 'plain' | 'quoted' | 'escaped' | 'closed';

/** The walker is ahead of csv-parse by the few bytes that csv-parse looks ahead: fewer rows than this. */
const recentRows = 16;

const byteOf = (text: string): number => (text === '' ? -1 : text.charCodeAt(0));

/**
 * Walks over the bytes of a table and knows line and cell at each moment. It keeps the first fault it meets and goes on.
 * The verdict on a table is csv-parse's; the walker gives the place (a test holds the two against each other).
 * CRLF, LF and CR end lines; blank lines outside quotes are no rows.
 */
export class RowWalker {
  /** The first fault met so far. */
  fault: TableFaultError | null = null;
  /** The first row that grew larger than the limit. */
  oversize: TableFaultError | null = null;
  /** See {@link watch}. */
  watchedLine = 0;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #escape: number;
  readonly #trailing: boolean;
  readonly #rowBytes: number;
  #state: State = 'start';
  #line = 1;
  #column = 1;
  #rowLine = 1;
  #size = 0;
  #open: Place = { line: 1, column: 1 };
  #afterCr = false;
  #expected = 0;
  #rows = 0;
  #watched = -1;
  readonly #recent: number[] = [];

  constructor(dialect: TableDialect, rowBytes: number) {
    this.#delimiter = byteOf(dialect.delimiter);
    this.#quote = byteOf(dialect.quote);
    this.#escape = dialect.escape === dialect.quote ? -1 : byteOf(dialect.escape);
    this.#trailing = dialect.trailingDelimiter;
    this.#rowBytes = rowBytes;
  }

  /** The line and cell of the next byte. */
  get place(): Place {
    return { line: this.#line, column: this.#column };
  }

  /** Cells that every row should have, by the header; 0 before it ended. */
  get expectedCells(): number {
    return this.#expected;
  }

  /** From now on {@link watchedLine} tells where the row of this number (from 0, the header) begins, once it has ended. */
  watch(row: number): void {
    this.#watched = row;
    if (row < this.#rows) this.watchedLine = this.#recent[row % recentRows] ?? 0;
  }

  /** Takes the next bytes. */
  walk(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      from = this.#state === 'quoted' ? this.#walkQuoted(bytes, from) : this.#walkPlain(bytes, from);
    }
  }

  /** The table ends here. */
  end(): void {
    if (this.#state === 'quoted' || this.#state === 'escaped') this.#keep(() => unclosedQuote(this.#open));
    else this.#endRow();
  }

  #keep(fault: () => TableFaultError): void {
    this.fault ??= fault();
  }

  /** Up to the next quote or escape inside quotes; returns the offset behind it. */
  #walkQuoted(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === lf || byte === cr) this.#countLine(byte);
      else this.#afterCr = false;
      if (byte === this.#quote || byte === this.#escape) {
        this.#grow(at - from + 1);
        this.#state = byte === this.#quote ? 'closed' : 'escaped';
        return at + 1;
      }
    }
    this.#grow(bytes.length - from);
    return bytes.length;
  }

  /** Up to the next opening quote; returns the offset behind it. */
  #walkPlain(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && this.#state !== 'quoted') {
      const byte = bytes[at++] ?? 0;
      this.#grow(1);
      if (this.#state === 'escaped') this.#protected(byte);
      else if (byte === lf || byte === cr) this.#lineEnd(byte);
      else this.#inCell(byte);
    }
    return at;
  }

  #inCell(byte: number): void {
    this.#afterCr = false;
    if (byte === this.#delimiter) {
      this.#column += 1;
      this.#state = 'start';
    } else if (byte === this.#quote) this.#quoteMet();
    else if (this.#state === 'closed') {
      this.#keep(() => textAfterQuote(this.#open, this.place));
      this.#state = 'plain';
    } else this.#state = 'plain';
  }

  #quoteMet(): void {
    if (this.#state === 'start') {
      this.#open = this.place;
      this.#state = 'quoted';
    } else if (this.#state === 'closed' && this.#escape === -1) this.#state = 'quoted';
    else if (this.#state === 'closed') this.#keep(() => textAfterQuote(this.#open, this.place));
    else this.#keep(() => strayQuote(this.place));
  }

  #protected(byte: number): void {
    if (byte === lf || byte === cr) this.#countLine(byte);
    else this.#afterCr = false;
    this.#state = 'quoted';
  }

  #lineEnd(byte: number): void {
    if (byte === lf && this.#afterCr) {
      this.#afterCr = false;
      this.#size = 0;
      return;
    }
    this.#endRow();
    this.#line += 1;
    this.#rowLine = this.#line;
    this.#afterCr = byte === cr;
  }

  /** A line break inside quotes: CRLF counts once. */
  #countLine(byte: number): void {
    if (byte === cr || !this.#afterCr) this.#line += 1;
    this.#afterCr = byte === cr;
  }

  #endRow(): void {
    const found = this.#column;
    const blank = found === 1 && this.#state === 'start';
    if (!blank && this.#expected === 0) this.#expected = found;
    if (!blank && found !== this.#expected) {
      const row = { line: this.#rowLine, lastLine: this.#line, found, expected: this.#expected };
      this.#keep(() => raggedRow(row));
    }
    if (!blank) this.#noteRow();
    if (this.#trailing && this.#state === 'plain') {
      this.#keep(() => noTrailingDelimiter(this.place, String.fromCharCode(this.#delimiter)));
    }
    this.#column = 1;
    this.#state = 'start';
    this.#size = 0;
  }

  #noteRow(): void {
    this.#recent[this.#rows % recentRows] = this.#rowLine;
    if (this.#rows === this.#watched) this.watchedLine = this.#rowLine;
    this.#rows += 1;
  }

  #grow(bytes: number): void {
    this.#size += bytes;
    if (this.#size <= this.#rowBytes || this.oversize !== null) return;
    const quoted = this.#state === 'quoted' || this.#state === 'escaped';
    this.oversize = oversizeRow(this.#rowLine, quoted ? this.#open : null, this.#rowBytes);
  }
}

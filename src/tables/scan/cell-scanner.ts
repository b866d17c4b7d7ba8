// Scans the cells of a table, chunk by chunk, by RFC 4180 where it is sound.
import { byteClasses, divider, firstDivider, has } from './byte-class.ts';
import type { TableDialect } from './dialect.ts';
import { ScannedRows } from './scanned-rows.ts';

/** A place in a table. Lines count from 1; a column is the number of the cell in its row, from 1. */
export interface CellPosition {
  line: number;
  column: number;
}

const [lf, cr, space] = [10, 13, 32];

/**
 * Scans a table chunk by chunk. After each {@link feed} (and {@link finish}) the rows that it completed lie in the public
 * arrays, until the next call: row `r` has the cells from `rowCells[r]` to before `rowCells[r + 1]`; cell `c` is
 * `bytes.subarray(starts[c], ends[c])` without its quotes, with the marks `marks[c]` (see `byte-class.ts`).
 *
 * CRLF, LF and CR end rows; blank lines are no rows. Faults of quoting are marked, not refused, and read in the way that
 * loses least: a quote inside a cell is text; text after a closing quote belongs to the cell when the line has a quote
 * that closes it properly; a quote that is never closed, or not properly on a later line, is text, so that the rows after
 * it are still seen. A sound table is read by RFC 4180.
 *
 * A row is kept whole until it is complete, so memory is bounded by the limit of a row; one that is larger has no cells.
 */
export class CellScanner extends ScannedRows {
  /** Line ends outside quotes, by kind, and lines without anything. */
  readonly lines = { lf: 0, crlf: 0, cr: 0, blank: 0, firstBlank: 0 };
  /** Where a quote that was not closed properly ran into text: offset in the stream of the quote that opened, and the line. */
  readonly wrongCloses = new Map<number, number>();
  /** The last quote that was open when its row grew over the limit, and the line on which that row begins. */
  openInLimit: (CellPosition & { rowLine: number }) | null = null;
  readonly #bare: Uint16Array;
  readonly #quoted: Uint16Array;
  readonly #quote: number;
  readonly #delimiter: number;
  readonly #doubles: boolean;
  readonly #rowBytes: number;
  #state: 'start' | 'bare' | 'quoted' | 'escaped' | 'closed' | 'skipping' = 'start';
  #at = 0;
  #cellStart = 0;
  #mark = 0;
  #line = 1;
  #open = 0;
  #openLine = 1;
  /** Where the quote stands that may close a cell; spaces may be behind it. */
  #closedAt = 0;
  #afterCr = false;
  #strictLine = false;

  constructor(dialect: TableDialect, rowBytes: number) {
    super();
    const { bare, quoted } = byteClasses(dialect);
    this.#bare = bare;
    this.#quoted = quoted;
    this.#quote = dialect.quote === '' ? -1 : dialect.quote.charCodeAt(0);
    this.#delimiter = dialect.delimiter.charCodeAt(0);
    this.#doubles = dialect.escape === dialect.quote;
    this.#rowBytes = rowBytes;
  }

  /** True when the row that is not complete yet is larger than the limit. */
  get isOver(): boolean {
    return this.#state === 'skipping';
  }

  /** The stream begins so many bytes and lines further down in its file. */
  beginBelow(bytes: number, lines: number): void {
    this.base = bytes;
    this.#line = lines + 1;
    this.rowLines[0] = this.#line;
  }

  get place(): CellPosition {
    return { line: this.#line, column: this.cells - (this.rowCells[this.rows] ?? 0) + 1 };
  }

  /** Takes the next bytes; the arrays of the call before are overwritten. */
  feed(chunk: Uint8Array): void {
    this.#dropRows();
    this.append(chunk);
    this.#scan();
    this.#limitRow();
  }

  finish(): void {
    this.#dropRows();
    this.#scan();
    while (this.#state === 'quoted' || this.#state === 'escaped') {
      this.#backOut(has.unclosed);
      this.#scan();
    }
    if (this.#state === 'closed') this.#closeCell();
    const isBegun = this.cells > this.firstCell(this.rows) || this.#cellStart < this.end;
    if (isBegun || this.#state !== 'start') this.#endRow(this.end);
  }

  #dropRows(): void {
    const from = this.dropRows();
    this.#at -= from;
    this.#cellStart -= from;
    this.#open -= from;
    this.#closedAt -= from;
  }

  #scan(): void {
    while (this.#at < this.end) {
      if (this.#state === 'start') this.#begin();
      else if (this.#state === 'bare') this.#walkBare();
      else if (this.#state === 'quoted') this.#walkQuoted();
      else if (this.#state === 'closed') this.#close();
      else if (this.#state === 'escaped') this.#protect();
      else this.#skip();
    }
  }

  #begin(): void {
    const byte = this.bytes[this.#at];
    if (this.#afterCr) {
      this.#afterCr = false;
      if (byte === lf) {
        this.lines.cr -= 1;
        this.lines.crlf += 1;
        this.#at += 1;
        this.#cellStart = this.#at;
        this.rowStarts[this.rows] = this.#at;
        return;
      }
    }
    this.#cellStart = this.#at;
    this.#mark = 0;
    if (byte !== this.#quote) {
      this.#state = 'bare';
      return;
    }
    this.#openQuote(0);
  }

  #openQuote(mark: number): void {
    this.#open = this.#at;
    this.#openLine = this.#line;
    this.#at += 1;
    this.#cellStart = this.#at;
    this.#mark = mark;
    this.#state = 'quoted';
  }

  #walkBare(): void {
    const { bytes } = this;
    const classes = this.#bare;
    let [at, start, mark] = [this.#at, this.#cellStart, this.#mark];
    for (;;) {
      let kind = classes[bytes[at++] ?? 0] ?? 0;
      while (kind < firstDivider) {
        mark |= kind;
        kind = classes[bytes[at++] ?? 0] ?? 0;
      }
      if (kind !== divider.delimiter) break;
      this.addCell(start, at - 1, mark);
      start = at;
      mark = 0;
      if (bytes[at] === this.#quote || at === this.end) {
        this.#state = 'start';
        this.#at = at;
        this.#cellStart = at;
        return;
      }
    }
    this.#at = at - 1;
    this.#cellStart = start;
    this.#mark = mark;
    if (this.#at < this.end) this.#divideBare();
  }

  #divideBare(): void {
    const byte = this.bytes[this.#at];
    if (byte === this.#quote) {
      if (this.#mark === has.space && this.#cellStart < this.#at) {
        this.#openQuote(has.quoteSpaces);
        return;
      }
      if ((this.#mark & (has.unclosed | has.unclosedInLimit | has.textAfterQuote)) === 0) this.#mark |= has.strayQuote;
      this.#at += 1;
      return;
    }
    const blank = this.#at === this.rowStarts[this.rows];
    if (!blank) this.addCell(this.#cellStart, this.#at, this.#mark);
    this.#lineEnd(blank);
  }

  #walkQuoted(): void {
    const { bytes } = this;
    const classes = this.#quoted;
    let [at, mark] = [this.#at, this.#mark];
    let kind = classes[bytes[at++] ?? 0] ?? 0;
    while (kind < firstDivider) {
      mark |= kind;
      kind = classes[bytes[at++] ?? 0] ?? 0;
    }
    this.#at = at;
    this.#mark = mark;
    if (at > this.end) this.#at = this.end;
    else if (kind === divider.quote) {
      this.#closedAt = at - 1;
      this.#state = 'closed';
    } else if (kind === divider.escape) this.#state = 'escaped';
    else this.#breakLine(at - 1);
  }

  /** A line break inside quotes; CRLF counts once. */
  #breakLine(at: number): void {
    if ((this.#mark & has.textAfterQuote) !== 0) {
      this.#backOut(has.textAfterQuote);
      return;
    }
    this.#mark |= has.lineBreak;
    if (this.bytes[at] === cr || this.bytes[at - 1] !== cr) this.#line += 1;
  }

  #protect(): void {
    this.#mark |= has.escapes;
    this.#state = 'quoted';
    const byte = this.bytes[this.#at] ?? 0;
    const kind = this.#quoted[byte] ?? 0;
    this.#at += 1;
    if (byte === lf || byte === cr) this.#breakLine(this.#at - 1);
    else if (kind < firstDivider) this.#mark |= kind;
  }

  /** What is behind a quote inside quotes, and spaces: the cell ends, a quote is meant, or the file is wrong. */
  #close(): void {
    const behind = this.#closedAt + 1;
    if (this.#doubles && this.#at === behind && this.bytes[behind] === this.#quote) {
      this.#mark |= has.escapes;
      this.#at += 1;
      this.#state = 'quoted';
      return;
    }
    while (this.#at < this.end && this.bytes[this.#at] === space && this.#delimiter !== space) this.#at += 1;
    if (this.#at === this.end) return;
    const byte = this.bytes[this.#at];
    if (byte === this.#delimiter || byte === lf || byte === cr) this.#closeCell(byte);
    else {
      this.#at = behind;
      this.#wrongClose();
    }
  }

  /** A cell in quotes ends, before this delimiter or line end; undefined: the end of the table. */
  #closeCell(by?: number): void {
    if (this.#at > this.#closedAt + 1) this.#mark |= has.quoteSpaces;
    this.addCell(this.#cellStart, this.#closedAt, this.#mark | has.quotes);
    if (by === this.#delimiter) this.#at += 1;
    this.#cellStart = this.#at;
    this.#state = 'start';
    if (by === lf || by === cr) this.#lineEnd(false);
  }

  #wrongClose(): void {
    if (this.#line !== this.#openLine) {
      if (this.wrongCloses.size < mostWrongCloses) this.wrongCloses.set(this.base + this.#open, this.#line);
      this.#backOut(has.unclosed);
    } else if (this.#strictLine) this.#backOut(has.textAfterQuote);
    else {
      this.#mark |= has.textAfterQuote;
      this.#state = 'quoted';
    }
  }

  /**
   * Reads the open quoted cell as text instead. Where text followed a quote already, that is its fault, and in the rest of
   * the row no cell may be closed by a later quote: searching for one each time would take quadratic time.
   */
  #backOut(mark: number): void {
    const textFollowed = (this.#mark & has.textAfterQuote) !== 0;
    if (textFollowed) this.#strictLine = true;
    this.#at = this.#open + 1;
    this.#cellStart = this.#open;
    this.#line = this.#openLine;
    this.#mark = textFollowed ? has.textAfterQuote : mark;
    this.#state = 'bare';
  }

  #lineEnd(blank: boolean): void {
    const { lines } = this;
    const at = this.#at;
    const line = this.#line++;
    if (this.bytes[at] === lf) {
      lines.lf += 1;
      this.#at = at + 1;
    } else if (at + 1 < this.end && this.bytes[at + 1] === lf) {
      lines.crlf += 1;
      this.#at = at + 2;
    } else {
      lines.cr += 1;
      this.#afterCr = at + 1 === this.end;
      this.#at = at + 1;
    }
    if (blank) {
      lines.blank += 1;
      lines.firstBlank ||= line;
      this.#beginRow();
    } else this.#completeRow(at);
  }

  #endRow(end: number): void {
    const isOpen = this.#state === 'start' ? this.bytes[end - 1] === this.#delimiter : this.#state !== 'skipping';
    if (isOpen) this.addCell(this.#cellStart, end, this.#mark);
    this.#completeRow(end);
  }

  #completeRow(end: number): void {
    if (end - (this.rowStarts[this.rows] ?? 0) > this.#rowBytes) this.cells = this.rowCells[this.rows] ?? 0;
    this.addRow();
    this.#beginRow();
  }

  #beginRow(): void {
    this.rowStarts[this.rows] = this.#at;
    this.rowLines[this.rows] = this.#line;
    this.#cellStart = this.#at;
    this.#mark = 0;
    this.#state = 'start';
    this.#strictLine = false;
  }

  /** Stops a row that grows over the limit: a quote that is open becomes text, any other row is not kept. */
  #limitRow(): void {
    while (this.#state !== 'skipping' && this.end - (this.rowStarts[this.rows] ?? 0) > this.#rowBytes) {
      if (this.#state === 'quoted' || this.#state === 'escaped') {
        const rowLine = this.rowLines[this.rows] ?? 1;
        this.openInLimit = { line: this.#openLine, column: this.place.column, rowLine };
        this.#backOut(has.unclosedInLimit);
        this.#scan();
      } else {
        this.cells = this.rowCells[this.rows] ?? 0;
        this.#state = 'skipping';
      }
    }
    if (this.#state !== 'skipping') return;
    this.rowStarts[this.rows] = this.#at;
    this.#cellStart = this.#at;
  }

  /** Up to the line end of a row that is not kept; the row then has no cells. */
  #skip(): void {
    while (this.#at < this.end && this.bytes[this.#at] !== lf && this.bytes[this.#at] !== cr) this.#at += 1;
    if (this.#at < this.end) this.#lineEnd(false);
  }
}

/** How many places of {@link CellScanner.wrongCloses} are kept. */
const mostWrongCloses = 100;

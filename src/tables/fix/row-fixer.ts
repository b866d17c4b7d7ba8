// Rewrites the rows of a table and records what changed. The record holds row contents: for reports, never for logs.
import { isAscii } from 'node:buffer';
import type { Finding } from '../inspect/finding.ts';
import { fixedHeader } from '../inspect/header.ts';
import { has, quoteFaults } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { cellText, escapedText } from '../scan/cell-text.ts';
import type { TableDialect } from '../scan/dialect.ts';
import type { FindingKind } from '../scan/fault-kinds.ts';

/** A row that was changed or left out; of a long one each cell that was changed. */
interface FixedPlace {
  line: number;
  /** Number of the cell in its row, from 1; null for a whole row. */
  column: number | null;
  before: string;
  after: string | null;
}

export interface FixReport {
  /** Every mend with its description and how often it was needed. */
  mends: { kind: FindingKind | 'separator'; mend: string; count: number }[];
  /** Rows of which a cell was changed, and rows that were left out; what is done to all rows alike is reported by `mends` only. */
  changed: number;
  /** Every change in them, {@link mostShown} at most. */
  rows: FixedPlace[];
  unshown: number;
  bytes: number;
  sha256: string;
  left: Finding[];
}

/** How many changes a report shows: nobody reads more. */
const mostShown = 100_000;

export interface FixPlan {
  /** How the table is written down now. */
  dialect: TableDialect;
  separator: string;
  lineEnd: '\n' | '\r\n';
  titleRows: number;
  /** Rows from this line on are left out; null: none. */
  footerLine: number | null;
  /** Columns at the end that have neither name nor value and are left out. */
  emptyTail: number;
  header: string[];
  dropsHeaders: boolean;
  dropsControls: boolean;
  /** The bytes that a text had in the file; null where they are the same. */
  encode: ((text: string) => Buffer) | null;
}

/** Control characters that no cell keeps; tab and line breaks stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
const unwanted = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export class RowFixer {
  changed = 0;
  unshown = 0;
  readonly shown: FixedPlace[] = [];
  readonly #scanner: CellScanner;
  readonly #plan: FixPlan;
  readonly #width: number;
  /** Marks of cells that are rewritten. */
  readonly #spoilt: number;
  /** True when rows without faults can keep their bytes. */
  readonly #keeps: boolean;
  #rowsSeen = 0;
  #begun = false;
  #header: Buffer = Buffer.alloc(0);

  constructor(scanner: CellScanner, plan: FixPlan) {
    this.#scanner = scanner;
    this.#plan = plan;
    this.#width = plan.header.length - plan.emptyTail;
    this.#spoilt = quoteFaults | has.nul | (plan.dropsControls ? has.control : 0);
    const { dialect, separator, emptyTail } = plan;
    this.#keeps = dialect.quote === '"' && dialect.escape === '"' && dialect.delimiter === separator && emptyTail === 0;
  }

  /** Notes the lines above the table that are no part of what is scanned. */
  noteSkipped(lines: Buffer): void {
    const texts = lines.toString('utf8').split(/\r\n|\n|\r/);
    if (texts.at(-1) === '') texts.pop();
    for (const [at, text] of texts.entries()) {
      this.#noteAt(at + 1, [{ column: null, before: this.#inFile(text), after: null }]);
    }
  }

  take(): Buffer {
    const parts: Buffer[] = [];
    for (let row = 0; row < this.#scanner.rows; row++) {
      const bytes = this.#fix(row);
      this.#rowsSeen += 1;
      if (bytes === null) continue;
      if (this.#begun) parts.push(this.#lineEnd);
      parts.push(bytes);
      this.#begun = true;
    }
    return Buffer.concat(parts);
  }

  /** What follows the last row: a line end where the table has one (`ended`). */
  end(ended: boolean): Buffer {
    return ended && this.#begun ? this.#lineEnd : Buffer.alloc(0);
  }

  get #lineEnd(): Buffer {
    return this.#plan.lineEnd === '\n' ? lineFeed : carriageReturnLineFeed;
  }

  #fix(row: number): Buffer | null {
    const { titleRows, footerLine, dropsHeaders } = this.#plan;
    if (this.#rowsSeen < titleRows) return this.#leaveOut(row);
    if (this.#rowsSeen === titleRows) return this.#fixHeader(row);
    if (footerLine !== null && this.#scanner.lineOf(row) >= footerLine) return this.#leaveOut(row);
    if (this.#cellsOf(row).every((cell) => this.#scanner.isEmpty(cell))) return this.#leaveOut(row);
    const raw = this.#raw(row);
    if (dropsHeaders && raw.equals(this.#header)) return this.#leaveOut(row);
    if (this.#keeps && !this.#isFaulty(row)) {
      if (this.#plan.encode !== null && !isAscii(raw)) this.#noteCells(row, this.#rawCells(row));
      return raw;
    }
    const cells = this.#cells(row);
    if (cells === null) return this.#leaveOut(row);
    this.#noteCells(row, cells);
    return Buffer.from(cells.join(this.#plan.separator));
  }

  /** The bytes of a row without the line end. */
  #raw(row: number): Buffer {
    const { bytes } = this.#scanner;
    return bytes.subarray(this.#scanner.startOf(row), this.#cellEnd(this.#scanner.firstCell(row + 1) - 1));
  }

  /** Offset behind the last byte of a cell, its quote and the spaces behind that included. */
  #cellEnd(cell: number): number {
    let end = this.#scanner.outerEnd(cell);
    if (this.#has(cell, has.quoteSpaces)) while (this.#scanner.bytes[end] === 0x20) end += 1;
    return end;
  }

  #has(cell: number, marks: number): boolean {
    return ((this.#scanner.marks[cell] ?? 0) & marks) !== 0;
  }

  #cellsOf(row: number): number[] {
    return Array.from({ length: this.#scanner.width(row) }, (_, at) => this.#scanner.firstCell(row) + at);
  }

  #rawCells(row: number): string[] {
    let from = this.#scanner.startOf(row);
    return this.#cellsOf(row).map((cell) => {
      const [start, end] = [from, this.#cellEnd(cell)];
      from = end + 1;
      return this.#scanner.bytes.toString('utf8', start, end);
    });
  }

  #isFaulty(row: number): boolean {
    if (this.#scanner.width(row) !== this.#plan.header.length) return true;
    return this.#cellsOf(row).some((cell) => this.#has(cell, this.#spoilt));
  }

  #fixHeader(row: number): Buffer {
    const raw = this.#raw(row);
    this.#header = Buffer.from(raw);
    const { header, dialect, separator } = this.#plan;
    const first = this.#scanner.firstCell(row);
    const decoded = header.map((_, at) => this.#value(first + at));
    const names = fixedHeader(decoded, dialect.delimiter).map((name) => name.trim());
    const changes = names.some((name, at) => at < this.#width && name !== decoded[at]) || this.#isFaulty(row);
    const cells = names
      .slice(0, this.#width)
      .map((name, at) => this.#serialized(name, this.#scanner.isQuoted(first + at)));
    const keeps = this.#keeps && !changes;
    this.#noteCells(row, keeps ? this.#rawCells(row) : cells);
    return keeps ? raw : Buffer.from(cells.join(separator));
  }

  #value(cell: number): string {
    const text = cellText(this.#scanner, cell, this.#plan.dialect).slice(this.#has(cell, has.unclosed) ? 1 : 0);
    return this.#has(cell, (has.nul | has.control) & this.#spoilt) ? text.replaceAll(unwanted, '') : text;
  }

  #cells(row: number): string[] | null {
    const first = this.#scanner.firstCell(row);
    const values = Array.from({ length: this.#width }, (_, at) => this.#value(first + at));
    if (values.every((value) => value === '')) return null;
    return values.map((value, at) => this.#serialized(value, this.#scanner.isQuoted(first + at)));
  }

  /**
   * A value as it is written. Cells in quotes stay in quotes; others are quoted when they contain a character that could be
   * a separator.
   */
  #serialized(value: string, quoted: boolean): string {
    const needed = quoted || /[,;\t|"\r\n]/.test(value) || (value === '' && this.#width === 1);
    return needed ? `"${value.replaceAll('"', '""')}"` : value;
  }

  #leaveOut(row: number): null {
    const raw = this.#raw(row).toString('utf8');
    this.#note(row, [{ column: null, before: this.#inFile(raw), after: null }]);
    return null;
  }

  /** Notes how a row, of which these are the new cells, differs from the file. */
  #noteCells(row: number, cells: string[]): void {
    const raw = this.#rawCells(row);
    const changes = raw.flatMap((cell, at) => {
      const [before, after] = [this.#inFile(cell), cells[at] ?? ''];
      return before === shownText(Buffer.from(after)) ? [] : [{ column: at + 1, before, after }];
    });
    if (changes.length === 0 && raw.length === this.#plan.header.length) return;
    const { dialect, separator } = this.#plan;
    const [before, after] = [raw.join(dialect.delimiter), cells.join(separator)];
    if (Math.max(before.length, after.length) > longestShown) this.#note(row, changes);
    else this.#note(row, [{ column: null, before: this.#inFile(before), after }]);
  }

  #inFile(text: string): string {
    const { encode } = this.#plan;
    return shownText(encode === null ? Buffer.from(text) : encode(text));
  }

  #note(row: number, places: Omit<FixedPlace, 'line'>[]): void {
    this.#noteAt(this.#scanner.lineOf(row), places);
  }

  #noteAt(line: number, places: Omit<FixedPlace, 'line'>[]): void {
    this.changed += 1;
    if (this.shown.length + places.length > mostShown) {
      this.unshown += 1;
      return;
    }
    for (const { column, before, after } of places)
      this.shown.push({ line, column, before, after: after === null ? null : shownText(Buffer.from(after)) });
  }
}

const longestShown = 400;

const shownText = (bytes: Buffer): string =>
  bytes.length <= longestShown ? escapedText(bytes, 0, bytes.length) : `${escapedText(bytes, 0, longestShown)}…`;

const lineFeed = Buffer.from('\n');
const carriageReturnLineFeed = Buffer.from('\r\n');

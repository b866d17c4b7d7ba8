// What a mend did, fit for a report: it shows rows.
import type { Finding, FindingKind } from '../inspect/finding.ts';
import { fixedHeader } from '../inspect/header.ts';
import { has, quoteFaults } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { cellText, contextAt } from '../scan/cell-text.ts';
import type { TableDialect } from '../scan/dialect.ts';
import { cellOffset } from '../scan/row-fault.ts';

/** A row that was changed or left out. */
interface FixedRow {
  /** Its line in the file as it was. */
  line: number;
  before: string;
  /** Null when the row was left out. */
  after: string | null;
}

/** What a mend did. */
export interface FixReport {
  /** Every mend by name and how often it was needed. */
  mends: { kind: FindingKind | 'separator'; mend: string; count: number }[];
  /** Rows changed or left out one by one; what changes all rows alike is told by `mends` only. */
  changed: number;
  /** The first of them, {@link mostShown} at most. */
  rows: FixedRow[];
  /** Of the mended file. */
  bytes: number;
  sha256: string;
  /** Remarks that stay. */
  left: Finding[];
}

/** How many changed rows a report shows. */
const mostShown = 100;

/** How rows are mended. */
export interface FixPlan {
  /** How the table is written down now. */
  dialect: TableDialect;
  separator: string;
  lineEnd: '\n' | '\r\n';
  /** Rows above the header, which are left out. */
  titleRows: number;
  /** Rows from this line on are left out; null: none. */
  footerLine: number | null;
  /** Columns at the end that have neither name nor value and are left out. */
  emptyTail: number;
  /** The header's cells. */
  header: string[];
  /** Reads the bytes of a cell; null for UTF-8. */
  decode: ((bytes: Buffer) => string) | null;
}

const spoilt = quoteFaults | has.nul | has.control;

/** Control characters that no cell keeps; tab and line breaks stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant
const unwanted = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Fixes the rows that a scanner completes. */
export class RowFixer {
  /** See `FixReport`. */
  changed = 0;
  readonly shown: FixedRow[] = [];
  readonly #scanner: CellScanner;
  readonly #plan: FixPlan;
  readonly #width: number;
  /** True when rows without faults can keep their bytes. */
  readonly #keeps: boolean;
  #rowsSeen = 0;
  #begun = false;
  #header: Buffer = Buffer.alloc(0);
  #fixedHeader: Buffer = Buffer.alloc(0);

  constructor(scanner: CellScanner, plan: FixPlan) {
    this.#scanner = scanner;
    this.#plan = plan;
    this.#width = plan.header.length - plan.emptyTail;
    const { dialect, separator, decode, emptyTail } = plan;
    const standard = dialect.quote === '"' && dialect.escape === '"' && dialect.delimiter === separator;
    this.#keeps = standard && decode === null && emptyTail === 0;
  }

  /** The mended bytes of the complete rows of the scanner; the line end of each is written with the next. */
  take(): Buffer {
    const parts: Buffer[] = [];
    for (let row = 0; row < this.#scanner.rows; row++) {
      const bytes = this.#mend(row);
      this.#rowsSeen += 1;
      if (bytes === null) continue;
      if (this.#begun) parts.push(this.#lineEnd);
      parts.push(bytes);
      this.#begun = true;
    }
    return Buffer.concat(parts);
  }

  /** What stands behind the last row: a line end where the table has one (`ended`). */
  end(ended: boolean): Buffer {
    return ended && this.#begun ? this.#lineEnd : Buffer.alloc(0);
  }

  get #lineEnd(): Buffer {
    return this.#plan.lineEnd === '\n' ? lineFeed : carriageReturnLineFeed;
  }

  /** The bytes of a row; null when it is left out. */
  #mend(row: number): Buffer | null {
    const { titleRows, footerLine } = this.#plan;
    const raw = this.#raw(row);
    if (this.#rowsSeen < titleRows) return this.#leaveOut(row, raw);
    if (this.#rowsSeen === titleRows) return this.#fixHeader(row, raw);
    if (footerLine !== null && (this.#scanner.rowLines[row] ?? 0) >= footerLine) return this.#leaveOut(row, raw);
    if (this.#isEmpty(row) || raw.equals(this.#header) || raw.equals(this.#fixedHeader))
      return this.#leaveOut(row, raw);
    const faulty = this.#isFaulty(row);
    if (this.#keeps && !faulty) return raw;
    const bytes = this.#write(row);
    if (bytes === null || bytes.equals(this.#fixedHeader)) return this.#leaveOut(row, raw);
    if (faulty) this.#note(row, raw, bytes);
    return bytes;
  }

  /** The bytes of a row as they stand in the file, without the line end. */
  #raw(row: number): Buffer {
    const { bytes, ends, marks, rowCells, rowStarts } = this.#scanner;
    const last = (rowCells[row + 1] ?? 0) - 1;
    const end = (ends[last] ?? 0) + (((marks[last] ?? 0) & has.quotes) === 0 ? 0 : 1);
    return bytes.subarray(rowStarts[row] ?? 0, end);
  }

  #isEmpty(row: number): boolean {
    const { starts, ends, rowCells } = this.#scanner;
    const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    for (let cell = first; cell < end; cell++) if (starts[cell] !== ends[cell]) return false;
    return true;
  }

  #isFaulty(row: number): boolean {
    const { marks, rowCells } = this.#scanner;
    const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    for (let cell = first; cell < end; cell++) if (((marks[cell] ?? 0) & spoilt) !== 0) return true;
    return end - first !== this.#plan.header.length;
  }

  #fixHeader(row: number, raw: Buffer): Buffer {
    this.#header = Buffer.from(raw);
    const { header, dialect } = this.#plan;
    const first = this.#scanner.rowCells[row] ?? 0;
    const decoded = header.map((_, at) => this.#value(first + at));
    const names = fixedHeader(decoded, dialect.delimiter).map((name) => name.trim());
    const changes = names.some((name, at) => at < this.#width && name !== decoded[at]) || this.#isFaulty(row);
    this.#fixedHeader = this.#header;
    if (this.#keeps && !changes) return raw;
    const quoted = (at: number): boolean => ((this.#scanner.marks[first + at] ?? 0) & has.quotes) !== 0;
    const cells = names.slice(0, this.#width).map((name, at) => this.#serialized(name, quoted(at)));
    const bytes = Buffer.from(cells.join(this.#plan.separator));
    this.#fixedHeader = bytes;
    if (changes) this.#note(row, raw, bytes);
    return bytes;
  }

  #value(cell: number): string {
    const { dialect, decode } = this.#plan;
    const mark = this.#scanner.marks[cell] ?? 0;
    let text = cellText(this.#scanner, cell, decode === null ? { dialect } : { dialect, decode });
    if ((mark & has.unclosed) !== 0) text = text.slice(1);
    return (mark & (has.nul | has.control)) === 0 ? text : text.replaceAll(unwanted, '');
  }

  /** The row written anew; null when nothing is left in it. */
  #write(row: number): Buffer | null {
    const first = this.#scanner.rowCells[row] ?? 0;
    const values = Array.from({ length: this.#width }, (_, at) => this.#value(first + at));
    if (values.every((value) => value === '')) return null;
    const isQuoted = (at: number): boolean => ((this.#scanner.marks[first + at] ?? 0) & has.quotes) !== 0;
    return Buffer.from(values.map((value, at) => this.#serialized(value, isQuoted(at))).join(this.#plan.separator));
  }

  /**
   * A value as it is written. Cells in quotes stay in quotes, and what has a character that could be taken for a separator
   * gets them.
   */
  #serialized(value: string, quoted: boolean): string {
    const needed = quoted || /[,;\t|"\r\n]/.test(value) || (value === '' && this.#width === 1);
    return needed ? `"${value.replaceAll('"', '""')}"` : value;
  }

  #leaveOut(row: number, raw: Buffer): null {
    this.#note(row, raw, null);
    return null;
  }

  #note(row: number, raw: Buffer, after: Buffer | null): void {
    this.changed += 1;
    if (this.shown.length >= mostShown) return;
    const at = after === null ? 0 : this.#firstChange(row);
    const shownAfter = after === null ? null : contextAt(after, Math.min(at, after.length), after.length);
    this.shown.push({
      line: this.#scanner.rowLines[row] ?? 1,
      before: contextAt(raw, at, raw.length),
      after: shownAfter,
    });
  }

  /** Offset in the row of the first cell that a mend changes. */
  #firstChange(row: number): number {
    const { marks, rowCells, rowStarts } = this.#scanner;
    const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    for (let cell = first; cell < end; cell++) {
      if (((marks[cell] ?? 0) & spoilt) !== 0) return cellOffset(this.#scanner, cell) - (rowStarts[row] ?? 0);
    }
    return 0;
  }
}

const lineFeed = Buffer.from('\n');
const carriageReturnLineFeed = Buffer.from('\r\n');

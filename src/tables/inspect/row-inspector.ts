// Inspects every row below the header: cells, quotes, stray bytes, kinds of values.
import { has, quoteFaults } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { oversizeOf, quoteFaultOf } from '../scan/faults.ts';
import { kindNumber, kindOf } from '../scan/value-kind.ts';
import { ColumnKinds } from './columns.ts';
import { type Findings, foundAt, foundIn, foundRow } from './finding.ts';
import { mostColumns } from './header.ts';
import { noteStart, PaddedNotes } from './padded-notes.ts';
import { RaggedRows } from './ragged-rows.ts';
import { SecondHeaders } from './second-header.ts';

const empty = kindNumber('empty');
const text = kindNumber('text');
const [equals, sharp, space] = [0x3d, 0x23, 0x20];

const badMarks = quoteFaults | has.nul | has.control;

const sheetErrors = /^#(?:REF!|NAME\?|VALUE!|DIV\/0!|N\/A|NUM!|NULL!)$/;

interface RowSettings {
  width: number;
  /** The bytes of the header row without its line end. */
  header: Buffer;
  rowBytes: number;
  /** Lines of rows that are known to be below blank ones. */
  apart: ReadonlySet<number>;
}

/** Inspects rows; the state of a table of any size is bounded. */
export class RowInspector {
  rows = 0;
  readonly kinds: ColumnKinds;
  /** The last row: how many of its cells hold something, its line, and whether it reads like a note, one cut by delimiters, or a sum. */
  readonly last = { line: 0, filled: 0, note: false, cutNote: false, total: false };
  #lastRow = -1;
  readonly #scanner: CellScanner;
  readonly #findings: Findings;
  readonly #settings: RowSettings;
  readonly #ragged: RaggedRows;
  readonly #tail = new PaddedNotes();
  readonly #names: SecondHeaders;
  /** Columns that have their first text in the row at hand. */
  #firstTexts: number[] = [];

  constructor(scanner: CellScanner, findings: Findings, settings: RowSettings) {
    this.#scanner = scanner;
    this.#findings = findings;
    this.#settings = settings;
    this.kinds = new ColumnKinds(Math.min(settings.width, mostColumns + 1));
    this.#names = new SecondHeaders(scanner, settings.header);
    this.#ragged = new RaggedRows(scanner, findings, settings.width);
  }

  /** Inspects the complete rows of the scanner from number `from` on. */
  take(from: number): void {
    const { width, header } = this.#settings;
    const { bytes, rows } = this.#scanner;
    for (let row = from; row < rows; row++) {
      const first = bytes[this.#scanner.startOf(row)];
      if (first === byteOrderMark[0]) this.#maybeMark(row);
      if (this.#scanner.width(row) !== width) this.#odd(row);
      else {
        this.#whole(row);
        if (first === header[0]) this.#maybeHeader(row);
        if (this.#ragged.pending) this.#ragged.fullRow();
      }
    }
    this.rows += rows - from;
    if (this.#lastRow >= 0) this.#judgeLast(this.#lastRow);
    this.#lastRow = -1;
  }

  #whole(row: number): void {
    const { filled, marks } = this.#count(row);
    if ((marks & badMarks) !== 0) this.inspectCells(row);
    if (filled < 2 && this.#settings.width > 1) this.#tail.add(this.#scanner, row, filled);
    else this.#tail.reset();
    if (filled === 0) this.#findings.add('empty-rows', () => foundRow(this.#scanner, row));
    else this.#remember(row, filled);
  }

  /** A row that has more or fewer cells than the header, or none because it is too large. */
  #odd(row: number): void {
    const scanner = this.#scanner;
    const { width, rowBytes } = this.#settings;
    const found = scanner.width(row);
    if (found === 0) {
      const { facts, ...place } = oversizeOf(scanner, row, rowBytes);
      this.#findings.add('row-oversize', () => foundAt(scanner, scanner.startOf(row), place), facts);
      return;
    }
    this.inspectCells(row);
    if (found > width) this.#count(row);
    if (found > 1) this.#tail.reset();
    this.#ragged.add(row);
    this.#remember(row, width);
  }

  #remember(row: number, filled: number): void {
    this.#lastRow = row;
    this.last.filled = filled;
    this.last.line = this.#scanner.lineOf(row);
  }

  #count(row: number): { filled: number; marks: number } {
    const { bytes, starts, ends, marks } = this.#scanner;
    const { width } = this.#settings;
    const { kinds } = this;
    const line = this.#scanner.lineOf(row);
    const first = this.#scanner.firstCell(row);
    const isWhole = this.#scanner.width(row) === width;
    let [all, filled, texts] = [0, 0, 0];
    for (let column = 0; column < width; column++) {
      const cell = first + column;
      const [start, stop, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
      const kind = kindOf(bytes, start, stop, mark);
      kinds.add(column, kind, line);
      all |= mark;
      if (kind !== empty) filled += 1;
      if (kind !== text) continue;
      texts += 1;
      if (kinds.isFirst(column, text)) this.#firstTexts.push(column);
      if (isWhole && isOdd(bytes[start], bytes[stop - 1])) this.#oddText(row, cell);
    }
    if (this.#firstTexts.length > 0) this.#noteNames(row, texts === filled ? texts : 0);
    return { filled, marks: all };
  }

  /** Remembers a row that has the first text of some columns, and so many names and no value. */
  #noteNames(row: number, names: number): void {
    const isFirst = this.#lastRow < 0 && this.last.line === 0;
    if (names > (isFirst ? 0 : 1)) this.#names.add(row, this.#firstTexts, { isFirst, isApart: this.#isApart(row) });
    this.#firstTexts = [];
  }

  /** The table has ended; its first row is certainly the header when that `isGiven`, and then all others are records. */
  end(isGiven: boolean): void {
    this.#ragged.end(this.rows);
    if (isGiven) return;
    this.#tail.report(this.#findings);
    this.#names.report(this.#findings, (column) => this.kinds.facts(column));
  }

  get footerLine(): number | null {
    const lines = [this.#ragged.footerLine, this.#tail.footerLine].filter((line) => line !== null);
    return lines.length === 0 ? null : Math.min(...lines);
  }

  #judgeLast(row: number): void {
    const { bytes, starts, ends, marks } = this.#scanner;
    const first = this.#scanner.firstCell(row);
    const [start, mark] = [starts[first] ?? 0, marks[first] ?? 0];
    this.last.note = (mark & has.space) !== 0 && (mark & has.text) !== 0;
    const begin = bytes.toString('utf8', start, Math.min(ends[first] ?? 0, start + 60));
    const isCut = starts.subarray(first + 1, this.#scanner.firstCell(row + 1)).some((at) => bytes[at] === space);
    this.last.cutNote = isCut && (mark & has.quotes) === 0 && (noteStart.test(begin) || this.#isApart(row));
    this.last.total = /^(?:grand )?(?:total|sum|subtotal|summe|gesamt)\b/i.test(begin);
  }

  #isApart(row: number): boolean {
    if (this.#settings.apart.has(this.#scanner.lineOf(row))) return true;
    const start = this.#scanner.startOf(row);
    const above = this.#scanner.bytes.toString('latin1', Math.max(0, start - 64), start);
    return /(?:\n|\r(?!\n))[,;\t|]*(?:\r\n?|\n)$/.test(above);
  }

  /** Inspects the cells of a row, the header too, for faults of quoting and stray bytes. */
  inspectCells(row: number): void {
    const { marks } = this.#scanner;
    for (let cell = this.#scanner.firstCell(row); cell < this.#scanner.firstCell(row + 1); cell++) {
      const mark = marks[cell] ?? 0;
      if ((mark & quoteFaults) !== 0) this.#quoteFault(row, cell);
      if ((mark & has.nul) !== 0) this.#stray(row, cell, 'nul');
      if ((mark & has.control) !== 0) this.#stray(row, cell, 'control');
    }
  }

  #quoteFault(row: number, cell: number): void {
    const fault = quoteFaultOf(this.#scanner, cell, this.#settings.rowBytes);
    if (fault === null) return;
    const found = () => foundIn(this.#scanner, row, [cell, this.#scanner.outerStart(cell)]);
    this.#findings.add(fault.kind, found, { ...fault.facts, isFixable: this.#canFix(row, cell) });
  }

  /**
   * Text after a quote is read safely only where another quote closes the cell in the same line; a quote that is never
   * closed only where the row is whole without it.
   */
  #canFix(row: number, cell: number): boolean {
    const mark = this.#scanner.marks[cell] ?? 0;
    if ((mark & has.unclosedInLimit) !== 0) return false;
    if ((mark & has.unclosed) !== 0) return this.#scanner.width(row) === this.#settings.width;
    return (mark & has.textAfterQuote) === 0 || (mark & has.quotes) !== 0;
  }

  #stray(row: number, cell: number, kind: 'nul' | 'control'): void {
    const { bytes, starts, ends } = this.#scanner;
    const start = starts[cell] ?? 0;
    const isStray = kind === 'nul' ? isNul : isControl;
    const at = start + bytes.subarray(start, ends[cell]).findIndex(isStray);
    this.#findings.add(kind, () => foundIn(this.#scanner, row, [cell, at]), { byte: bytes[at] ?? 0 });
  }

  /** A text that begins or ends in a way that is remarked. */
  #oddText(row: number, cell: number): void {
    const { bytes, starts, ends } = this.#scanner;
    const [start, end] = [starts[cell] ?? 0, ends[cell] ?? 0];
    const first = bytes[start];
    if (first === sharp && !sheetErrors.test(bytes.toString('latin1', start, Math.min(end, start + 10)))) return;
    if (first === equals && end - start < 2) return;
    const kind = first === sharp ? 'sheet-error' : first === equals ? 'formula' : 'spaces';
    this.#findings.add(kind, () => foundIn(this.#scanner, row, [cell, start]));
  }

  #maybeMark(row: number): void {
    const start = this.#scanner.startOf(row);
    if (!byteOrderMark.equals(this.#scanner.bytes.subarray(start, start + 3))) return;
    this.#findings.add('joined-files', () => foundRow(this.#scanner, row));
  }

  #maybeHeader(row: number): void {
    const end = this.#scanner.outerEnd(this.#scanner.firstCell(row + 1) - 1);
    if (!this.#settings.header.equals(this.#scanner.bytes.subarray(this.#scanner.startOf(row), end))) return;
    this.#findings.add('repeated-header', () => foundRow(this.#scanner, row));
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

const isOdd = (first: number | undefined, last: number | undefined): boolean =>
  first === space || last === space || first === equals || first === sharp;

const isNul = (byte: number): boolean => byte === 0;

const isControl = (byte: number): boolean =>
  (byte < space && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 0) || byte === 0x7f;

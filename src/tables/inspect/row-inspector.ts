// Inspects every row below the header: cells, quotes, stray bytes, kinds of values.
import { has, quoteFaults } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import type { Facts, FindingKind } from '../scan/fault-kinds.ts';
import { cellEnd, cellOffset, oversizeOf, placeInRow, quoteFaultOf } from '../scan/faults.ts';
import { kindNumber, kindOf } from '../scan/value-kind.ts';
import type { ColumnKinds } from './columns.ts';
import type { Findings, FoundAt } from './finding.ts';
import { noteStart, PaddedNotes, RaggedRows, type RowSettings } from './ragged-rows.ts';
import { SecondHeaders } from './second-header.ts';

const empty = kindNumber('empty');
const text = kindNumber('text');
const [equals, sharp, space] = [0x3d, 0x23, 0x20];

const badMarks = quoteFaults | has.nul | has.control;

const sheetErrors = /^#(?:REF!|NAME\?|VALUE!|DIV\/0!|N\/A|NUM!|NULL!)$/;

/** Inspects rows; the state of a table of any size is bounded. */
export class RowInspector {
  /** Rows below the header. */
  rows = 0;
  /** The last row: how many of its cells hold something, its line, and whether it reads like a note, one cut by delimiters, or a sum. */
  readonly last = { line: 0, filled: 0, note: false, cutNote: false, total: false };
  #lastRow = -1;
  readonly #scanner: CellScanner;
  readonly #findings: Findings;
  readonly #kinds: ColumnKinds;
  readonly #settings: RowSettings;
  readonly #ragged: RaggedRows;
  readonly #tail = new PaddedNotes();
  readonly #names: SecondHeaders;
  /** Columns that have their first text in the row at hand. */
  #firstTexts: number[] = [];

  constructor(scanner: CellScanner, parts: { findings: Findings; kinds: ColumnKinds; settings: RowSettings }) {
    this.#scanner = scanner;
    this.#findings = parts.findings;
    this.#kinds = parts.kinds;
    this.#settings = parts.settings;
    this.#names = new SecondHeaders(scanner, parts.settings.header);
    this.#ragged = new RaggedRows(scanner, parts.findings, parts.settings);
  }

  /** Inspects the complete rows of the scanner from number `from` on. */
  take(from: number): void {
    const { width, header } = this.#settings;
    const { bytes, rowCells, rowStarts, rows } = this.#scanner;
    const headerFirst = header[0];
    for (let row = from; row < rows; row++) {
      if (bytes[rowStarts[row] ?? 0] === 0xef) this.#maybeMark(row);
      if ((rowCells[row + 1] ?? 0) - (rowCells[row] ?? 0) !== width) this.#odd(row);
      else {
        this.#cells(row);
        if (bytes[rowStarts[row] ?? 0] === headerFirst) this.#maybeHeader(row);
        if (this.#ragged.pending) this.#ragged.fullRow();
      }
    }
    this.rows += rows - from;
    if (this.#lastRow >= 0) this.#rememberLast(this.#lastRow);
    this.#lastRow = -1;
  }

  /** Counts the values of a row that has as many cells as the header. */
  #cells(row: number): void {
    const { bytes, starts, ends, marks, rowCells, rowLines } = this.#scanner;
    const kinds = this.#kinds;
    const line = rowLines[row] ?? 1;
    const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    let [all, filled, texts] = [0, 0, 0];
    for (let cell = first; cell < end; cell++) {
      const mark = marks[cell] ?? 0;
      const [start, stop] = [starts[cell] ?? 0, ends[cell] ?? 0];
      const kind = kindOf(bytes, start, stop, mark);
      kinds.add(cell - first, kind, line);
      all |= mark;
      if (kind !== empty) filled += 1;
      if (kind !== text) continue;
      texts += 1;
      this.#text(row, cell - first, isOdd(bytes[start], bytes[stop - 1]));
    }
    if ((all & badMarks) !== 0) this.#faultyCells(row);
    if (this.#firstTexts.length > 0) this.#noteNames(row, texts === filled ? texts : 0);
    if (filled < 2 && end - first > 1) this.#tail.add(this.#scanner, row, filled);
    else this.#tail.reset();
    if (filled === 0) this.#emptyRow(row);
    else {
      this.#lastRow = row;
      this.last.filled = filled;
      this.last.line = line;
    }
  }

  #text(row: number, column: number, isOddText: boolean): void {
    if (this.#kinds.isFirst(column, text)) this.#firstTexts.push(column);
    if (isOddText) this.#oddText(row, (this.#scanner.rowCells[row] ?? 0) + column);
  }

  /** Remembers a row that has the first text of some columns, and so many names and no value. */
  #noteNames(row: number, names: number): void {
    const isFirst = this.#lastRow < 0 && this.last.line === 0;
    if (names > (isFirst ? 0 : 1)) this.#names.add(row, this.#firstTexts, { isFirst, isApart: this.#isApart(row) });
    this.#firstTexts = [];
  }

  /** Inspects the cells of the header for faults of quoting and stray bytes. */
  inspectHeader(row: number): void {
    this.#faultyCells(row);
  }

  /** The table has ended; its first row is certainly the header when that `isGiven`, and then all others are records. */
  end(isGiven: boolean): void {
    this.#ragged.end(this.rows);
    if (isGiven) return;
    this.#tail.report(this.#findings);
    this.#names.report(this.#findings, (column) => this.#kinds.facts(column), this.#settings.offsets);
  }

  /** Line of the first row of a footer that a fix leaves out; null when there is none. */
  get footerLine(): number | null {
    const lines = [this.#ragged.footerLine, this.#tail.footerLine].filter((line) => line !== null);
    return lines.length === 0 ? null : Math.min(...lines);
  }

  #rememberLast(row: number): void {
    const { marks, rowCells, starts, ends, bytes } = this.#scanner;
    const first = rowCells[row] ?? 0;
    const mark = marks[first] ?? 0;
    this.last.note = (mark & has.space) !== 0 && (mark & has.text) !== 0;
    const start = bytes.toString('utf8', starts[first] ?? 0, Math.min(ends[first] ?? 0, (starts[first] ?? 0) + 60));
    const isCut = starts.subarray(first + 1, rowCells[row + 1]).some((at) => bytes[at] === space);
    this.last.cutNote = isCut && (mark & has.quotes) === 0 && (noteStart.test(start) || this.#isApart(row));
    this.last.total = /^(?:grand )?(?:total|sum|subtotal|summe|gesamt)\b/i.test(start);
  }

  /** True when a blank line is above a row, or one of delimiters only. */
  #isApart(row: number): boolean {
    const { bytes, rowLines, rowStarts } = this.#scanner;
    if (this.#settings.apart.has(rowLines[row] ?? 0)) return true;
    const start = rowStarts[row] ?? 0;
    const above = bytes.toString('latin1', Math.max(0, start - 64), start);
    return /(?:\n|\r(?!\n))[,;\t|]*(?:\r\n?|\n)$/.test(above);
  }

  #offset(at: number): number | null {
    return this.#settings.offsets ? this.#scanner.base + at : null;
  }

  #context(at: number): string {
    return contextAt(this.#scanner.bytes, at, this.#scanner.end);
  }

  /** Adds a finding about the byte at offset `at` of the scanner. */
  #add<K extends FindingKind>(kind: K, at: number, place: FoundAt, ...facts: Facts<K>): void {
    this.#findings.add(kind, { ...place, offset: this.#offset(at), context: this.#context(at) }, ...facts);
  }

  #odd(row: number): void {
    const { rowStarts } = this.#scanner;
    if (this.#scanner.width(row) === 0) {
      if (this.#findings.tally('row-oversize', false)) return;
      const { facts, ...place } = oversizeOf(this.#scanner, row, this.#settings.rowBytes);
      this.#add('row-oversize', rowStarts[row] ?? 0, place, facts);
      return;
    }
    this.#faultyCells(row);
    this.#countOdd(row);
    if ((this.#scanner.rowCells[row + 1] ?? 0) - (this.#scanner.rowCells[row] ?? 0) > 1) this.#tail.reset();
    this.#ragged.add(row);
    this.#lastRow = row;
    this.last.line = this.#scanner.rowLines[row] ?? 1;
    this.last.filled = this.#settings.width;
  }

  /** Counts the values below the header of a row that has cells behind it. */
  #countOdd(row: number): void {
    const { bytes, starts, ends, marks, rowCells, rowLines } = this.#scanner;
    const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    const { width } = this.#settings;
    let [texts, filled] = [0, 0];
    for (let column = 0; column < width && end - first > width; column++) {
      const cell = first + column;
      const kind = kindOf(bytes, starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0);
      this.#kinds.add(column, kind, rowLines[row] ?? 1);
      if (kind !== empty) filled += 1;
      if (kind !== text) continue;
      texts += 1;
      this.#text(row, column, false);
    }
    if (this.#firstTexts.length > 0) this.#noteNames(row, texts === filled ? texts : 0);
  }

  #faultyCells(row: number): void {
    const { marks, rowCells } = this.#scanner;
    for (let cell = rowCells[row] ?? 0; cell < (rowCells[row + 1] ?? 0); cell++) {
      const mark = marks[cell] ?? 0;
      if ((mark & quoteFaults) !== 0) this.#quoteFault(row, cell, mark);
      if ((mark & has.nul) !== 0) this.#stray(row, cell, 'nul');
      if ((mark & has.control) !== 0) this.#stray(row, cell, 'control');
    }
  }

  #quoteFault(row: number, cell: number, mark: number): void {
    const fault = quoteFaultOf(this.#scanner, cell, this.#settings.rowBytes);
    const isFixable = this.#canFix(row, mark);
    if (fault === null || this.#findings.tally(fault.kind, isFixable)) return;
    const at = cellOffset(this.#scanner, cell);
    const place = placeInRow(this.#scanner, row, cell, at);
    this.#add(fault.kind, at, place, { ...('facts' in fault ? fault.facts : {}), isFixable });
  }

  /**
   * Text after a quote is read safely only where another quote closes the cell in the same line; a quote that is never
   * closed only where the row is whole without it.
   */
  #canFix(row: number, mark: number): boolean {
    if ((mark & has.unclosedInLimit) !== 0) return false;
    const { rowCells } = this.#scanner;
    if ((mark & has.unclosed) !== 0) return (rowCells[row + 1] ?? 0) - (rowCells[row] ?? 0) === this.#settings.width;
    return (mark & has.textAfterQuote) === 0 || (mark & has.quotes) !== 0;
  }

  #stray(row: number, cell: number, kind: 'nul' | 'control'): void {
    if (this.#findings.tally(kind, true)) return;
    const { bytes, starts, ends } = this.#scanner;
    let at = starts[cell] ?? 0;
    const end = ends[cell] ?? 0;
    while (at < end && !(kind === 'nul' ? bytes[at] === 0 : isControl(bytes[at] ?? 0))) at += 1;
    const place = placeInRow(this.#scanner, row, cell, at);
    if (kind === 'control') this.#add(kind, at, place, { byte: bytes[at] ?? 0 });
    else this.#add(kind, at, place, {});
  }

  #oddText(row: number, cell: number): void {
    const { bytes, starts, ends } = this.#scanner;
    const [start, end] = [starts[cell] ?? 0, ends[cell] ?? 0];
    const first = bytes[start];
    if (first === sharp) {
      if (sheetErrors.test(bytes.toString('latin1', start, Math.min(end, start + 10)))) {
        this.#remark('sheet-error', row, cell);
      }
      return;
    }
    if (first === equals) {
      if (end - start > 1) this.#remark('formula', row, cell);
      return;
    }
    this.#remark('spaces', row, cell);
  }

  #remark(kind: 'sheet-error' | 'formula' | 'spaces', row: number, cell: number): void {
    if (this.#findings.tally(kind, false)) return;
    const at = this.#scanner.starts[cell] ?? 0;
    this.#add(kind, at, placeInRow(this.#scanner, row, cell, at));
  }

  #emptyRow(row: number): void {
    if (this.#findings.tally('empty-rows', true)) return;
    const line = this.#scanner.rowLines[row] ?? 1;
    this.#add('empty-rows', this.#scanner.rowStarts[row] ?? 0, { line });
  }

  #maybeMark(row: number): void {
    const { bytes, rowStarts, rowLines } = this.#scanner;
    const start = rowStarts[row] ?? 0;
    if (bytes[start + 1] !== 0xbb || bytes[start + 2] !== 0xbf || this.#findings.tally('joined-files', false)) return;
    this.#add('joined-files', start, { line: rowLines[row] ?? 1 });
  }

  #maybeHeader(row: number): void {
    const { bytes, rowCells, rowStarts, rowLines } = this.#scanner;
    const { header } = this.#settings;
    const start = rowStarts[row] ?? 0;
    const end = cellEnd(this.#scanner, (rowCells[row + 1] ?? 0) - 1);
    if (end - start !== header.length || bytes.compare(header, 0, header.length, start, end) !== 0) return;
    if (this.#findings.tally('repeated-header', true)) return;
    this.#add('repeated-header', start, { line: rowLines[row] ?? 1 });
  }
}

const isOdd = (first: number | undefined, last: number | undefined): boolean =>
  first === space || last === space || first === equals || first === sharp;

const isControl = (byte: number): boolean =>
  (byte < space && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 0) || byte === 0x7f;

// Rows with too few or too many cells: each is reported, except notes below the last row, which are reported as such.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import { raggedRow } from '../scan/faults.ts';
import { lineBreaksIn } from '../scan/row-fault.ts';
import { type FindingKind, type Findings, type Told, toldOf } from './finding.ts';

/** What is known of the table when its rows are looked at. */
export interface RowSettings {
  /** Cells of the header. */
  width: number;
  /** The bytes of the header row without its line end. */
  header: Buffer;
  rowBytes: number;
  /** False where offsets in the scanned bytes are none of the file. */
  offsets: boolean;
}

/** How many rows below the last full one may be notes. */
const mostNotes = 20;

const leftOut = 'the notes below the last row are left out';

/** Collects ragged rows. */
export class RaggedRows {
  /** True when the next full row must be looked at, because it decides whether rows before it are notes. */
  pending = false;
  /** Line of the first note below the last row; null when there is none. Known after {@link end}. */
  footerLine: number | null = null;
  readonly #scanner: CellScanner;
  readonly #findings: Findings;
  readonly #settings: RowSettings;
  #notes: Told[] = [];
  /** True behind so many notes that they are none, until a full row follows. */
  #tooMany = false;
  #long = 0;
  #short = { line: 0, cells: 0, row: -1, rows: 0 };

  constructor(scanner: CellScanner, findings: Findings, settings: RowSettings) {
    this.#scanner = scanner;
    this.#findings = findings;
    this.#settings = settings;
  }

  /** Takes a row with another number of cells than the header. */
  add(row: number): void {
    const { rowCells } = this.#scanner;
    const found = (rowCells[row + 1] ?? 0) - (rowCells[row] ?? 0);
    if (found > this.#settings.width) this.#takeLong(row, found);
    else if (found === 1 && !this.#tooMany && this.#isNote(row)) this.#takeNote(row, found);
    else this.#takeShort(row, found);
  }

  #takeNote(row: number, found: number): void {
    this.#notes.push(this.#told(row, found));
    this.pending = true;
    if (this.#notes.length <= mostNotes) return;
    this.#tellNotes();
    this.#tooMany = true;
  }

  /** A full row follows, so the rows that wait are no notes. */
  fullRow(): void {
    this.#tellNotes();
    this.#tooMany = false;
    this.pending = false;
  }

  #tellNotes(): void {
    for (const told of this.#notes) this.#findings.add('row-short', told);
    this.#notes = [];
  }

  /** The table has ended after so many rows. */
  end(rows: number): void {
    this.footerLine = this.#notes[0]?.line ?? null;
    for (const told of this.#notes) {
      const message = 'a note follows the last row of the table';
      const hint = 'remove it, or publish it as description of the resource';
      this.#findings.add('footer', { ...told, message, hint, mend: leftOut });
    }
    const long = this.#findings.of('row-long');
    if (long !== undefined && this.#long === rows && rows > 1) {
      long.hint = 'every row has more cells than the header: give the header a name for each column';
    }
  }

  #isNote(row: number): boolean {
    const cell = this.#scanner.rowCells[row] ?? 0;
    const mark = this.#scanner.marks[cell] ?? 0;
    return (mark & (has.text | has.high)) !== 0 && (mark & has.space) !== 0;
  }

  #told(row: number, found: number): Told {
    const { base, bytes, ends, rowCells, rowLines, rowStarts, end } = this.#scanner;
    const line = rowLines[row] ?? 1;
    const start = rowStarts[row] ?? 0;
    const lastLine = line + lineBreaksIn(bytes, start, ends[(rowCells[row + 1] ?? 0) - 1] ?? 0);
    return {
      ...toldOf(raggedRow({ line, lastLine, found, expected: this.#settings.width })),
      offset: this.#settings.offsets ? base + start : null,
      context: contextAt(bytes, start, end),
    };
  }

  #takeShort(row: number, found: number): void {
    this.#tellNotes();
    const line = this.#scanner.rowLines[row] ?? 1;
    const before = this.#short;
    this.#short = { line, cells: found, row, rows: 0 };
    if (!this.#findings.tally('row-short', false)) this.#findings.add('row-short', this.#told(row, found));
    if (before.line === line - 1 && before.cells + found === this.#settings.width + 1)
      this.#tellSplit(row, before.line, line);
  }

  #tellSplit(row: number, first: number, second: number): void {
    if (this.#findings.tally('row-split', false)) return;
    const { offset, context } = this.#told(row, 0);
    this.#findings.add('row-split', {
      code: 'table-ragged',
      line: second,
      message: `lines ${first} and ${second} together have as many cells as one row: an unquoted cell contains a line break`,
      hint: 'put the cell with the line break in quotes',
      offset: offset ?? null,
      context: context ?? null,
    });
  }

  #takeLong(row: number, found: number): void {
    this.#tellNotes();
    const { starts, ends, rowCells } = this.#scanner;
    const first = rowCells[row] ?? 0;
    let kind: FindingKind = 'row-long-empty';
    for (let cell = first + this.#settings.width; cell < first + found; cell++) {
      if (starts[cell] !== ends[cell]) kind = 'row-long';
    }
    if (kind === 'row-long') this.#long += 1;
    const mendable = kind === 'row-long-empty';
    if (this.#findings.tally(kind, mendable)) return;
    const told = this.#told(row, found);
    this.#findings.add(
      kind,
      mendable ? { ...told, mend: 'the empty cells behind the last column are left out' } : told,
    );
  }
}

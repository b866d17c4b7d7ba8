// Rows with too few or too many cells, except notes below the last row, which are reported as notes.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import type { FactsOf } from '../scan/fault-kinds.ts';
import { raggedFacts } from '../scan/faults.ts';
import { type Findings, type FoundAt, foundRow } from './finding.ts';
import { mostNotes } from './padded-notes.ts';

export class RaggedRows {
  /** Line of the first note below the last row; null when there is none. Known after {@link end}. */
  footerLine: number | null = null;
  readonly #scanner: CellScanner;
  readonly #findings: Findings;
  readonly #width: number;
  /** Rows that are notes unless a full row follows. */
  #notes: { at: FoundAt; facts: FactsOf<'row-short'> }[] = [];
  /** True after so many of them that they cannot be notes, until a full row follows. */
  #tooMany = false;
  #long = 0;
  #short = { line: 0, cells: 0 };

  constructor(scanner: CellScanner, findings: Findings, width: number) {
    this.#scanner = scanner;
    this.#findings = findings;
    this.#width = width;
  }

  /** True when the next full row must be reported, because it decides whether rows before it are notes. */
  get pending(): boolean {
    return this.#tooMany || this.#notes.length > 0;
  }

  add(row: number): void {
    if (this.#scanner.width(row) === 1 && !this.#tooMany && this.#isNote(row)) this.#takeNote(row);
    else {
      this.#reportNotes();
      if (this.#scanner.width(row) > this.#width) this.#takeLong(row);
      else this.#takeShort(row);
    }
  }

  #isNote(row: number): boolean {
    const mark = this.#scanner.marks[this.#scanner.firstCell(row)] ?? 0;
    return (mark & (has.text | has.high)) !== 0 && (mark & has.space) !== 0;
  }

  #takeNote(row: number): void {
    this.#notes.push({ at: foundRow(this.#scanner, row), facts: raggedFacts(this.#scanner, row, this.#width) });
    if (this.#notes.length <= mostNotes) return;
    this.#reportNotes();
    this.#tooMany = true;
  }

  /** A full row follows, so the rows that wait are no notes. */
  fullRow(): void {
    this.#reportNotes();
    this.#tooMany = false;
  }

  #reportNotes(): void {
    for (const { at, facts } of this.#notes) this.#findings.add('row-short', at, facts);
    this.#notes = [];
  }

  end(rows: number): void {
    this.footerLine = this.#notes[0]?.at.line ?? null;
    for (const { at } of this.#notes) this.#findings.add('footer', at, { looks: 'behind' });
    const long = this.#findings.of('row-long');
    if (long !== undefined && this.#long === rows && rows > 1) {
      long.hint = 'every row has more cells than the header: give the header a name for each column';
    }
  }

  #takeShort(row: number): void {
    const { line, cells } = this.#short;
    this.#short = { line: this.#scanner.lineOf(row), cells: this.#scanner.width(row) };
    const found = (): FoundAt => foundRow(this.#scanner, row);
    this.#findings.add('row-short', found, raggedFacts(this.#scanner, row, this.#width));
    if (line === this.#short.line - 1 && cells + this.#short.cells === this.#width + 1)
      this.#findings.add('row-split', found, { first: line, second: this.#short.line });
  }

  #takeLong(row: number): void {
    const { starts, ends } = this.#scanner;
    const [from, to] = [this.#scanner.firstCell(row) + this.#width, this.#scanner.firstCell(row + 1)];
    const isEmpty = starts.subarray(from, to).every((start, at) => start === ends[from + at]);
    if (!isEmpty) this.#long += 1;
    const kind = isEmpty ? 'row-long-empty' : 'row-long';
    this.#findings.add(kind, () => foundRow(this.#scanner, row), raggedFacts(this.#scanner, row, this.#width));
  }
}

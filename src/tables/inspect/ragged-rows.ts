// Rows with too few or too many cells, except notes below the last row, which are reported as notes, padded ones too.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import type { FactsOf } from '../scan/fault-kinds.ts';
import { lineBreaksIn } from '../scan/faults.ts';
import type { Findings, FoundAt } from './finding.ts';

/** What is known of the table when its rows are checked. */
export interface RowSettings {
  /** Cells of the header. */
  width: number;
  /** The bytes of the header row without its line end. */
  header: Buffer;
  rowBytes: number;
  /** False where offsets in the scanned bytes are none of the file. */
  offsets: boolean;
  /** Lines of rows that are known to be below blank ones. */
  apart: ReadonlySet<number>;
}

/** How many rows below the last full one may be notes. */
const mostNotes = 20;

/** A row with too few or too many cells. */
interface RaggedRow {
  at: FoundAt;
  facts: FactsOf<'row-long'>;
}

/** Collects ragged rows. */
export class RaggedRows {
  /** True when the next full row must be checked, because it decides whether rows before it are notes. */
  pending = false;
  /** Line of the first note below the last row; null when there is none. Known after {@link end}. */
  footerLine: number | null = null;
  readonly #scanner: CellScanner;
  readonly #findings: Findings;
  readonly #settings: RowSettings;
  #notes: RaggedRow[] = [];
  /** True after so many notes that they cannot be notes, until a full row follows. */
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
    this.#notes.push(this.#details(row, found));
    this.pending = true;
    if (this.#notes.length <= mostNotes) return;
    this.#reportNotes();
    this.#tooMany = true;
  }

  /** A full row follows, so the rows that wait are no notes. */
  fullRow(): void {
    this.#reportNotes();
    this.#tooMany = false;
    this.pending = false;
  }

  #reportNotes(): void {
    for (const { at, facts } of this.#notes) this.#findings.add('row-short', at, facts);
    this.#notes = [];
  }

  /** The table has ended after so many rows. */
  end(rows: number): void {
    this.footerLine = this.#notes[0]?.at.line ?? null;
    for (const { at } of this.#notes) this.#findings.add('footer', at, { looks: 'behind' });
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

  #details(row: number, found: number): RaggedRow {
    const { base, bytes, ends, rowCells, rowLines, rowStarts, end } = this.#scanner;
    const line = rowLines[row] ?? 1;
    const start = rowStarts[row] ?? 0;
    const lastLine = line + lineBreaksIn(bytes, start, ends[(rowCells[row + 1] ?? 0) - 1] ?? 0);
    const offset = this.#settings.offsets ? base + start : null;
    return {
      at: { line, offset, context: contextAt(bytes, start, end) },
      facts: { line, lastLine, found, expected: this.#settings.width },
    };
  }

  #takeShort(row: number, found: number): void {
    this.#reportNotes();
    const line = this.#scanner.rowLines[row] ?? 1;
    const before = this.#short;
    this.#short = { line, cells: found, row, rows: 0 };
    if (!this.#findings.tally('row-short', false)) {
      const { at, facts } = this.#details(row, found);
      this.#findings.add('row-short', at, facts);
    }
    if (before.line === line - 1 && before.cells + found === this.#settings.width + 1)
      this.#reportSplit(row, before.line, line);
  }

  #reportSplit(row: number, first: number, second: number): void {
    if (this.#findings.tally('row-split', false)) return;
    this.#findings.add('row-split', this.#details(row, 0).at, { first, second });
  }

  #takeLong(row: number, found: number): void {
    this.#reportNotes();
    const { starts, ends, rowCells } = this.#scanner;
    const first = rowCells[row] ?? 0;
    let kind: 'row-long' | 'row-long-empty' = 'row-long-empty';
    for (let cell = first + this.#settings.width; cell < first + found; cell++) {
      if (starts[cell] !== ends[cell]) kind = 'row-long';
    }
    if (kind === 'row-long') this.#long += 1;
    if (this.#findings.tally(kind, kind === 'row-long-empty')) return;
    const { at, facts } = this.#details(row, found);
    this.#findings.add(kind, at, facts);
  }
}

/** How notes begin, but not rows: such a word and a colon, an asterisk, a number in brackets. */
export const noteStart =
  /^(?:(?:data )?(?:sources?|notes?|remarks?|footnotes?|legend|disclaimer|updated|last updated?|as of|quellen?|datenquelle|hinweise?|anmerkung(?:en)?|bemerkung|stand|fuentes?|notas?|fontes?|nota bene|bron(?:nen)?|opmerking|källa|kilde|lähde|zdroj|źródło|forrás|kaynak|remarques?|légende|fonte) ?: |\*+ ?\p{L}|\(?\d\) |©)/iu;

/** From so many bytes and words on, a text that is alone in the last rows counts as a note. */
const [longNote, noteWords] = [20, 3];

/** Collects rows with one value or none at the end of the table, which may be notes; another row resets it. */
export class PaddedNotes {
  /** Line of the first note; null when there is none. Known after {@link tell}. */
  footerLine: number | null = null;
  #notes: FoundAt[] = [];
  #count = 0;
  /** True when an empty row is above the first note. */
  #isApart = false;
  #areMarked = true;
  #areLong = true;
  /** True when the table has such rows among the others. */
  #isUsual = false;

  /** Takes a row of which `filled` cells have a value. */
  add(scanner: CellScanner, row: number, filled: number): void {
    const { base, bytes, end, starts, ends, marks, rowCells, rowLines, rowStarts } = scanner;
    if (filled === 0) {
      if (this.#count === 0) this.#isApart = true;
      return;
    }
    const first = rowCells[row] ?? 0;
    const [start, stop, mark] = [starts[first] ?? 0, ends[first] ?? 0, marks[first] ?? 0];
    const isText = start < stop && (mark & has.space) !== 0 && (mark & (has.text | has.high)) !== 0;
    this.#count += 1;
    if (!isText) this.#count = Number.POSITIVE_INFINITY;
    if (this.#count > mostNotes) return;
    const text = bytes.toString('utf8', start, Math.min(stop, start + 200));
    if (!noteStart.test(text)) this.#areMarked = false;
    if (stop - start < longNote || text.split(' ').length < noteWords) this.#areLong = false;
    const at = rowStarts[row] ?? 0;
    this.#notes.push({ line: rowLines[row] ?? 1, offset: base + at, context: contextAt(bytes, at, end) });
  }

  /** Another row follows, so there were no notes. */
  reset(): void {
    if (this.#count === 0 && !this.#isApart) return;
    if (this.#count > 0) this.#isUsual = true;
    this.#notes = [];
    this.#count = 0;
    this.#isApart = false;
    this.#areMarked = true;
    this.#areLong = true;
  }

  /** The table has ended. */
  report(findings: Findings): void {
    if (this.#count === 0 || this.#count > mostNotes) return;
    const isSure = this.#areMarked || (this.#isApart && this.#areLong);
    if (!isSure && (this.#isUsual || !this.#isApart)) return;
    if (isSure) this.footerLine = this.#notes[0]?.line ?? null;
    for (const at of this.#notes) findings.add('footer', at, { looks: isSure ? 'below' : 'maybe' });
  }
}

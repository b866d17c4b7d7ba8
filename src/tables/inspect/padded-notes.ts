// Notes below the last row that have as many cells as the table, all but the first of them empty.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import type { Findings, Told } from './finding.ts';

/** How many rows at the end may be notes. */
const mostNotes = 20;

/** How a note begins that no row begins with: a word and a colon, an asterisk, a number in brackets. */
export const noteStart = /^(?:[\p{L} ]{3,30}: |\*+ ?\p{L}|\(?\d\) |©)/u;

/** From so many bytes and words on, a text is taken for a note where it stands alone in the last rows. */
const [longNote, noteWords] = [20, 3];

/** Follows the rows with one cell or none; forgets them when another row comes. */
export class PaddedNotes {
  /** Line of the first note; null when there is none. Known after {@link tell}. */
  footerLine: number | null = null;
  #notes: Told[] = [];
  #count = 0;
  /** True when an empty row stands above the first note. */
  #isApart = false;
  #areMarked = true;
  #areLong = true;
  /** True when the table has such rows among the others. */
  #isUsual = false;

  /** Takes a row with so many cells that hold something. */
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
    this.#notes.push({ line: rowLines[row] ?? 1, offset: base + at, context: contextAt(bytes, at, end), message: '' });
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
  tell(findings: Findings): void {
    if (this.#count === 0 || this.#count > mostNotes) return;
    const isSure = this.#areMarked || (this.#isApart && this.#areLong);
    if (!isSure && (this.#isUsual || !(this.#isApart || this.#areLong))) return;
    if (isSure) this.footerLine = this.#notes[0]?.line ?? null;
    const told = isSure
      ? {
          message: 'a note stands below the last row of the table',
          hint: 'remove it, or publish it as description of the resource',
          mend: 'the notes below the last row are left out',
        }
      : {
          message: 'the last row has one cell only: it may be a note below the table, or a row without values',
          hint: 'remove it where it is a note; otherwise fill in its other cells',
        };
    for (const note of this.#notes) findings.add('footer', { ...note, code: 'table-ragged', ...told });
  }
}

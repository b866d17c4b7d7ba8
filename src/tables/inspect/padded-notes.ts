// Rows with one value or none at the end of a table, which may be notes below it.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { type Findings, type FoundAt, foundRow } from './finding.ts';

/** How many rows below the last full one may be notes. */
export const mostNotes = 20;

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

  add(scanner: CellScanner, row: number, filled: number): void {
    const { bytes, starts, ends, marks } = scanner;
    if (filled === 0) {
      if (this.#count === 0) this.#isApart = true;
      return;
    }
    const first = scanner.firstCell(row);
    const [start, stop, mark] = [starts[first] ?? 0, ends[first] ?? 0, marks[first] ?? 0];
    const isText = start < stop && (mark & has.space) !== 0 && (mark & (has.text | has.high)) !== 0;
    this.#count += 1;
    if (!isText) this.#count = Number.POSITIVE_INFINITY;
    if (this.#count > mostNotes) return;
    const text = bytes.toString('utf8', start, Math.min(stop, start + 200));
    if (!noteStart.test(text)) this.#areMarked = false;
    if (stop - start < longNote || text.split(' ').length < noteWords) this.#areLong = false;
    this.#notes.push(foundRow(scanner, row));
  }

  reset(): void {
    if (this.#count === 0 && !this.#isApart) return;
    if (this.#count > 0) this.#isUsual = true;
    this.#notes = [];
    this.#count = 0;
    this.#isApart = false;
    this.#areMarked = true;
    this.#areLong = true;
  }

  report(findings: Findings): void {
    if (this.#count === 0 || this.#count > mostNotes) return;
    const isSure = this.#areMarked || (this.#isApart && this.#areLong);
    if (!isSure && (this.#isUsual || !this.#isApart)) return;
    if (isSure) this.footerLine = this.#notes[0]?.line ?? null;
    for (const at of this.#notes) findings.add('footer', at, { looks: isSure ? 'below' : 'maybe' });
  }
}

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

export const isProse = (mark: number): boolean => (mark & has.space) !== 0 && (mark & (has.text | has.high)) !== 0;

/** What is known of such rows since the last other row; `isApart`: an empty row is above the first of them. */
const nothing = { notes: [] as FoundAt[], count: 0, isApart: false, areMarked: true, areLong: true };

/** Collects rows with one value or none at the end of the table; another row resets it. */
export const paddedNotes = (scanner: CellScanner) => {
  let tail = { ...nothing, notes: [...nothing.notes] };
  /** True when the table has such rows among the others. */
  let isUsual = false;
  return {
    add: (row: number, filled: number): void => {
      if (filled === 0) {
        if (tail.count === 0) tail.isApart = true;
        return;
      }
      const first = scanner.firstCell(row);
      const [start, stop] = [scanner.starts[first] ?? 0, scanner.ends[first] ?? 0];
      tail.count += 1;
      if (start === stop || !isProse(scanner.marks[first] ?? 0)) tail.count = Number.POSITIVE_INFINITY;
      if (tail.count > mostNotes) return;
      const text = scanner.bytes.toString('utf8', start, Math.min(stop, start + 200));
      if (!noteStart.test(text)) tail.areMarked = false;
      if (stop - start < longNote || text.split(' ').length < noteWords) tail.areLong = false;
      tail.notes.push(foundRow(scanner, row));
    },
    reset: (): void => {
      if (tail.count === 0 && !tail.isApart) return;
      if (tail.count > 0) isUsual = true;
      tail = { ...nothing, notes: [] };
    },
    /** Returns the line of the first note where they are notes for certain. */
    report: (findings: Findings): number | null => {
      const { notes, count, isApart, areMarked, areLong } = tail;
      if (count === 0 || count > mostNotes) return null;
      const isSure = areMarked || (isApart && areLong);
      if (!isSure && (isUsual || !isApart)) return null;
      for (const at of notes) findings.add('footer', at, { looks: isSure ? 'below' : 'maybe' });
      return isSure ? (notes[0]?.line ?? null) : null;
    },
  };
};

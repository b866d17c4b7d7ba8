// Rows that may be notes below the table: with one value or none, or with too few or too many cells.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import type { FactsOf } from '../scan/fault-kinds.ts';
import { raggedFacts } from '../scan/faults.ts';
import { type Findings, type FoundAt, foundRow } from './finding.ts';

/** How many rows below the last full one may be notes. */
const mostNotes = 20;

/** How notes begin, but not rows: such a word and a colon, an asterisk, a number in brackets; or as a program reports that it failed. */
const noteStarts = [
  /^(?:(?:data )?(?:sources?|notes?|remarks?|footnotes?|legend|disclaimer|updated|last updated?|as of|quellen?|datenquelle|hinweise?|anmerkung(?:en)?|bemerkung|stand|fuentes?|notas?|fontes?|nota bene|bron(?:nen)?|opmerking|källa|kilde|lähde|zdroj|źródło|forrás|kaynak|remarques?|légende|fonte) ?: |\*+ ?\p{L}|\(?\d\) |©)/iu,
  /^(?:php )?(?:(?:(?:fatal |parse |query |internal )?error|uncaught [\w.]+|[\w.]*exception|ora-\d+) ?: |(?:warning|notice|deprecated) ?: .* on line \d|\(\d+ rows?[ )]|\d+ rows? (?:selected|affected)|error \d+ \(|sqlstate|traceback \(most)/i,
];

export const isNoteStart = (text: string): boolean => noteStarts.some((start) => start.test(text));

/** From so many bytes and words on, a text that is alone in the last rows counts as a note. */
const [longNote, noteWords] = [20, 3];

const isProse = (mark: number): boolean => (mark & has.space) !== 0 && (mark & (has.text | has.high)) !== 0;

/** Collects rows with another number of cells than the header; notes among them are reported as such. */
export const raggedRows = (scanner: CellScanner, findings: Findings, width: number) => {
  /** Rows that are notes unless a full row follows. */
  let notes: { at: FoundAt; facts: FactsOf<'row-short'> }[] = [];
  /** True after so many of them that they cannot be notes, until a full row follows. */
  let tooMany = false;
  let long = 0;
  let short = { line: 0, cells: 0 };
  const reportNotes = (): void => {
    for (const { at, facts } of notes) findings.add('row-short', at, facts);
    notes = [];
  };
  const takeShort = (row: number): void => {
    const { line, cells } = short;
    short = { line: scanner.lineOf(row), cells: scanner.width(row) };
    const found = (): FoundAt => foundRow(scanner, row);
    findings.add('row-short', found, raggedFacts(scanner, row, width));
    if (line === short.line - 1 && cells + short.cells === width + 1)
      findings.add('row-split', found, { first: line, second: short.line });
  };
  const takeLong = (row: number): void => {
    const [from, to] = [scanner.firstCell(row) + width, scanner.firstCell(row + 1)];
    const isEmpty = scanner.starts.subarray(from, to).every((start, at) => start === scanner.ends[from + at]);
    if (!isEmpty) long += 1;
    const kind = isEmpty ? 'row-long-empty' : 'row-long';
    findings.add(kind, () => foundRow(scanner, row), raggedFacts(scanner, row, width));
  };
  return {
    /** Takes a row with another number of cells than the header. */
    add: (row: number): void => {
      const cells = scanner.width(row);
      if (cells === 1 && !tooMany && isProse(scanner.marks[scanner.firstCell(row)] ?? 0)) {
        notes.push({ at: foundRow(scanner, row), facts: raggedFacts(scanner, row, width) });
        tooMany = notes.length > mostNotes;
        if (tooMany) reportNotes();
        return;
      }
      reportNotes();
      if (cells > width) takeLong(row);
      else takeShort(row);
    },
    /** A full row follows, so the rows that wait are no notes. */
    fullRow: (): void => {
      if (notes.length > 0) reportNotes();
      tooMany = false;
    },
    /** The table has ended after so many rows; returns the line of the first note below the last row. */
    end: (rows: number): number | null => {
      for (const { at } of notes) findings.add('footer', at, { looks: 'behind' });
      const longRows = findings.of('row-long');
      if (longRows !== undefined && long === rows && rows > 1)
        longRows.hint = 'every row has more cells than the header: quote cells with delimiters, or name each column';
      return notes[0]?.at.line ?? null;
    },
  };
};

/** What is known of padded notes since the last other row; `isApart`: an empty row is above them; `areLong`: that or a blank line. */
const nothing = () => ({ notes: [] as FoundAt[], count: 0, isApart: false, areMarked: true, areLong: true });

/** Collects rows with one value or none at the end of the table, which may be notes; another row resets it. */
export const paddedNotes = (scanner: CellScanner, isBelowBlank: (row: number) => boolean) => {
  let tail = nothing();
  /** True when the table has such rows among the others. */
  let isUsual = false;
  return {
    /** `above`: how the row above begins; in a table of messages, the last row is one of them. */
    add: (row: number, filled: number, above: string): void => {
      if (filled === 0) {
        tail.isApart ||= tail.count === 0;
        return;
      }
      const first = scanner.firstCell(row);
      const [start, stop] = [scanner.starts[first] ?? 0, scanner.ends[first] ?? 0];
      if (tail.count === 0 && !tail.isApart && !isBelowBlank(row)) tail.areLong = false;
      if (tail.count === 0 && isNoteStart(above)) tail.areMarked = false;
      tail.count += 1;
      if (start === stop || !isProse(scanner.marks[first] ?? 0)) tail.count = Number.POSITIVE_INFINITY;
      if (tail.count > mostNotes) return;
      const text = scanner.bytes.toString('utf8', start, Math.min(stop, start + 200));
      tail.areMarked &&= isNoteStart(text);
      if (stop - start < longNote || text.split(' ').length < noteWords) tail.areLong = false;
      tail.notes.push(foundRow(scanner, row));
    },
    reset: (): void => {
      if (tail.count === 0 && !tail.isApart) return;
      if (tail.count > 0) isUsual = true;
      tail = nothing();
    },
    /** Returns the line of the first note where they are notes for certain. */
    report: (findings: Findings): number | null => {
      const { notes, count, isApart, areMarked, areLong } = tail;
      if (count === 0 || count > mostNotes) return null;
      const isSure = areMarked || areLong;
      if (!isSure && (isUsual || !isApart)) return null;
      for (const at of notes) findings.add('footer', at, { looks: isSure ? 'below' : 'maybe' });
      return isSure ? (notes[0]?.line ?? null) : null;
    },
  };
};

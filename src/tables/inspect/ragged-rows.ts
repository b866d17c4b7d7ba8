// Rows with too few or too many cells, except notes below the last row, which are reported as notes.
import type { CellScanner } from '../scan/cell-scanner.ts';
import type { FactsOf } from '../scan/fault-kinds.ts';
import { raggedFacts } from '../scan/faults.ts';
import { type Findings, type FoundAt, foundRow } from './finding.ts';
import { isProse, mostNotes } from './padded-notes.ts';

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
        longRows.hint = 'every row has more cells than the header: give the header a name for each column';
      return notes[0]?.at.line ?? null;
    },
  };
};

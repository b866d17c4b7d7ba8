// Rows in a quoted cell: one stray quote opened it, and another further down closed it, so that only the values tell.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { type Findings, type FoundAt, foundIn, mostPlaces } from './finding.ts';

/** A number or a date. */
const value = /^[+-]?\d+(?:[.,]\d+)*$|^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?$/;

/** Collects rows that are several ones, with values in the same columns, without the quotes of a cell. */
export const swallowedRows = (scanner: CellScanner, delimiter: string) => {
  const suspects: { at: FoundAt; breaks: number; proofs: number }[] = [];
  let quotedRows = 0;
  const suspect = (row: number, column: number): void => {
    const cell = scanner.firstCell(row) + column;
    const [open, close] = [scanner.outerStart(cell), scanner.outerEnd(cell) - 1];
    const latin1 = (from: number, to: number): string => scanner.bytes.toString('latin1', from, to);
    const behind = latin1(close + 1, scanner.outerEnd(scanner.firstCell(row + 1) - 1));
    const text = latin1(scanner.startOf(row), open) + latin1(open + 1, close) + behind;
    const lines = text.split(/\r\n?|\n/).map((line) => line.split(delimiter));
    if (lines.some(({ length }) => length !== scanner.width(row))) return;
    let proofs = 0;
    for (let other = 0; other < scanner.width(row); other++) {
      const filled = lines.map((cells) => cells[other] ?? '').filter((it) => it !== '');
      const values = filled.filter((it) => value.test(it)).length;
      if (other === column || values === 0) continue;
      if (values < filled.length) return;
      proofs += values - 1; // one is outside the quotes
    }
    suspects.push({ at: foundIn(scanner, row, [cell, open]), breaks: lines.length - 1, proofs });
  };
  return {
    /** Takes a row with cells in quotes; `all`: the marks of its cells together. */
    add: (row: number, all: number): void => {
      quotedRows += 1;
      if ((all & has.lineBreak) === 0 || suspects.length === mostPlaces) return;
      const marks = scanner.marks.subarray(scanner.firstCell(row), scanner.firstCell(row + 1));
      const column = marks.findIndex((mark) => (mark & has.lineBreak) !== 0);
      if (((marks[column] ?? 0) & has.escapes) === 0) suspect(row, column);
    },
    /** The table has ended with so many rows. */
    report: (findings: Findings, rows: number): void => {
      for (const { at, breaks, proofs } of suspects) {
        const isOnly = quotedRows === 1 && (breaks > 1 || rows > 2);
        if (proofs >= (isOnly ? 2 : Math.max(4, 2 * breaks)))
          findings.add('quote-unclosed', at, { until: at.line + breaks, holdsRows: true });
      }
    },
  };
};

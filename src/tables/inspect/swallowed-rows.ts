// Rows in a quoted cell: one stray quote opened it, and another further down closed it, so that only the values tell.
import { has } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { type Findings, type FoundAt, foundIn, mostPlaces } from './finding.ts';

const notations = [/^[+-]?\d+(?:[.,]\d+)*$/, /^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?$/];

/** The cells of the lines of a text; null where one has more or less than `width`. */
const linesIn = (text: string, delimiter: string, width: number): string[][] | null => {
  const lines: string[][] = [];
  for (const [, line = ''] of text.matchAll(/(?:^|\r\n?|\n)([^\r\n]*)/g)) {
    const cells = line.split(delimiter, width + 1);
    if (cells.length !== width) return null;
    lines.push(cells);
  }
  return lines;
};

/** How many values prove that lines are rows: those in columns of one notation, but for that of the quotes; 0 where a column is mixed. */
const proofsIn = (lines: string[][], quoted: number): number => {
  let proofs = 0;
  for (let column = 0; column < (lines[0]?.length ?? 0); column++) {
    const filled = lines.map((cells) => cells[column] ?? '').filter((it) => it !== '');
    if (column === quoted || !filled.some((text) => notations.some((notation) => notation.test(text)))) continue;
    if (!notations.some((notation) => filled.every((it) => notation.test(it)))) return 0;
    proofs += filled.length - 1; // one is outside the quotes
  }
  return proofs;
};

/** Collects rows that are several ones, with values in the same columns, without the quotes of a cell. */
export const swallowedRows = (scanner: CellScanner, delimiter: string) => {
  const suspects: { at: FoundAt; breaks: number; proofs: number; shape: string }[] = [];
  const shapes = new Map<string, number>();
  let quotedRows = 0;
  const suspect = (row: number, column: number): void => {
    const [width, cell] = [scanner.width(row), scanner.firstCell(row) + column];
    const [open, close] = [scanner.outerStart(cell), scanner.outerEnd(cell) - 1];
    const latin1 = (from: number, to: number): string => scanner.bytes.toString('latin1', from, to);
    const inside = latin1(open + 1, close);
    if (linesIn(/^[^\r\n]*/.exec(inside)?.[0] ?? '', delimiter, width - column) === null) return;
    const behind = latin1(close + 1, scanner.outerEnd(scanner.firstCell(row + 1) - 1));
    const lines = linesIn(`${latin1(scanner.startOf(row), open)}${inside}${behind}`, delimiter, width) ?? [];
    const [breaks, proofs] = [lines.length - 1, proofsIn(lines, column)];
    if (proofs < 2) return; // nothing less is reported
    const shape = `${column} ${breaks}`;
    shapes.set(shape, (shapes.get(shape) ?? 0) + 1);
    if (suspects.length < mostPlaces) suspects.push({ at: foundIn(scanner, row, [cell, open]), breaks, proofs, shape });
  };
  return {
    /** Takes a row with cells in quotes; `all`: the marks of its cells together. */
    add: (row: number, all: number): void => {
      quotedRows += 1;
      if ((all & has.lineBreak) === 0) return;
      const marks = scanner.marks.subarray(scanner.firstCell(row), scanner.firstCell(row + 1));
      const column = marks.findIndex((mark) => (mark & has.lineBreak) !== 0);
      if (((marks[column] ?? 0) & has.escapes) === 0) suspect(row, column);
    },
    /** The table has ended with so many rows. Where most quoted cells look like rows, that is how they are written. */
    report: (findings: Findings, rows: number): void => {
      for (const { at, breaks, proofs, shape } of suspects) {
        const alike = shapes.get(shape) ?? 0;
        if (alike > 2 && alike > quotedRows / 2) continue;
        if (proofs >= (quotedRows === 1 && (breaks > 1 || rows > 2) ? 2 : Math.max(4, 2 * breaks)))
          findings.add('quote-unclosed', at, { until: at.line + breaks, holdsRows: true });
      }
    },
  };
};

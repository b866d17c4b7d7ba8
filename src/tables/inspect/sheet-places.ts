// Where the lines of a table that was made of a workbook come from, so that its faults name rows of the sheet.
import type { Finding } from './finding.ts';
import type { Inspection } from './inspect-file.ts';

export interface SheetOrigin {
  name: string;
  indent: number;
  /** Lines of the table and their rows in the sheet, where the distance between the two changes. */
  rows: [line: number, row: number][];
  /** Lines of rows that blank rows are above. */
  apart: number[];
}

/** Most changes that are remembered; beyond them rows are counted on. */
const mostChanges = 10_000;

export const sheetPlaces = ({ name, indent }: Pick<SheetOrigin, 'name' | 'indent'>) => {
  const origin: SheetOrigin = { name, indent, rows: [], apart: [] };
  let [line, last, shift] = [1, 0, Number.NaN];
  return {
    /** The next row of the table, its text with all line ends. */
    add: (row: number, text: string): void => {
      const { rows, apart } = origin;
      if (row - line !== shift && rows.length < mostChanges) rows.push([line, row]);
      if (last > 0 && row > last + 1 && apart.length < mostChanges) apart.push(line);
      shift = row - line;
      last = row;
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) line += 1;
    },
    /** `hasGaps`: rows were left out, so that nobody knows which are below blank ones. */
    end: (hasGaps: boolean): SheetOrigin => (hasGaps ? { ...origin, apart: [] } : origin),
  };
};

const rowOf = ({ rows }: SheetOrigin, line: number): number => {
  const [from, row] = rows.findLast(([first]) => first <= line) ?? [line, line];
  return row + line - from;
};

export const inSheet = <T extends Omit<Inspection, 'fix'>>(inspection: T, origin: SheetOrigin): T => ({
  ...inspection,
  headerLine: rowOf(origin, inspection.headerLine),
  columns: inspection.columns.map((column) => ({
    ...column,
    decidedBy: column.decidedBy === null ? null : rowOf(origin, column.decidedBy),
  })),
  findings: inspection.findings.map((finding) => findingIn(finding, origin)),
});

const findingIn = (finding: Finding, origin: SheetOrigin): Finding => {
  const { message, hint, candidates, places } = finding;
  return {
    ...finding,
    message: textIn(message, origin),
    hint: hint === null ? null : textIn(hint, origin),
    ...(candidates ? { candidates: candidates.map((one) => ({ ...one, key: textIn(one.key, origin) })) } : {}),
    places: places.map((place) => ({
      ...place,
      line: rowOf(origin, place.line),
      column: place.column === null ? null : place.column + origin.indent,
      offset: null,
      message: textIn(place.message, origin),
    })),
  };
};

/** A message about lines of the table as one about rows of the sheet. */
const textIn = (text: string, origin: SheetOrigin): string =>
  text
    .replaceAll(/\bline(s?)\b(?! breaks?| ends?)(?: (\d+))?/g, (_, many: string, line?: string) =>
      line === undefined ? `row${many}` : `row ${rowOf(origin, Number(line))}`,
    )
    .replaceAll(/\bskipRows: (\d+)/g, (_, skip: string) => `skipRows: ${rowOf(origin, Number(skip) + 1) - 1}`);

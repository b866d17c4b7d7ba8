// The header row: every column needs a name, and portals must be able to tell the names apart.
import { longestColumnName, portalColumnName } from '../../dataset-api/names.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { cellText } from '../scan/cell-text.ts';
import type { TableDialect } from '../scan/dialect.ts';
import { type FactsOf, faultOf } from '../scan/fault-kinds.ts';
import type { ColumnFacts } from './columns.ts';
import { type Findings, type FoundAt, foundAt } from './finding.ts';

/** One column of a header: the name a portal makes of its cell, or what is wrong with it. */
type HeaderColumn =
  | { portalName: string; kind: null }
  | { portalName: string; kind: 'header-empty'; facts: FactsOf<'header-empty'> }
  | { portalName: string; kind: 'header-unusable'; facts: FactsOf<'header-unusable'> }
  | { portalName: string; kind: 'header-duplicate'; facts: FactsOf<'header-duplicate'> };

const headerColumns = (cells: string[], delimiter: string): HeaderColumn[] => {
  const seen = new Map<string, { column: number; name: string }>();
  const lastNamed = cells.findLastIndex((cell) => cell.trim() !== '');
  return cells.map((name, index): HeaderColumn => {
    if (name.trim() === '')
      return { portalName: '', kind: 'header-empty', facts: { delimiter, isTail: index > lastNamed } };
    const portalName = portalColumnName(name);
    if (portalName === '') return { portalName, kind: 'header-unusable', facts: { name } };
    const first = seen.get(portalName);
    if (first !== undefined) {
      const facts = { first, second: { column: index + 1, name }, portalName };
      return { portalName, kind: 'header-duplicate', facts };
    }
    seen.set(portalName, { column: index + 1, name });
    return { portalName, kind: null };
  });
};

/** The column names of a header as a portal makes them; throws a TableFaultError for a name that it cannot use. */
export const checkHeader = (cells: string[], delimiter: string): string[] =>
  headerColumns(cells, delimiter).map((column, index) => {
    if (column.kind !== null) throw faultOf(column.kind, { line: 1, column: index + 1 }, column.facts);
    return column.portalName;
  });

/** Longest part of a name before a number, so that portals, which cut names to 64, keep the number. */
const longestStem = 56;

/** Names for a header: `column_4` for a cell without a usable name, `name_2` for the second column of a name. */
export const fixedHeader = (cells: string[], delimiter: string): string[] => {
  const columns = headerColumns(cells, delimiter);
  const taken = new Set(columns.filter(({ kind }) => kind === null).map(({ portalName }) => portalName));
  const numbers = new Map<string, number>();
  return columns.map(({ kind }, index) => {
    const cell = cells[index] ?? '';
    if (kind === null) return cell;
    const stem = kind === 'header-duplicate' ? cell.trim().slice(0, longestStem) : 'column';
    let number = kind === 'header-duplicate' ? (numbers.get(stem) ?? 2) : index + 1;
    while (taken.has(portalColumnName(`${stem}_${number}`))) number += 1;
    taken.add(portalColumnName(`${stem}_${number}`));
    numbers.set(stem, number + 1);
    return `${stem}_${number}`;
  });
};

interface HeaderFacts extends Pick<ScannedHeader, 'cells' | 'line' | 'places'> {
  facts: ColumnFacts[];
  delimiter: string;
  isRecord: boolean;
}

/** Datastores take at most so many columns: SQLite 1,999 beside the key; MySQL fewer. */
const mostStored = 1999;

/** A file with more columns is no table. */
export const mostColumns = 16_384;

/** How many columns at the end have neither a name nor a value: the header and all rows end with delimiters. */
export const emptyTail = ({ cells, facts }: Pick<HeaderFacts, 'cells' | 'facts'>): number => {
  const lastUsed = cells.findLastIndex((cell, at) => cell.trim() !== '' || (facts[at]?.kinds.length ?? 0) > 0);
  return lastUsed < 0 ? 0 : cells.length - 1 - lastUsed;
};

/** Adds findings about the header; returns the name that a portal makes of each cell, empty where it cannot. */
export const headerFindings = (findings: Findings, header: HeaderFacts): string[] => {
  const { cells, line, delimiter } = header;
  const isTable = cells.length <= mostColumns;
  const most = isTable ? mostStored : mostColumns;
  if (cells.length > most)
    findings.add('many-columns', { line, column: most + 1 }, { count: cells.length, most, isTable });
  if (!isTable) return [];
  const columns = headerColumns(cells, delimiter);
  const fixedCells = fixedHeader(cells, delimiter);
  const tail = cells.length - emptyTail(header);
  const named = columns.slice(0, tail).filter(({ kind }) => kind !== 'header-empty').length;
  columns.forEach((column, at) => {
    const place = placeOf(header, at);
    const fixed = fixedCells[at] ?? '';
    if (column.kind === null) remarksOf(findings, cells[at] ?? '', column.portalName, place);
    else if (column.kind !== 'header-empty') findings.add(column.kind, place, { ...column.facts, fixed });
    else if (at >= tail) findings.add('trailing-delimiter', place, column.facts);
    else
      findings.add('header-empty', place, { ...column.facts, ...(named <= tail / 2 ? { isMostly: true } : { fixed }) });
  });
  // As Windows-1252, 1251 and 1250, DOS and Macintosh read a byte order mark of UTF-8.
  if (/^(?:ï»¿|п»ї|ď»ż|∩╗┐|´╗┐|Ôªø)/.test(cells[0] ?? '')) findings.add('mark-as-text', placeOf(header, 0));
  valuesInHeader(findings, header);
  return columns.map(({ portalName }) => portalName);
};

const placeOf = ({ line, places }: Pick<HeaderFacts, 'line' | 'places'>, at: number): FoundAt =>
  places[at] ?? { line, column: at + 1 };

/** How a portal's name differs from the cell beyond capitals and spaces. */
const remarksOf = (findings: Findings, name: string, portalName: string, place: FoundAt): void => {
  if (/[\r\n]/.test(name)) findings.add('header-line-break', place, { portalName });
  else if (name !== name.trim()) findings.add('header-spaces', place);
  const { length } = name.trim();
  if (length > longestColumnName) {
    findings.add('header-long', place, { length, longest: longestColumnName, portalName });
  } else if (/[^\w\s]/.test(name)) findings.add('header-cleaned', place, { portalName });
};

const valueLike = /^[+-]?\d+[.,]\d+$|^\d{4}-\d{2}-\d{2}|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$|^(?:true|false)$/i;

const valuesInHeader = (findings: Findings, header: HeaderFacts): void => {
  const { cells, isRecord } = header;
  const numbers = cells.filter((cell) => /^\d+$/.test(cell) && !/^(?:1[6-9]|20)\d\d$/.test(cell)).length;
  const at = cells.findIndex((cell) => valueLike.test(cell));
  if (!isRecord && at < 0 && numbers < cells.length / 2) return;
  findings.add('header-values', placeOf(header, Math.max(at, 0)), { isRecord });
};

export interface ScannedHeader {
  cells: string[];
  line: number;
  places: FoundAt[];
  raw: Buffer;
}

export const scannedHeader = (scanner: CellScanner, row: number, dialect: TableDialect): ScannedHeader => {
  const first = scanner.firstCell(row);
  const line = scanner.lineOf(row);
  const start = scanner.startOf(row);
  const cells = Array.from({ length: scanner.width(row) }, (_, at) => cellText(scanner, first + at, dialect));
  const end = scanner.outerEnd(first + cells.length - 1);
  const places = cells.map((_, at) => foundAt(scanner, scanner.starts[first + at] ?? 0, { line, column: at + 1 }));
  return {
    cells,
    line,
    places: cells.length > mostColumns ? [] : places,
    raw: Buffer.from(scanner.bytes.subarray(start, Math.max(start, end))),
  };
};

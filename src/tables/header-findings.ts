// What is said of the cells of a header.
import type { ColumnFacts } from './column-types.ts';
import { delimiterName } from './dialect.ts';
import { type Findings, type Told, toldOf } from './finding.ts';
import { headerColumns, mendedHeader } from './header.ts';

/** What is known of a header when the whole table was read. */
export interface HeaderFacts {
  cells: string[];
  line: number;
  /** Offsets of the cells in the file; empty where they are not known. */
  offsets: number[];
  contexts: string[];
  facts: ColumnFacts[];
  rows: number;
  delimiter: string;
}

/** Datastores take at most so many columns: SQLite 1,999 beside the key; MySQL fewer. */
const mostStored = 1999;

/** More columns than this are no table. */
export const mostColumns = 16_384;

/** Longest name that portals keep whole (recorded). */
const longestName = 64;

/** How many columns at the end have neither a name nor a value: the header and all rows end with delimiters. */
export const emptyTail = ({ cells, facts }: Pick<HeaderFacts, 'cells' | 'facts'>): number => {
  const lastUsed = cells.findLastIndex((cell, at) => cell.trim() !== '' || (facts[at]?.kinds.length ?? 0) > 0);
  return lastUsed < 0 ? 0 : cells.length - 1 - lastUsed;
};

/** Adds what is to be said; returns the name that a portal makes of each cell, empty where it cannot. */
export const headerFindings = (findings: Findings, header: HeaderFacts): string[] => {
  const { cells, line, delimiter } = header;
  if (cells.length > mostColumns) {
    findings.add('many-columns', {
      code: 'table-header',
      line,
      column: mostColumns + 1,
      message: `the header has ${cells.length.toLocaleString('en')} columns; a table can have ${mostColumns.toLocaleString('en')}`,
      hint: 'check the delimiter, or split the table',
    });
    return [];
  }
  if (cells.length > mostStored) {
    const message = `the table has ${cells.length.toLocaleString('en')} columns; datastores take ${mostStored.toLocaleString('en')} at most`;
    findings.add('many-columns', {
      line,
      column: mostStored + 1,
      message,
      hint: 'it can be published as a file without datastore',
    });
  }
  const columns = headerColumns(cells, delimiter, line);
  const mended = mendedHeader(cells, delimiter);
  const tail = cells.length - emptyTail(header);
  columns.forEach(({ kind, fault, portalName }, at) => {
    const place = { offset: header.offsets[at] ?? null, context: header.contexts[at] ?? null };
    if (kind === null) {
      remarksOf(findings, { name: cells[at] ?? '', portalName, line, column: at + 1, place });
      return;
    }
    const cut = kind === 'header-empty' && at >= tail;
    const mend = cut
      ? `the ${delimiterName(delimiter)} at the end of every line is removed`
      : `columns without a usable name of their own get one, such as ${JSON.stringify(mended[at] ?? '')}`;
    findings.add(cut ? 'trailing-delimiter' : kind, { ...toldOf(fault), ...place, mend });
  });
  valuesInHeader(findings, header);
  return columns.map(({ portalName }) => portalName);
};

interface NamedCell {
  name: string;
  portalName: string;
  line: number;
  column: number;
  place: Pick<Told, 'offset' | 'context'>;
}

/** How a portal's name differs from the cell beyond capitals and spaces. */
const remarksOf = (findings: Findings, { name, portalName, line, column, place }: NamedCell): void => {
  const told = { line, column, ...place };
  if (/[\r\n]/.test(name)) {
    const message = `the name has a line break; portals make it ${portalName}`;
    findings.add('header-line-break', { ...told, message });
  } else if (name !== name.trim()) {
    findings.add('header-spaces', {
      ...told,
      message: 'spaces stand around the name',
      mend: 'spaces around names are removed',
    });
  }
  if (name.trim().length > longestName) {
    const message = `the name has ${name.trim().length} characters; portals cut it to ${longestName}: ${portalName}`;
    findings.add('header-long', { ...told, message });
  } else if (/[^\w\s]/.test(name)) {
    const message = `portals keep only A to Z, digits, spaces and underscores of a name; this one becomes ${portalName}`;
    findings.add('header-cleaned', { ...told, message });
  }
};

const valueLike = /^[+-]?\d+[.,]\d+$|^\d{4}-\d{2}-\d{2}|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$|^(?:true|false)$/i;

/** A file without a header shows values in its first row. */
const valuesInHeader = (findings: Findings, { cells, line, offsets, contexts }: HeaderFacts): void => {
  const numbers = cells.filter((cell) => /^\d+$/.test(cell) && !/^(?:1[6-9]|20)\d\d$/.test(cell)).length;
  const at = cells.findIndex((cell) => valueLike.test(cell));
  if (at < 0 && numbers < cells.length / 2) return;
  const column = Math.max(at, 0);
  findings.add('header-values', {
    line,
    column: column + 1,
    offset: offsets[column] ?? null,
    context: contexts[column] ?? null,
    message: 'the first row has values where the names of the columns should be',
    hint: 'add a row with names when the file has no header',
  });
};

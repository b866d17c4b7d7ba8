// The header row: every column needs a name, and portals must be able to tell the names apart.
import { portalColumnName } from '../dataset-api/column-name.ts';
import type { TableFaultError } from '../model/errors.ts';
import { duplicateHeaderCell, emptyHeaderCell, unusableHeaderCell } from './faults.ts';

/** One column of a header: the name a portal makes of its cell, or what is wrong with it. */
export type HeaderColumn =
  | { portalName: string; kind: null; fault: null }
  | { portalName: string; kind: 'header-empty' | 'header-unusable' | 'header-duplicate'; fault: TableFaultError };

/** Looks at every cell of a header row that stands on `line`. */
export const headerColumns = (cells: string[], delimiter: string, line = 1): HeaderColumn[] => {
  const seen = new Map<string, { column: number; name: string }>();
  const lastNamed = cells.findLastIndex((cell) => cell.trim() !== '');
  return cells.map((name, index): HeaderColumn => {
    const place = { line, column: index + 1 };
    if (name.trim() === '') {
      return { portalName: '', kind: 'header-empty', fault: emptyHeaderCell(place, index > lastNamed, delimiter) };
    }
    const portalName = portalColumnName(name);
    if (portalName === '') return { portalName, kind: 'header-unusable', fault: unusableHeaderCell(place, name) };
    const first = seen.get(portalName);
    if (first !== undefined) {
      const fault = duplicateHeaderCell(first, { ...place, name }, portalName);
      return { portalName, kind: 'header-duplicate', fault };
    }
    seen.set(portalName, { column: place.column, name });
    return { portalName, kind: null, fault: null };
  });
};

/**
 * Checks the cells of a header row and returns the column names as a portal makes them. Throws a TableFaultError
 * (`table-header`) for an empty cell, for a name that has no character a portal keeps, and for two cells that give the
 * same name on a portal.
 */
export const checkHeader = (cells: string[], delimiter: string): string[] =>
  headerColumns(cells, delimiter).map(({ portalName, fault }) => {
    if (fault !== null) throw fault;
    return portalName;
  });

/** Longest part of a name that a number is put behind, so that portals, which cut names to 64, see the number. */
const longestStem = 56;

/**
 * Names for a header with faults: `column_4` for a cell that has no usable name, `name_2` for the second column of a name.
 * Cells that are fine keep theirs.
 */
export const mendedHeader = (cells: string[], delimiter: string): string[] => {
  const columns = headerColumns(cells, delimiter);
  const taken = new Set(columns.filter(({ kind }) => kind === null).map(({ portalName }) => portalName));
  return columns.map(({ kind }, index) => {
    const cell = cells[index] ?? '';
    if (kind === null) return cell;
    const stem = kind === 'header-duplicate' ? cell.trim().slice(0, longestStem) : 'column';
    let number = kind === 'header-duplicate' ? 2 : index + 1;
    while (taken.has(portalColumnName(`${stem}_${number}`))) number += 1;
    taken.add(portalColumnName(`${stem}_${number}`));
    return `${stem}_${number}`;
  });
};

// The header row: every column needs a name, and portals must be able to tell the names apart.
import { portalColumnName } from '../dkan/column-name.ts';
import { duplicateHeaderCell, emptyHeaderCell, unusableHeaderCell } from './faults.ts';

/**
 * Checks the cells of a header row and returns the column names as a portal makes them. Throws a TableFaultError
 * (`table-header`) for an empty cell, for a name that has no character a portal keeps, and for two cells that give the
 * same name on a portal.
 */
export const checkHeader = (cells: string[], delimiter: string): string[] => {
  const seen = new Map<string, { column: number; name: string }>();
  return cells.map((name, index) => {
    const column = index + 1;
    if (name.trim() === '') {
      const trailing = cells.slice(index).every((cell) => cell.trim() === '');
      throw emptyHeaderCell(column, trailing, delimiter);
    }
    const portalName = portalColumnName(name);
    if (portalName === '') throw unusableHeaderCell(column, name);
    const first = seen.get(portalName);
    if (first !== undefined) throw duplicateHeaderCell(first, { column, name }, portalName);
    seen.set(portalName, { column, name });
    return portalName;
  });
};

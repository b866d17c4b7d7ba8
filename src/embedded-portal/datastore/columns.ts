// The columns of a datastore table from the header of its file.
import { TableFaultError } from '../../model/errors.ts';
import { checkHeader } from '../../tables/inspect/header.ts';

/** The serial key that every table has beside the columns of the file. */
export const serialColumn = 'entry_id';

/** SQLite takes 2,000 columns; one is the serial key. */
const mostColumns = 1999;

/**
 * Column names by the recorded rules (recorded-behaviour 13a), in the order of the file and without
 * {@link serialColumn}. Throws a TableFaultError (`table-header`) for an empty, unusable or duplicate name and for more
 * columns than a table can have.
 */
export const tableColumns = (header: string[], delimiter: string): string[] => {
  if (header.length > mostColumns) {
    throw new TableFaultError(
      `the header has ${header.length} columns; a datastore table can have ${mostColumns}`,
      { code: 'table-header', line: 1, column: mostColumns + 1 },
      { hint: 'split the table' },
    );
  }
  return checkHeader(header, delimiter);
};

/** A column name as an SQL identifier; names hold only `a-z 0-9 _`, so quoting is enough. */
export const identifier = (column: string): string => `"${column}"`;

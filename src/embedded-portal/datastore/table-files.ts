// The SQLite files that hold imported rows, and the names of their columns.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TableFaultError } from '../../model/errors.ts';
import { checkHeader } from '../../tables/inspect/header.ts';
import { DatabaseSync } from '../../util/sqlite.ts';

/** Opens a table for reading. It never changes once it is complete, so SQLite need not look for writers. */
export const openTable = (path: string): DatabaseSync => {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true });
};

export class TableFiles {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** A name for the table of a new import of this resource; never used before. */
  newName(nid: string): string {
    return `${nid}.${randomBytes(8).toString('hex')}.sqlite`;
  }

  path(file: string): string {
    return join(this.#dir, file);
  }

  /** Removes a file that no pointer names any more. Where its readers keep it, the next {@link sweep} does. */
  remove(file: string): void {
    try {
      rmSync(this.path(file), { force: true });
    } catch {
      // swept later
    }
  }

  /** The files that are there, and removes every one that is not in `named`. Returns what is left and how many went. */
  sweep(named: ReadonlySet<string>): { present: Set<string>; unlinked: number } {
    const files = readdirSync(this.#dir);
    const present = new Set(files.filter((file) => named.has(file)));
    for (const file of files) if (!present.has(file)) this.remove(file);
    return { present, unlinked: files.length - present.size };
  }
}

/** The serial key that every table has beside the columns of the file. */
export const serialColumn = 'entry_id';

/** SQLite takes 2,000 columns; one is the serial key. */
const mostColumns = 1999;

/**
 * Column names by the recorded rules (recorded-behaviour 13a), without {@link serialColumn}. Throws a TableFaultError
 * (`table-header`) for an empty, unusable or duplicate name and for more columns than a table can have.
 */
export const tableColumns = (header: string[], delimiter: string): string[] => {
  if (header.length <= mostColumns) return checkHeader(header, delimiter);
  throw new TableFaultError(
    `the header has ${header.length} columns; a datastore table can have ${mostColumns}`,
    { code: 'table-header', line: 1, column: mostColumns + 1 },
    { hint: 'split the table' },
  );
};

/** A column name as an SQL identifier; names hold only `a-z 0-9 _`, so quoting is enough. */
export const identifier = (column: string): string => `"${column}"`;

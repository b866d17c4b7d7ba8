// The SQLite files that hold imported rows, opened for reading and unlinked after their last reader; and the names of their columns.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { TableFaultError } from '../../model/errors.ts';
import { checkHeader } from '../../tables/inspect/header.ts';

/** Opens a table for reading. It never changes once it is complete, so SQLite need not look for writers. */
export const openTable = (path: string): DatabaseSync => {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true });
};

/** Connections that are kept open, the least recently used closed first. */
const mostConnections = 64;

/** The folder of tables. */
export class TableFiles {
  readonly #dir: string;
  readonly #open = new Map<string, DatabaseSync>();
  readonly #leases = new Map<string, number>();
  readonly #retired = new Set<string>();

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

  /** A connection for use within this turn of the event loop. */
  connection(file: string): DatabaseSync {
    const known = this.#open.get(file);
    if (known !== undefined) {
      this.#open.delete(file);
      this.#open.set(file, known);
      return known;
    }
    const db = openTable(this.path(file));
    this.#open.set(file, db);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= mostConnections) break;
      this.#disconnect(oldest);
    }
    return db;
  }

  /** Keeps a file in place while `use` runs, even when it is retired meanwhile. */
  async lease<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
    this.#leases.set(file, (this.#leases.get(file) ?? 0) + 1);
    try {
      return await use(this.path(file));
    } finally {
      const left = (this.#leases.get(file) ?? 1) - 1;
      if (left > 0) this.#leases.set(file, left);
      else {
        this.#leases.delete(file);
        if (this.#retired.delete(file)) this.#unlink(file);
      }
    }
  }

  /** Removes a file that no pointer names any more, after its last reader. */
  retire(file: string): void {
    this.#disconnect(file);
    if (this.#leases.has(file)) this.#retired.add(file);
    else this.#unlink(file);
  }

  /** The files that are there, and removes every one that is not in `named`. Returns what is left and how many went. */
  sweep(named: ReadonlySet<string>): { present: Set<string>; unlinked: number } {
    const present = new Set<string>();
    let unlinked = 0;
    for (const file of readdirSync(this.#dir)) {
      if (named.has(file)) present.add(file);
      else {
        this.#unlink(file);
        unlinked += 1;
      }
    }
    return { present, unlinked };
  }

  /** Closes all connections; idempotent. */
  close(): void {
    for (const file of [...this.#open.keys()]) this.#disconnect(file);
  }

  #disconnect(file: string): void {
    this.#open.get(file)?.close();
    this.#open.delete(file);
  }

  #unlink(file: string): void {
    rmSync(this.path(file), { force: true });
  }
}

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

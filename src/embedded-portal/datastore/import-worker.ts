// Worker-thread entry: one file into one new SQLite file, all or nothing.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { isFullCode, reasonOf, TableFaultError } from '../../model/errors.ts';
import type { Reason } from '../../model/report.ts';
import type { TableDialect } from '../../tables/scan/dialect.ts';
import { fileChunks } from '../../tables/scan/open-table.ts';
import { readTable } from '../../tables/scan/reader.ts';
import { syncNow } from '../../util/files.ts';
import { DatabaseSync } from '../../util/sqlite.ts';
import { type Cancellable, CancelledError } from '../../util/worker-pool.ts';
import { identifier, serialColumn, tableColumns } from './table-files.ts';

export interface ImportTask {
  path: string;
  /** The SQLite file to make; it does not exist yet. */
  target: string;
  dialect: TableDialect;
}

/** What an import came to. `target` exists, durable, only when it was imported. */
export type ImportAnswer =
  | { kind: 'imported'; rows: number; columns: string[] }
  | { kind: 'failed'; reason: Reason }
  /** The disk has no space for the table: nothing is wrong with the file. */
  | { kind: 'full' }
  | { kind: 'cancelled' };

const makeTable = (db: DatabaseSync, columns: string[]): ((row: string[]) => void) => {
  const names = columns.map(identifier);
  const defined = names.map((name) => `${name} TEXT NOT NULL`).join(', ');
  db.exec(`CREATE TABLE data (${defined}, ${identifier(serialColumn)} INTEGER PRIMARY KEY); BEGIN`);
  const insert = db.prepare(`INSERT INTO data (${names.join(',')}) VALUES (${names.map(() => '?').join(',')})`);
  return (row) => void insert.run(...row);
};

/**
 * Nobody reads the file before it is whole, and a half one is thrown away: no journal, one fsync at the end. Node opens
 * databases as "defensive", and SQLite then keeps the journal on without a word.
 */
const open = (target: string): DatabaseSync => {
  const db = new DatabaseSync(target, { defensive: false });
  db.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -8192',
  );
  return db;
};

const fill = async (db: DatabaseSync, task: Cancellable<ImportTask>) => {
  const { path, dialect, cancelled } = task;
  let add: ((row: string[]) => void) | null = null;
  const table = { rows: 0, columns: [] as string[] };
  for await (const rows of readTable(fileChunks(path, cancelled, { reuse: true }), dialect)) {
    if (add === null) {
      table.columns = tableColumns(rows.shift() ?? [], dialect.delimiter);
      add = makeTable(db, table.columns);
    }
    for (const row of rows) add(row);
    table.rows += rows.length;
  }
  if (add !== null) db.exec('COMMIT');
  return table;
};

const sqliteFull = 13;

/** What came of a failure of file or disk, in words without paths; anything else is a bug and thrown on. */
const failure = (error: unknown): ImportAnswer => {
  if (error instanceof CancelledError) return { kind: 'cancelled' };
  if (error instanceof TableFaultError) return { kind: 'failed', reason: reasonOf(error) };
  const { code = '', errcode, message = '' } = error as { code?: string; errcode?: number; message?: string };
  if (errcode === sqliteFull || isFullCode(code)) return { kind: 'full' };
  if (code === 'ENOENT') {
    const words = 'the stored file of the resource is missing';
    return { kind: 'failed', reason: { code: 'source-missing', message: words, hint: 'attach the file again' } };
  }
  if (!/^(ERR_SQLITE_ERROR|E[A-Z]+)$/.test(code)) throw error;
  const words = `the file could not be imported: ${message.split(',')[0]}`;
  const hint = 'check the free space and the permissions of the portal folder, then import again';
  return { kind: 'failed', reason: { code: 'portal-store', message: words, hint } };
};

export const importFile = async (task: Cancellable<ImportTask>): Promise<ImportAnswer> => {
  try {
    using db = open(task.target);
    const table = await fill(db, task);
    db.close();
    syncNow(task.target);
    syncNow(dirname(task.target));
    return { kind: 'imported', ...table };
  } catch (error) {
    rmSync(task.target, { force: true });
    return failure(error);
  }
};

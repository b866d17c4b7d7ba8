// The rows of the datastore table of portal.db. Ids are numeric strings, as everywhere in the API.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Reason } from '../../model/report.ts';
import type { Configuration } from './configuration.ts';

/** A file that was attached to a resource. `path` is where its bytes lie. */
export interface AttachedFile {
  nid: string;
  fid: string;
  path: string;
  filename: string;
  /** Content type; derived from the name when absent. */
  mime?: string | undefined;
}

/** The rows that are searchable: a file of the tables folder, and the attached file they came from. */
export interface TablePointer {
  file: string;
  fid: string;
  rows: number;
  /** Without the serial column. */
  columns: string[];
}

/** What is known of a resource's datastore. */
export interface DatastoreRecord {
  nid: string;
  fid: string;
  path: string;
  filename: string;
  mime: string;
  configuration: Configuration;
  /** What the last import came to; `ready` = configured since, `running` = under way or owed. */
  state: 'none' | 'ready' | 'running' | 'imported' | 'failed';
  reason: Reason | null;
  table: TablePointer | null;
}

/** The state that a record can be put into without touching its table. */
export type PlainState = Exclude<DatastoreRecord['state'], 'imported' | 'failed'>;

const pointerOf = (row: Record<string, unknown>): TablePointer | null =>
  row.table_file === null
    ? null
    : {
        file: String(row.table_file),
        fid: String(row.table_fid),
        rows: Number(row.table_rows),
        columns: JSON.parse(String(row.table_columns)),
      };

const recordOf = (row: Record<string, unknown>): DatastoreRecord => ({
  nid: String(row.nid),
  fid: String(row.fid),
  path: String(row.path),
  filename: String(row.filename),
  mime: String(row.mime),
  configuration: row.configuration === null ? {} : JSON.parse(String(row.configuration)),
  state: row.state as DatastoreRecord['state'], // the table's CHECK allows nothing else
  reason: row.reason === null ? null : JSON.parse(String(row.reason)),
  table: pointerOf(row),
});

/** Reads and writes datastore records; what changes something is to be called inside a transaction. */
export class DatastoreRecords {
  readonly #get: StatementSync;
  readonly #all: StatementSync;
  readonly #owed: StatementSync;
  readonly #putFile: StatementSync;
  readonly #setState: StatementSync;
  readonly #fail: StatementSync;
  readonly #point: StatementSync;
  readonly #clear: StatementSync;
  readonly #configure: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#get = db.prepare('SELECT * FROM datastore WHERE nid = ?');
    this.#all = db.prepare("SELECT * FROM datastore WHERE table_file IS NOT NULL OR state = 'running'");
    this.#owed = db.prepare("SELECT nid FROM datastore WHERE state = 'running'");
    this.#putFile = db.prepare(
      `INSERT INTO datastore (nid, fid, path, filename, mime, state) VALUES (?, ?, ?, ?, ?, 'running')
       ON CONFLICT (nid) DO UPDATE SET fid = excluded.fid, path = excluded.path, filename = excluded.filename,
         mime = excluded.mime, state = 'running', reason = NULL`,
    );
    this.#setState = db.prepare('UPDATE datastore SET state = ?, reason = NULL WHERE nid = ?');
    this.#fail = db.prepare("UPDATE datastore SET state = 'failed', reason = ? WHERE nid = ?");
    this.#point = db.prepare(
      `UPDATE datastore SET state = 'imported', reason = NULL, table_file = ?, table_fid = ?, table_rows = ?,
         table_columns = ? WHERE nid = ?`,
    );
    this.#clear = db.prepare(
      `UPDATE datastore SET state = 'none', reason = NULL, table_file = NULL, table_fid = NULL, table_rows = NULL,
         table_columns = NULL WHERE nid = ?`,
    );
    this.#configure = db.prepare('UPDATE datastore SET configuration = ? WHERE nid = ?');
    this.#delete = db.prepare('DELETE FROM datastore WHERE nid = ?');
  }

  get(nid: string): DatastoreRecord | null {
    const row = this.#get.get(nid);
    return row === undefined ? null : recordOf(row);
  }

  /** The records that have a table or owe an import. */
  all(): DatastoreRecord[] {
    return this.#all.all().map(recordOf);
  }

  /** The resources that owe an import. */
  owed(): string[] {
    return this.#owed.all().map(({ nid }) => String(nid));
  }

  /** Remembers the file of a resource; an import is owed from now on. The table of an older file stays. */
  putFile(file: Required<AttachedFile>): void {
    this.#putFile.run(file.nid, file.fid, file.path, file.filename, String(file.mime));
  }

  setState(nid: string, state: PlainState): void {
    this.#setState.run(state, nid);
  }

  /** The import failed; an older table stays. */
  fail(nid: string, reason: Reason): void {
    this.#fail.run(JSON.stringify(reason), nid);
  }

  /** The import is complete: readers follow this table from now on. */
  point(nid: string, table: TablePointer): void {
    this.#point.run(table.file, table.fid, table.rows, JSON.stringify(table.columns), nid);
  }

  /** There is no table any more. */
  clear(nid: string): void {
    this.#clear.run(nid);
  }

  /** Stores what was configured; null forgets it. */
  configure(nid: string, configuration: Configuration | null): void {
    this.#configure.run(configuration === null ? null : JSON.stringify(configuration), nid);
  }

  /** Forgets the resource. */
  delete(nid: string): void {
    this.#delete.run(nid);
  }
}

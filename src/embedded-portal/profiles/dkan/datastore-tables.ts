// What the datastores of deployed portals keep in the database: files, rows, and one variable with all states.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { statementsOf } from '../../store/statements.ts';

/** What is known of one datastore. */
export interface DatastoreState {
  storage: number;
  data_import: number;
  /** What was configured, as JSON; null: the defaults. */
  configuration: string | null;
}

/** All states by nid; never changed in place, so that who holds one holds a copy. */
export type DatastoreStates = ReadonlyMap<string, DatastoreState>;

/** The state of a datastore that the variable does not know. */
export const initialState: DatastoreState = { storage: 0, data_import: 2, configuration: null };

/**
 * The one variable in which deployed portals keep the states of all datastores, so that writing one state writes all of them.
 * Kept in the columns of `recorded_datastore`.
 */
export class StateVariable {
  readonly #put: StatementSync;
  #states: DatastoreStates;

  constructor(db: DatabaseSync) {
    this.#put = db.prepare(
      'UPDATE recorded_datastore SET storage = ?, data_import = ?, configuration = ? WHERE nid = ?',
    );
    const rows = db.prepare('SELECT nid, storage, data_import, configuration FROM recorded_datastore').all();
    const stateOf = (row: unknown): DatastoreState => ({ ...(row as DatastoreState) }); // the columns of the SELECT
    this.#states = new Map(rows.map(({ nid, ...row }) => [String(nid), stateOf(row)]));
  }

  /** The states as they are. */
  get states(): DatastoreStates {
    return this.#states;
  }

  /** Writes `copy` with one state changed (null: forgotten) over all there is, and returns it; inside a write. */
  save(copy: DatastoreStates, nid: string, state: DatastoreState | null): DatastoreStates {
    const before = this.#states;
    const written = new Map(copy);
    if (state === null) written.delete(nid);
    else written.set(nid, state);
    for (const key of new Set([...before.keys(), ...written.keys()])) {
      const now = written.get(key) ?? initialState;
      if (now === (before.get(key) ?? initialState)) continue;
      this.#put.run(now.storage, now.data_import, now.configuration, key);
    }
    this.#states = written;
    return written;
  }
}

const schema = `
CREATE TABLE IF NOT EXISTS recorded_datastore (
  nid TEXT PRIMARY KEY, fid TEXT NOT NULL, path TEXT NOT NULL, filename TEXT NOT NULL, mime TEXT NOT NULL,
  configuration TEXT, storage INTEGER NOT NULL DEFAULT 0, data_import INTEGER NOT NULL DEFAULT 2, columns TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recorded_row (nid TEXT NOT NULL, entry_id INTEGER NOT NULL, cells TEXT NOT NULL, PRIMARY KEY (nid, entry_id)) WITHOUT ROWID;
`;

/** The file of a resource, and the columns of its table. */
export interface Row {
  nid: string;
  fid: string;
  path: string;
  filename: string;
  mime: string;
  columns: string | null;
}

/** Opens the tables. */
export const openTables = (db: DatabaseSync) => {
  db.exec(schema);
  const { row, rows, count, run } = statementsOf(db);
  return {
    get: (nid: string) =>
      row<Row>`SELECT nid, fid, path, filename, mime, columns FROM recorded_datastore WHERE nid = ${nid}`,
    put: ({ nid, fid, path, filename, mime }: Omit<Row, 'columns'>) =>
      run`INSERT INTO recorded_datastore (nid, fid, path, filename, mime)
        VALUES (${nid}, ${fid}, ${path}, ${filename}, ${mime})
        ON CONFLICT (nid) DO UPDATE SET fid = excluded.fid, path = excluded.path, filename = excluded.filename, mime = excluded.mime`,
    setColumns: (columns: string | null, nid: string) =>
      run`UPDATE recorded_datastore SET columns = ${columns} WHERE nid = ${nid}`,
    release: (nid: string) => run`UPDATE recorded_datastore SET mime = '' WHERE nid = ${nid}`,
    forget: (nid: string) => run`DELETE FROM recorded_datastore WHERE nid = ${nid}`,
    clearRows: (nid: string) => run`DELETE FROM recorded_row WHERE nid = ${nid}`,
    addRow: (nid: string, cells: string) =>
      run`INSERT INTO recorded_row
        SELECT ${nid}, coalesce(max(entry_id), 0) + 1, ${cells} FROM recorded_row WHERE nid = ${nid}`,
    count: (nid: string) => count`SELECT count(*) FROM recorded_row WHERE nid = ${nid}`,
    rows: (nid: string, limit: number, offset: number) =>
      rows<{ entry_id: number; cells: string }>`SELECT entry_id, cells FROM recorded_row
        WHERE nid = ${nid} ORDER BY entry_id LIMIT ${limit} OFFSET ${offset}`,
    waiting: () => rows<Row>`SELECT nid, mime FROM recorded_datastore WHERE storage = 0`,
  };
};

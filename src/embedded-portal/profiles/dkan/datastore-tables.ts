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
  const { row, rows, count, change } = statementsOf(db);
  return {
    get: row<Row, [nid: string]>(
      'SELECT nid, fid, path, filename, mime, columns FROM recorded_datastore WHERE nid = ?',
    ),
    put: change<[nid: string, fid: string, path: string, filename: string, mime: string]>(
      `INSERT INTO recorded_datastore (nid, fid, path, filename, mime) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (nid) DO UPDATE SET fid = excluded.fid, path = excluded.path, filename = excluded.filename, mime = excluded.mime`,
    ),
    setColumns: change<[columns: string | null, nid: string]>(
      'UPDATE recorded_datastore SET columns = ? WHERE nid = ?',
    ),
    release: change<[nid: string]>("UPDATE recorded_datastore SET mime = '' WHERE nid = ?"),
    forget: change<[nid: string]>('DELETE FROM recorded_datastore WHERE nid = ?'),
    clearRows: change<[nid: string]>('DELETE FROM recorded_row WHERE nid = ?'),
    addRow: change<[nid: string, cells: string]>(
      'INSERT INTO recorded_row SELECT ?1, coalesce(max(entry_id), 0) + 1, ?2 FROM recorded_row WHERE nid = ?1',
    ),
    count: count<[nid: string]>('SELECT count(*) FROM recorded_row WHERE nid = ?'),
    rows: rows<{ entry_id: number; cells: string }, [nid: string, limit: number, offset: number]>(
      'SELECT entry_id, cells FROM recorded_row WHERE nid = ? ORDER BY entry_id LIMIT ? OFFSET ?',
    ),
    waiting: rows<Row>('SELECT nid, mime FROM recorded_datastore WHERE storage = 0'),
  };
};

// The one variable in which releases A and B keep the states of all datastores: writing one state writes all of them.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The state of one datastore. */
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

/** The variable, kept in the columns of `recorded_datastore`. */
export class StateVariable {
  readonly #put: StatementSync;
  #states: DatastoreStates;

  constructor(db: DatabaseSync) {
    this.#put = db.prepare(
      'UPDATE recorded_datastore SET storage = ?, data_import = ?, configuration = ? WHERE nid = ?',
    );
    const rows = db.prepare('SELECT nid, storage, data_import, configuration FROM recorded_datastore').all();
    this.#states = new Map(
      rows.map(({ nid, storage, data_import, configuration }) => [
        String(nid),
        {
          storage: Number(storage),
          data_import: Number(data_import),
          configuration: configuration === null ? null : String(configuration),
        },
      ]),
    );
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

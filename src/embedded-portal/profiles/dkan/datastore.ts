// The datastore of release B as recorded: nothing is imported on attach, a failed import still answers true, rows get lost.
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SearchQuery } from '../../datastore/datastore.ts';
import { type AttachedFile, type DatastoreStatus, importManager, isImportable } from '../../datastore/records.ts';
import type { DatastoreParts, PortalDatastore } from '../../portal.ts';
import { exceptionFault, Refusal } from '../../refusal.ts';
import {
  type DatastoreState,
  type DatastoreStates,
  initialState,
  openTables,
  type Row,
  StateVariable,
} from './datastore-tables.ts';
import { timeLimitFault } from './faults.ts';
import { type RecordedTable, recordedSearch, searchFault } from './search.ts';
import { blocksOf, headerOf, type SimpleCell, SimpleParser, simpleText } from './simple-import.ts';

const batchRows = 1000;

/** Most text columns of a table: recorded with 200, refused with 400, by what such a database keeps of each within a row. */
const mostColumns = 383;

/** Throws what the recorded database says of a table that it cannot make. */
const demandTable = (columns: readonly string[]): void => {
  const refused = columns.includes('')
    ? "1166 Incorrect column name ''"
    : columns.length > mostColumns
      ? '1118 Row size too large (> 8126). Changing some columns to TEXT or BLOB may help. In current row format, BLOB prefix of 0 bytes is stored inline.'
      : null;
  if (refused !== null) {
    throw exceptionFault('42000', `SQLSTATE[42000]: Syntax error or access violation: ${refused}`);
  }
};

const refusedMessage = (error: unknown): string => {
  if (error instanceof Refusal) return error.message;
  throw error;
};

type Parts = Pick<DatastoreParts, 'db' | 'write' | 'races' | 'site'>;

export interface DatastoreRelease {
  /** How often waiting tables are imported, milliseconds; null: never. */
  cronMs: number | null;
  /** `configurable_properties` of a datastore without configuration. */
  defaultProperties: DatastoreStatus['configurable_properties'] & Record<string, unknown>;
  /** What reads show of a datastore that is in the state so; null: what was sent. */
  fieldStatus: (status: string) => string | null;
}

/** The datastore of the `dkan-7.x` profiles; for rehearsals, not for large tables. */
export class RecordedDatastore implements PortalDatastore {
  readonly #parts: Parts;
  readonly #release: DatastoreRelease;
  readonly #variable: StateVariable;
  #cron: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #sql: ReturnType<typeof openTables>;

  constructor(parts: Parts, release: DatastoreRelease) {
    const { db } = parts;
    const { cronMs } = release;
    if (cronMs !== null) {
      const run = (): void => {
        this.#running = this.#running.then(() => this.runCron());
      };
      this.#cron = setInterval(run, cronMs).unref();
    }
    this.#parts = parts;
    this.#sql = openTables(db);
    this.#release = release;
    this.#variable = new StateVariable(db);
  }

  /** Remembers the file; table, rows and state of the former one stay. Inside a write. */
  note(file: AttachedFile): void {
    this.#sql.put(file);
  }

  /** Imports nothing. */
  attached(): Promise<'not-importable'> {
    return Promise.resolve('not-importable');
  }

  /** Imports as recorded: says `imported` whatever comes of it; throws the recorded 500 where no table can be made. */
  importNow(nid: string): Promise<'imported' | 'not-importable'> {
    const { races } = this.#parts;
    const copy = this.#copy();
    races?.demandLock();
    return races === null ? this.#importOver(nid, copy) : races.import(() => this.#importOver(nid, copy));
  }

  failure(): null {
    return null;
  }

  /** Drops the table and forgets state and configuration. */
  remove(nid: string): Promise<void> {
    return this.#change(nid, null, () => {
      this.#sql.clearRows(nid);
      this.#sql.setColumns(null, nid);
    });
  }

  drop(nid: string): Promise<void> {
    return this.remove(nid);
  }

  /** Replaces the configuration by exactly what is sent, where that has one of the properties that are there now. */
  async configure(nid: string, properties: Record<string, unknown>): Promise<void> {
    const state = this.#variable.states.get(nid) ?? initialState;
    const now = state.configuration === null ? this.#release.defaultProperties : JSON.parse(state.configuration);
    if (!Object.keys(now).some((name) => (properties[name] ?? null) !== null)) return;
    await this.#change(nid, { ...state, data_import: 3, configuration: JSON.stringify(properties) });
  }

  status(nid: string): DatastoreStatus | null {
    if (this.#record(nid) === null) return null;
    this.#parts.races?.demandLock();
    const { storage, data_import, configuration } = this.#variable.states.get(nid) ?? initialState;
    return {
      class: importManager,
      storage,
      data_import,
      configurable_properties: configuration === null ? this.#release.defaultProperties : JSON.parse(configuration), // as configure() was sent it
    };
  }

  isImportable(nid: string): boolean {
    return this.#record(nid) !== null;
  }

  /** As release C shows it: 1 imported, 2 waits for its import, 3 cannot be imported, 0 without a file. */
  fieldStatus(nid: string): string | null {
    const row = this.#sql.get(nid);
    const isImported = (this.#variable.states.get(nid)?.storage ?? 0) > 0;
    if (row === null || row.mime === '') return this.#release.fieldStatus('0');
    return this.#release.fieldStatus(isImportable(row.mime) ? (isImported ? '1' : '2') : '3');
  }

  /** Imports every table that waits, where the release does. */
  async runCron(): Promise<void> {
    if (this.#release.cronMs === null) return;
    for (const row of this.#sql.waiting()) {
      if (isImportable(row.mime)) await this.importNow(row.nid).catch(() => undefined);
    }
  }

  /** The field was emptied: there is no datastore to be seen, but table and state stay for the next file. */
  async fileRemoved(nid: string): Promise<void> {
    await this.#parts.write(() => this.#sql.release(nid));
  }

  /** The node is gone, and its table and state with it. */
  async nodeRemoved(nid: string): Promise<void> {
    if (this.#sql.get(nid) === null) return;
    await this.#change(nid, null, () => {
      this.#sql.clearRows(nid);
      this.#sql.forget(nid);
    });
  }

  /** Rows of the table under the columns of the file that is there now, errors as recorded. */
  async search(query: SearchQuery): Promise<unknown> {
    const { nid } = query;
    const record = this.#record(nid);
    if (record === null) return searchFault('', `Node ${nid} doesn't have a proper file path.`);
    const table = record.columns === null ? null : this.#table(nid, JSON.parse(record.columns)); // ours
    const shown = table === null ? [] : await this.#header(record).catch(refusedMessage);
    return recordedSearch(query, { table, shown });
  }

  #table(nid: string, columns: string[]): RecordedTable {
    return {
      columns,
      count: () => this.#count(nid),
      rows: ({ limit, offset }) =>
        this.#sql.rows(nid, limit, offset).map(({ entry_id, cells }) => ({
          id: String(entry_id),
          cells: JSON.parse(cells), // ours
        })),
    };
  }

  #count(nid: string): number {
    return this.#sql.count(nid);
  }

  /** The columns in the header of the file. Throws the recorded 500 where there is none. */
  #header({ nid, path, filename }: Row): Promise<string[]> {
    return headerOf(path, `/var/www/html/sites/default/files/${filename}`, this.#parser(nid));
  }

  async sweep(): Promise<void> {}

  async close(): Promise<void> {
    clearInterval(this.#cron);
    await this.#running;
  }

  #record(nid: string): Row | null {
    const row = this.#sql.get(nid);
    return row === null || !isImportable(row.mime) ? null : row;
  }

  /** The states as a request finds them when it begins; where nothing races, those at the time they are written. */
  #copy(): DatastoreStates | null {
    return this.#parts.races === null ? null : this.#variable.states;
  }

  /** Writes one state, and with it those of all others as they were when the request began. */
  async #change(nid: string, state: DatastoreState | null, also: () => void = () => undefined): Promise<void> {
    const { races, write } = this.#parts;
    const copy = this.#copy();
    races?.demandLock();
    await races?.pause();
    await write(() => {
      this.#variable.save(copy ?? this.#variable.states, nid, state);
      also();
    });
  }

  /** The steps of the recorded import. Where one of them throws, the state stays as the last {@link save} left it. */
  async #importOver(nid: string, begun: DatastoreStates | null): Promise<'imported' | 'not-importable'> {
    const record = this.#record(nid);
    if (record === null) return 'not-importable';
    const { write } = this.#parts;
    let copy = begun;
    const stateNow = (): DatastoreState => (copy ?? this.#variable.states).get(nid) ?? initialState;
    const save = (data_import: number): Promise<void> =>
      write(() => {
        const state = { ...stateNow(), storage: 1, data_import };
        const saved = this.#variable.save(copy ?? this.#variable.states, nid, state);
        if (copy !== null) copy = saved;
      });
    if (stateNow().storage === 0 && record.columns === null) {
      const columns = [...new Set(await this.#header(record))];
      demandTable(columns);
      await write(() => this.#sql.setColumns(JSON.stringify(columns), nid));
    }
    await save(4);
    await save((await this.#load(record, await this.#header(record))) ? 6 : 7);
    return 'imported';
  }

  #parser(nid: string): SimpleParser {
    const { configuration } = this.#variable.states.get(nid) ?? initialState;
    const given: unknown = configuration === null ? {} : JSON.parse(configuration);
    return new SimpleParser(given as { delimiter?: string }); // as configure() was sent it
  }

  /**
   * Adds the rows after those that are there already, in batches; false at the first row or batch that the portal does not
   * take, and then the batch in progress is lost. Rows behind a full batch in its block are checked and lost, as recorded;
   * what is wrong with the last row when it has no line end is passed over. Throws what PHP answers at its time limit.
   */
  async #load(record: Row, columns: string[]): Promise<boolean> {
    const { nid } = record;
    const { races, site } = this.#parts;
    const parser = this.#parser(nid);
    const first = this.#count(nid) + 1;
    let counter = 0;
    let left = site.maxExecutionRows ?? Number.POSITIVE_INFINITY;
    const spend = (rows: number): void => {
      if (rows > left) throw timeLimitFault();
      left -= rows;
    };
    let batch: SimpleCell[][] = [];
    const flush = async (): Promise<boolean> => {
      const rows = batch;
      batch = [];
      if (site.batchDelay > 0) await sleep(site.batchDelay);
      spend(rows.length);
      return rows.length === 0 || (await this.#addRows(nid, columns, rows));
    };
    const take = async (records: SimpleCell[][]): Promise<boolean> => {
      let isLost = false;
      for (const cells of records) {
        const at = counter++;
        if (at > 0) spend(1);
        if (at < first) continue;
        if (cells.length !== columns.length) return false;
        if (!isLost) batch.push(cells);
        if (at % batchRows !== 0) continue;
        if (!(await flush())) return false;
        isLost = true;
      }
      return true;
    };
    const file = await open(record.path); // what is attached meanwhile does not change it
    try {
      await races?.pause(); // others may count the same rows
      for await (const block of blocksOf(file)) {
        const records = parser.feed(block);
        if (records.length > 0 && !(await take(records))) return false;
      }
    } finally {
      await file.close();
    }
    await take(parser.finish());
    const isStored = await flush();
    if (left === 0) throw timeLimitFault(); // before the state is written
    return isStored;
  }

  /** Adds rows to the table as it is now; false where it has gone, or lacks a column, or refuses a cell: then none is added. */
  #addRows(nid: string, columns: string[], rows: SimpleCell[][]): Promise<boolean> {
    const texts = rows.map((cells) => cells.map(simpleText));
    if (new Set(columns).size < columns.length || texts.some((cells) => cells.includes(undefined))) {
      return Promise.resolve(false);
    }
    return this.#parts.write(() => {
      const table = this.#sql.get(nid)?.columns ?? null;
      const places = table === null ? [] : (JSON.parse(String(table)) as string[]); // ours
      if (table === null || columns.some((name) => !places.includes(name))) return false;
      for (const cells of texts) {
        const row = places.map((name) => cells[columns.indexOf(name)] ?? null);
        this.#sql.addRow(nid, JSON.stringify(row));
      }
      return true;
    });
  }
}

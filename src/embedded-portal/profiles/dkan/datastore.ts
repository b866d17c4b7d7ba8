// The datastore of release B as recorded: nothing is imported on attach, a failed import still answers true, rows get lost.
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SearchQuery } from '../../datastore/query.ts';
import { type AttachedFile, type DatastoreStatus, importManager, isImportable } from '../../datastore/records.ts';
import type { DatastoreParts, PortalDatastore } from '../../portal.ts';
import { exceptionFault, Refusal } from '../../refusal.ts';
import { statementsOf } from '../../store/statements.ts';
import { timeLimitFault } from './faults.ts';
import { type RecordedTable, recordedSearch, searchFault } from './search.ts';
import { blocksOf, headerOf, type SimpleCell, SimpleParser, simpleText } from './simple-import.ts';

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

/** The file of a resource, and the columns of its table as JSON; null: there is none. */
interface Table extends Omit<AttachedFile, 'fid'> {
  columns: string | null;
}

const schema = `
CREATE TABLE IF NOT EXISTS recorded_table (
  nid TEXT PRIMARY KEY, path TEXT NOT NULL, filename TEXT NOT NULL, mime TEXT NOT NULL, columns TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recorded_row (nid TEXT NOT NULL, entry_id INTEGER NOT NULL, cells TEXT NOT NULL, PRIMARY KEY (nid, entry_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recorded_variable (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

interface State {
  storage: number;
  data_import: number;
  /** As it was sent; null: the defaults. */
  configuration: Record<string, unknown> | null;
}

/** All states by nid; never changed in place, so that who holds one holds a copy. */
type States = ReadonlyMap<string, State>;

const initialState: State = { storage: 0, data_import: 2, configuration: null };

type Parts = Pick<DatastoreParts, 'db' | 'write' | 'races' | 'site'>;

export interface DatastoreRelease {
  /** How often cron imports waiting tables, milliseconds, of which reads then show the state; null: neither. */
  cronMs: number | null;
  defaultProperties: DatastoreStatus['configurable_properties'] & Record<string, unknown>;
}

/** The datastore of the `dkan-7.x` profiles; for rehearsals, not for large tables. */
export class RecordedDatastore implements PortalDatastore {
  readonly #parts: Parts;
  readonly #release: DatastoreRelease;
  readonly #sql: ReturnType<typeof statementsOf>;
  /** Deployed portals keep all states in one variable, so that writing one state writes all of them. */
  #states: States;
  readonly #cron: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: Parts, release: DatastoreRelease) {
    this.#parts = parts;
    this.#release = release;
    parts.db.exec(schema);
    this.#sql = statementsOf(parts.db);
    const stored = this.#sql.value<string>`SELECT value FROM recorded_variable WHERE name = 'states'`;
    this.#states = new Map(JSON.parse(stored ?? '[]')); // as #save() wrote it
    if (release.cronMs === null) return;
    const run = (): void => {
      this.#running = this.#running.then(() => this.runCron());
    };
    this.#cron = setInterval(run, release.cronMs).unref();
  }

  /** Remembers the file; table, rows and state of the former one stay. Inside a write. */
  note({ nid, path, filename, mime }: AttachedFile): void {
    this.#sql.run`INSERT INTO recorded_table (nid, path, filename, mime) VALUES (${nid}, ${path}, ${filename}, ${mime})
      ON CONFLICT (nid) DO UPDATE SET path = excluded.path, filename = excluded.filename, mime = excluded.mime`;
  }

  async attached(): Promise<void> {}

  /** Imports as recorded: without an error whatever comes of it, but the recorded 500 where no table can be made. */
  importNow(nid: string): Promise<void> {
    const { races } = this.#parts;
    const copy = races && this.#states;
    races?.demandLock();
    return races === null ? this.#importOver(nid, copy) : races.import(() => this.#importOver(nid, copy));
  }

  failure(): null {
    return null;
  }

  remove(nid: string): Promise<void> {
    return this.#change(nid, null, () => {
      this.#sql.run`DELETE FROM recorded_row WHERE nid = ${nid}`;
      this.#setColumns(nid, null);
    });
  }

  drop(nid: string): Promise<void> {
    return this.remove(nid);
  }

  /** Replaces the configuration by exactly what is sent, where that has one of the properties that are there now. */
  async configure(nid: string, configuration: Record<string, unknown>): Promise<void> {
    const state = this.#stateOf(nid);
    const now = state.configuration ?? this.#release.defaultProperties;
    if (!Object.keys(now).some((name) => (configuration[name] ?? null) !== null)) return;
    await this.#change(nid, { ...state, data_import: 3, configuration });
  }

  status(nid: string): DatastoreStatus | null {
    if (this.#record(nid) === null) return null;
    this.#parts.races?.demandLock();
    const { configuration, ...numbers } = this.#stateOf(nid);
    const configurable_properties = (configuration ??
      this.#release.defaultProperties) as DatastoreRelease['defaultProperties']; // or what configure() was sent
    return { class: importManager, ...numbers, configurable_properties };
  }

  isImportable(nid: string): boolean {
    return this.#record(nid) !== null;
  }

  /** As release C shows it: 1 imported, 2 waits for its import, 3 cannot be imported, 0 without a file. */
  fieldStatus(nid: string): string | null {
    if (this.#release.cronMs === null) return null;
    const mime = this.#table(nid)?.mime ?? '';
    if (mime === '') return '0';
    if (!isImportable(mime)) return '3';
    return this.#stateOf(nid).storage > 0 ? '1' : '2';
  }

  /** Imports every table that waits, where the release does. */
  async runCron(): Promise<void> {
    if (this.#release.cronMs === null) return;
    for (const { nid, mime } of this.#sql.rows<Table>`SELECT nid, mime FROM recorded_table`) {
      const isWaiting = this.#stateOf(nid).storage === 0 && isImportable(mime);
      if (isWaiting) await this.importNow(nid).catch(() => undefined);
    }
  }

  /** The field was emptied: there is no datastore to be seen, but table and state stay for the next file. */
  async fileRemoved(nid: string): Promise<void> {
    await this.#parts.write(() => this.#sql.run`UPDATE recorded_table SET mime = '' WHERE nid = ${nid}`);
  }

  async nodeRemoved(nid: string): Promise<void> {
    if (this.#table(nid) === null) return;
    await this.#change(nid, null, () => {
      this.#sql.run`DELETE FROM recorded_row WHERE nid = ${nid}`;
      this.#sql.run`DELETE FROM recorded_table WHERE nid = ${nid}`;
    });
  }

  /** Rows of the table under the columns of the file that is there now, errors as recorded. */
  async search(query: SearchQuery): Promise<unknown> {
    const { nid } = query;
    const record = this.#record(nid);
    if (record === null) return searchFault('', `Node ${nid} doesn't have a proper file path.`);
    if (record.columns === null) return recordedSearch(query, { table: null, shown: [] });
    const table: RecordedTable = {
      columns: JSON.parse(record.columns), // ours
      count: () => this.#count(nid),
      rows: (limit, offset) =>
        this.#sql.rows<{ id: number; cells: string }>`SELECT entry_id AS id, cells FROM recorded_row
            WHERE nid = ${nid} ORDER BY entry_id LIMIT ${limit} OFFSET ${offset}`.map(({ id, cells }) => ({
          id: String(id),
          cells: JSON.parse(cells), // ours
        })),
    };
    return recordedSearch(query, { table, shown: await this.#header(record).catch(refusedMessage) });
  }

  async sweep(): Promise<void> {}

  async close(): Promise<void> {
    clearInterval(this.#cron);
    await this.#running;
  }

  #stateOf(nid: string): State {
    return this.#states.get(nid) ?? initialState;
  }

  #table(nid: string): Table | null {
    return this.#sql.row<Table>`SELECT nid, path, filename, mime, columns FROM recorded_table WHERE nid = ${nid}`;
  }

  /** The table of a file that can be imported. */
  #record(nid: string): Table | null {
    const table = this.#table(nid);
    return table !== null && isImportable(table.mime) ? table : null;
  }

  #setColumns(nid: string, columns: string[] | null): void {
    this.#sql.run`UPDATE recorded_table SET columns = ${columns && JSON.stringify(columns)} WHERE nid = ${nid}`;
  }

  #count(nid: string): number {
    return this.#sql.count`SELECT count(*) FROM recorded_row WHERE nid = ${nid}`;
  }

  #header({ nid, path, filename }: Table): Promise<string[]> {
    return headerOf(path, `/var/www/html/sites/default/files/${filename}`, this.#parser(nid));
  }

  #parser(nid: string): SimpleParser {
    return new SimpleParser(this.#stateOf(nid).configuration ?? {});
  }

  /** Writes a state (null: forgotten) with all others as in the copy (null: nothing races); returns all. Inside a write. */
  #save(copy: States | null, nid: string, state: State | null): States {
    const written = new Map(copy ?? this.#states);
    if (state === null) written.delete(nid);
    else written.set(nid, state);
    this.#sql.run`INSERT INTO recorded_variable (name, value) VALUES ('states', ${JSON.stringify([...written])})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
    this.#states = written;
    return written;
  }

  /** Writes a state as a request does that began just now. */
  async #change(nid: string, state: State | null, also: () => void = () => undefined): Promise<void> {
    const { races, write } = this.#parts;
    const copy = races && this.#states;
    races?.demandLock();
    await races?.pause();
    await write(() => {
      this.#save(copy, nid, state);
      also();
    });
  }

  /** The steps of the recorded import. Where one of them throws, the state stays as the last one left it. */
  async #importOver(nid: string, begun: States | null): Promise<void> {
    const record = this.#record(nid);
    if (record === null) return;
    const { write } = this.#parts;
    let copy = begun;
    const stateNow = (): State => (copy ?? this.#states).get(nid) ?? initialState;
    const save = (data_import: number): Promise<void> =>
      write(() => {
        const saved = this.#save(copy, nid, { ...stateNow(), storage: 1, data_import });
        if (copy !== null) copy = saved;
      });
    if (stateNow().storage === 0 && record.columns === null) {
      const columns = [...new Set(await this.#header(record))];
      demandTable(columns);
      await write(() => this.#setColumns(nid, columns));
    }
    await save(4);
    await save((await this.#load(record, await this.#header(record))) ? 6 : 7);
  }

  /**
   * Adds the rows after those that are there already, in batches; false at the first row or batch that the portal does not
   * take, and then the batch in progress is lost. Rows behind a full batch in its block are checked and lost, as recorded;
   * what is wrong with the last row when it has no line end is passed over. Throws what PHP answers at its time limit.
   */
  async #load(record: Table, columns: string[]): Promise<boolean> {
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
        if (at % 1000 !== 0) continue;
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
  async #addRows(nid: string, columns: string[], rows: SimpleCell[][]): Promise<boolean> {
    const texts = rows.map((cells) => cells.map(simpleText));
    if (new Set(columns).size < columns.length || texts.some((cells) => cells.includes(undefined))) return false;
    return this.#parts.write(() => {
      const places: string[] | null = JSON.parse(this.#table(nid)?.columns ?? 'null'); // ours
      if (places === null || columns.some((name) => !places.includes(name))) return false;
      for (const cells of texts) {
        const row = JSON.stringify(places.map((name) => cells[columns.indexOf(name)] ?? null));
        this.#sql.run`INSERT INTO recorded_row
          SELECT ${nid}, coalesce(max(entry_id), 0) + 1, ${row} FROM recorded_row WHERE nid = ${nid}`;
      }
      return true;
    });
  }
}

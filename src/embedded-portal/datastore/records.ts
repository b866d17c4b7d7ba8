// The datastore's part of portal.db: a record and a configuration for each resource, and their public form. Ids are numeric
// strings, as everywhere in the API.
import type { DatabaseSync } from 'node:sqlite';
import type { Reason } from '../../model/report.ts';
import { isDialectCharacter, type TableDialect } from '../../tables/scan/dialect.ts';
import { escapeHtml } from '../../util/html.ts';
import { Refusal } from '../refusal.ts';
import { prepareAll, type Statements } from '../store/statements.ts';

/** `configurable_properties` of a datastore status (spec 2.7). */
interface ConfigurableProperties {
  delimiter: string;
  quote: string;
  escape: string;
  trailing_delimiter: boolean;
}

/** What was configured, absent keys being defaults. */
type Configuration = Partial<ConfigurableProperties>;

const tabTypes = new Set(['text/tsv', 'text/tab-separated-values']);

/** True for the content types that are imported (recorded-behaviour 13). */
export const isImportable = (mime: string): boolean => mime === 'text/csv' || tabTypes.has(mime);

/** The properties as the status shows them. The default escape is the recorded one; see {@link dialectOf}. */
const shownProperties = (configuration: Configuration, mime: string): ConfigurableProperties => ({
  delimiter: tabTypes.has(mime) ? '\t' : ',',
  quote: '"',
  escape: '\\',
  trailing_delimiter: false,
  ...configuration,
});

/**
 * The dialect by which a file is imported. An escape that was not configured means doubled quotes (RFC 4180) although the
 * status shows a backslash, so that backslashes in the data are kept.
 */
export const dialectOf = (configuration: Configuration, mime: string): TableDialect => {
  const { delimiter, quote, trailing_delimiter } = shownProperties(configuration, mime);
  return { delimiter, quote, escape: configuration.escape ?? quote, trailingDelimiter: trailing_delimiter };
};

const character = (name: string, value: unknown, mayBeEmpty: boolean): string => {
  const text = value === '\\t' ? '\t' : value;
  if (typeof text === 'string' && (isDialectCharacter(text) || (mayBeEmpty && text === ''))) return text;
  throw new Refusal(406, `The property ${name} must be one printable ASCII character or a tab.`);
};

const truth = (value: unknown): boolean => {
  if (value === true || value === 1 || value === '1' || value === 'true') return true;
  if (value === false || value === 0 || value === '0' || value === 'false' || value === '' || value === null)
    return false;
  throw new Refusal(406, 'The property trailing_delimiter must be true or false.');
};

const readers: { [K in keyof ConfigurableProperties]: (value: unknown) => ConfigurableProperties[K] } = {
  delimiter: (value) => character('delimiter', value, false),
  quote: (value) => character('quote', value, true),
  escape: (value) => character('escape', value, false),
  trailing_delimiter: truth,
};

/** Changes a configuration; unknown properties and values are refused (406) and nothing is changed. */
export const changedConfiguration = (
  configuration: Configuration,
  properties: Record<string, unknown>,
  mime: string,
): Configuration => {
  const unknown = Object.keys(properties).find((name) => !Object.hasOwn(readers, name));
  if (unknown !== undefined) throw new Refusal(406, `There is no property ${escapeHtml(unknown.slice(0, 64))}.`);
  const changed: Configuration = { ...configuration };
  if ('delimiter' in properties) changed.delimiter = readers.delimiter(properties.delimiter);
  if ('quote' in properties) changed.quote = readers.quote(properties.quote);
  if ('escape' in properties) changed.escape = readers.escape(properties.escape);
  if ('trailing_delimiter' in properties)
    changed.trailing_delimiter = readers.trailing_delimiter(properties.trailing_delimiter);
  const dialect = dialectOf(changed, mime);
  if (dialect.delimiter === dialect.quote || dialect.delimiter === dialect.escape) {
    throw new Refusal(406, 'The delimiter must differ from quote and escape.');
  }
  return changed;
};

/** A file that was attached to a resource. `path` is where its bytes lie. */
export interface AttachedFile {
  nid: string;
  fid: string;
  path: string;
  filename: string;
  /** Content type. */
  mime: string;
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
  /** What the last import came to; `ready` = configured since, `running` = in progress or pending. */
  state: 'none' | 'ready' | 'running' | 'imported' | 'failed';
  reason: Reason | null;
  table: TablePointer | null;
}

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

const statements = {
  get: 'SELECT * FROM datastore WHERE nid = ?',
  all: "SELECT * FROM datastore WHERE table_file IS NOT NULL OR state = 'running'",
  pending: "SELECT nid FROM datastore WHERE state = 'running'",
  putFile: `INSERT INTO datastore (nid, fid, path, filename, mime, state) VALUES (:nid, :fid, :path, :filename, :mime, 'running')
    ON CONFLICT (nid) DO UPDATE SET fid = excluded.fid, path = excluded.path, filename = excluded.filename,
      mime = excluded.mime, state = 'running', reason = NULL`,
  setState: 'UPDATE datastore SET state = ?, reason = NULL WHERE nid = ?',
  fail: "UPDATE datastore SET state = 'failed', reason = ? WHERE nid = ?",
  point: `UPDATE datastore SET state = 'imported', reason = NULL, table_file = ?, table_fid = ?, table_rows = ?,
      table_columns = ? WHERE nid = ?`,
  clear: `UPDATE datastore SET state = 'none', reason = NULL, table_file = NULL, table_fid = NULL, table_rows = NULL,
      table_columns = NULL WHERE nid = ?`,
  configure: 'UPDATE datastore SET configuration = ? WHERE nid = ?',
  delete: 'DELETE FROM datastore WHERE nid = ?',
};

/** Reads and writes datastore records; what changes something is to be called inside a transaction. */
export class DatastoreRecords {
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
  }

  get(nid: string): DatastoreRecord | null {
    const row = this.#sql.get.get(nid);
    return row === undefined ? null : recordOf(row);
  }

  /** The records that have a table or a pending import. */
  all(): DatastoreRecord[] {
    return this.#sql.all.all().map(recordOf);
  }

  /** The resources with a pending import. */
  pending(): string[] {
    return this.#sql.pending.all().map(({ nid }) => String(nid));
  }

  /** Remembers the file of a resource; an import is pending from now on. The table of an older file stays. */
  putFile({ nid, fid, path, filename, mime }: AttachedFile): void {
    this.#sql.putFile.run({ nid, fid, path, filename, mime });
  }

  setState(nid: string, state: Exclude<DatastoreRecord['state'], 'imported' | 'failed'>): void {
    this.#sql.setState.run(state, nid);
  }

  /** The import failed; an older table stays. */
  fail(nid: string, reason: Reason): void {
    this.#sql.fail.run(JSON.stringify(reason), nid);
  }

  /** The import is complete: readers follow this table from now on. */
  point(nid: string, table: TablePointer): void {
    this.#sql.point.run(table.file, table.fid, table.rows, JSON.stringify(table.columns), nid);
  }

  /** There is no table any more. */
  clear(nid: string): void {
    this.#sql.clear.run(nid);
  }

  /** Stores what was configured; null forgets it. */
  configure(nid: string, configuration: Configuration | null): void {
    this.#sql.configure.run(configuration === null ? null : JSON.stringify(configuration), nid);
  }

  /** Forgets the resource. */
  delete(nid: string): void {
    this.#sql.delete.run(nid);
  }
}

/** A datastore status (spec 2.7). */
export interface DatastoreStatus {
  class: string;
  storage: number;
  data_import: number;
  configurable_properties: ConfigurableProperties;
}

/** The `class` of a status: the one import manager that there is. */
export const importManager = 'Dkan\\Datastore\\Manager\\SimpleImport\\SimpleImport';

/** `data_import` of the `spec` profile; see `dataset-api/values.ts`. */
const importNumbers: Record<DatastoreRecord['state'], number> = {
  none: 2,
  ready: 3,
  running: 4,
  imported: 2,
  failed: 7,
};

/** The status of a datastore; `storage` is 1 while rows are searchable, of whichever file they are. */
export const statusOf = (record: DatastoreRecord): DatastoreStatus => ({
  class: importManager,
  storage: record.table === null ? 0 : 1,
  data_import: importNumbers[record.state],
  configurable_properties: shownProperties(record.configuration, record.mime),
});

/** Value of `field_datastore_status`: "2" while the rows of the attached file are in the datastore, else "0". */
export const fieldStatusOf = ({ table, fid }: DatastoreRecord): string => (table?.fid === fid ? '2' : '0');

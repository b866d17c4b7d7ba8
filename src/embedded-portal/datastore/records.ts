// The datastore's part of portal.db: a record and a configuration for each resource, and their public form. Ids are numeric
// strings, as everywhere in the API.
import type { DatabaseSync } from 'node:sqlite';
import type { Reason } from '../../model/report.ts';
import { isDialectCharacter, type TableDialect } from '../../tables/scan/dialect.ts';
import { escapeHtml } from '../../util/html.ts';
import { Refusal } from '../refusal.ts';
import { statementsOf } from '../store/statements.ts';

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

const character = (name: string, value: unknown): string => {
  const text = value === '\\t' ? '\t' : value;
  if (typeof text === 'string' && (isDialectCharacter(text) || (name === 'quote' && text === ''))) return text;
  throw new Refusal(406, `The property ${name} must be one printable ASCII character or a tab.`);
};

const truth = (name: string, value: unknown): boolean => {
  if ([true, 1, '1', 'true'].includes(value as string)) return true;
  if ([false, 0, '0', 'false', '', null].includes(value as string)) return false;
  throw new Refusal(406, `The property ${name} must be true or false.`);
};

const readers: Readonly<Record<string, (name: string, value: unknown) => string | boolean>> = {
  delimiter: character,
  quote: character,
  escape: character,
  trailing_delimiter: truth,
};

/** A configuration with other properties; unknown properties and values are refused (406). */
export const changedConfiguration = (
  { configuration, mime }: DatastoreRecord,
  properties: Record<string, unknown>,
): Configuration => {
  const read = Object.entries(properties).map(([name, value]) => {
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (reader === undefined) throw new Refusal(406, `There is no property ${escapeHtml(name.slice(0, 64))}.`);
    return [name, reader(name, value)];
  });
  const changed: Configuration = { ...configuration, ...Object.fromEntries(read) };
  const dialect = dialectOf(changed, mime);
  if (dialect.delimiter === dialect.quote || dialect.delimiter === dialect.escape) {
    throw new Refusal(406, 'The delimiter must differ from quote and escape.');
  }
  return changed;
};

/** A file that was attached to a resource. `path` is where its bytes lie, `mime` its content type. */
export type AttachedFile = Pick<DatastoreRecord, 'nid' | 'fid' | 'path' | 'filename' | 'mime'>;

/** The rows that are searchable: a file of the tables folder, and the attached file they came from. */
export interface TablePointer {
  file: string;
  fid: string;
  rows: number;
  /** Without the serial column. */
  columns: string[];
}

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

type Stored = Record<string, unknown>;

/** Opens the datastore records. What changes something is to be called inside a transaction. */
export const openRecords = (db: DatabaseSync) => {
  const { row, rows, column, change } = statementsOf(db);
  const get = row<Stored, [nid: string]>('SELECT * FROM datastore WHERE nid = ?');
  const all = rows<Stored>('SELECT * FROM datastore');
  const pending = column<number>("SELECT nid FROM datastore WHERE state = 'running'");
  const putFile = change<[nid: string, fid: string, path: string, filename: string, mime: string, state: string]>(
    `INSERT INTO datastore (nid, fid, path, filename, mime, state) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (nid) DO UPDATE SET fid = excluded.fid, path = excluded.path, filename = excluded.filename,
        mime = excluded.mime, state = excluded.state, reason = NULL`,
  );
  const setState = change<[state: string, nid: string]>('UPDATE datastore SET state = ?, reason = NULL WHERE nid = ?');
  const fail = change<[reason: string, nid: string]>("UPDATE datastore SET state = 'failed', reason = ? WHERE nid = ?");
  const point = change<[file: string, fid: string, rows: number, columns: string, nid: string]>(
    `UPDATE datastore SET state = 'imported', reason = NULL, table_file = ?, table_fid = ?, table_rows = ?,
      table_columns = ? WHERE nid = ?`,
  );
  const configure = change<[configuration: string | null, nid: string]>(
    'UPDATE datastore SET configuration = ? WHERE nid = ?',
  );
  return {
    get: (nid: string): DatastoreRecord | null => {
      const stored = get(nid);
      return stored === null ? null : recordOf(stored);
    },
    all: (): DatastoreRecord[] => all().map(recordOf),
    /** The resources with a pending import. */
    pending: (): string[] => pending().map(String),
    /** Remembers the file of a resource; where it is a table, its import is pending. The table of an older file stays. */
    putFile: ({ nid, fid, path, filename, mime }: AttachedFile): void =>
      void putFile(nid, fid, path, filename, mime, isImportable(mime) ? 'running' : 'none'),
    setState: (nid: string, state: Exclude<DatastoreRecord['state'], 'imported' | 'failed'>): void =>
      void setState(state, nid),
    /** The import failed; an older table stays. */
    fail: (nid: string, reason: Reason): void => void fail(JSON.stringify(reason), nid),
    /** The import is complete: readers follow this table from now on. */
    point: (nid: string, { file, fid, rows, columns }: TablePointer): void =>
      void point(file, fid, rows, JSON.stringify(columns), nid),
    /** There is no table any more. */
    clear: change<[nid: string]>(
      `UPDATE datastore SET state = 'none', reason = NULL, table_file = NULL, table_fid = NULL, table_rows = NULL,
        table_columns = NULL WHERE nid = ?`,
    ),
    /** Stores what was configured; null forgets it. */
    configure: (nid: string, configuration: Configuration | null): void =>
      void configure(configuration === null ? null : JSON.stringify(configuration), nid),
    delete: change<[nid: string]>('DELETE FROM datastore WHERE nid = ?'),
  };
};

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

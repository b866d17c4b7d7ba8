// The datastore's part of portal.db: a record and a configuration for each resource, and their public form. Ids are numeric
// strings, as everywhere in the API.
import type { DatabaseSync } from 'node:sqlite';
import type { Reason } from '../../model/report.ts';
import { isDialectCharacter, type TableDialect } from '../../tables/scan/dialect.ts';
import { escapeHtml } from '../../util/html.ts';
import { Refusal } from '../refusal.ts';
import { statementsOf } from '../store/statements.ts';

const tabTypes = new Set(['text/tsv', 'text/tab-separated-values']);

/** True for the content types that are imported (recorded-behaviour 13). */
export const isImportable = (mime: string): boolean => mime === 'text/csv' || tabTypes.has(mime);

/** The defaults of `configurable_properties` (spec 2.7). That of the escape is the recorded one; see {@link dialectOf}. */
const usualProperties = (mime: string) => ({
  delimiter: tabTypes.has(mime) ? '\t' : ',',
  quote: '"',
  escape: '\\',
  trailing_delimiter: false,
});

type Configuration = Partial<ReturnType<typeof usualProperties>>;

/**
 * The dialect by which a file is imported. An escape that was not configured means doubled quotes (RFC 4180) although the
 * status shows a backslash, so that backslashes in the data are kept.
 */
export const dialectOf = (configuration: Configuration, mime: string): TableDialect => {
  const { delimiter, quote, trailing_delimiter } = { ...usualProperties(mime), ...configuration };
  return { delimiter, quote, escape: configuration.escape ?? quote, trailingDelimiter: trailing_delimiter };
};

/** A property as it is configured. Throws 406 for an unknown one, or for what it cannot be. */
const propertyOf = (name: string, value: unknown): string | boolean => {
  if (name === 'trailing_delimiter') {
    if ([true, 1, '1', 'true'].includes(value as string)) return true;
    if ([false, 0, '0', 'false', '', null].includes(value as string)) return false;
    throw new Refusal(406, `The property ${name} must be true or false.`);
  }
  if (!['delimiter', 'quote', 'escape'].includes(name)) {
    throw new Refusal(406, `There is no property ${escapeHtml(name.slice(0, 64))}.`);
  }
  const text = value === '\\t' ? '\t' : value;
  if (typeof text === 'string' && (isDialectCharacter(text) || (name === 'quote' && text === ''))) return text;
  throw new Refusal(406, `The property ${name} must be one printable ASCII character or a tab.`);
};

/** A configuration with other properties; unknown properties and values are refused (406). */
export const changedConfiguration = ({ configuration, mime }: DatastoreRecord, properties: Record<string, unknown>) => {
  const read = Object.entries(properties).map(([name, value]) => [name, propertyOf(name, value)]);
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

const select = `SELECT json_object('nid', CAST(nid AS TEXT), 'fid', CAST(fid AS TEXT), 'path', path, 'filename', filename,
    'mime', mime, 'configuration', json(coalesce(configuration, '{}')), 'state', state, 'reason', json(reason),
    'table', json(CASE WHEN table_file IS NOT NULL THEN json_object('file', table_file, 'fid', CAST(table_fid AS TEXT),
      'rows', table_rows, 'columns', json(table_columns)) END))
  FROM datastore`;

/** A new state; configuration and table stay where they are absent. */
type Change = Pick<DatastoreRecord, 'state'> & Partial<Pick<DatastoreRecord, 'configuration' | 'reason' | 'table'>>;

/** Opens the datastore records. What changes something is to be called inside a transaction. */
export const openRecords = (db: DatabaseSync) => {
  const { column, run, update } = statementsOf(db);
  const all = (condition = '', ...values: string[]): DatastoreRecord[] =>
    column<string>(`${select} ${condition}`, ...values).map((text) => JSON.parse(text)); // as the statement makes them
  return {
    get: (nid: string): DatastoreRecord | null => all('WHERE nid = ?', nid)[0] ?? null,
    all: () => all(),
    pending: () => column<number>`SELECT nid FROM datastore WHERE state = 'running'`.map(String),
    /** Remembers the file of a resource; where it is a table, its import is pending. The table of an older file stays. */
    putFile: ({ nid, fid, path, filename, mime }: AttachedFile): void => {
      run`INSERT INTO datastore (nid, fid, path, filename, mime, state)
        VALUES (${nid}, ${fid}, ${path}, ${filename}, ${mime}, ${isImportable(mime) ? 'running' : 'none'})
        ON CONFLICT (nid) DO UPDATE SET fid = excluded.fid, path = excluded.path, filename = excluded.filename,
          mime = excluded.mime, state = excluded.state, reason = NULL`;
    },
    change: (nid: string, { state, reason = null, configuration, table }: Change): void => {
      update('datastore', ['nid', nid], {
        state,
        reason: reason && JSON.stringify(reason),
        ...(configuration && { configuration: JSON.stringify(configuration) }),
        ...(table !== undefined && {
          table_file: table?.file ?? null,
          table_fid: table?.fid ?? null,
          table_rows: table?.rows ?? null,
          table_columns: table && JSON.stringify(table.columns),
        }),
      });
    },
    delete: (nid: string) => run`DELETE FROM datastore WHERE nid = ${nid}`,
  };
};

/** The `class` of a status: the one import manager that there is. */
export const importManager = 'Dkan\\Datastore\\Manager\\SimpleImport\\SimpleImport';

/** `data_import` of the `spec` profile; see `dataset-api/values.ts`. */
const importNumbers = { none: 2, ready: 3, running: 4, imported: 2, failed: 7 };

/** The status of a datastore; `storage` is 1 while rows are searchable, of whichever file they are. */
export const statusOf = (record: DatastoreRecord) => ({
  class: importManager,
  storage: record.table === null ? 0 : 1,
  data_import: importNumbers[record.state],
  configurable_properties: { ...usualProperties(record.mime), ...record.configuration },
});

export type DatastoreStatus = ReturnType<typeof statusOf>;

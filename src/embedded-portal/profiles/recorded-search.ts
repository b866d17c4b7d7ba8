// The datastore search of release B as recorded.

import { isObject } from '../../util/json.ts';
import { textOf } from '../content/items.ts';
import type { SearchQuery } from '../datastore/datastore.ts';
import { answerLength, searchAnswerOf, takeWithin } from '../datastore/query.ts';
import type { RecordedRelease } from './profile.ts';

/** A table as the recorded import left it. */
interface RecordedTable {
  columns: string[];
  rows: { id: string; cells: (string | null)[] }[];
}

type Entry = Record<string, string | null>;

const limitOf = (value: unknown): { limit: number; isNumber: boolean } => {
  if (value === undefined) return { limit: 10, isNumber: true };
  const text = textOf(value) ?? '';
  return /^\d+$/.test(text) ? { limit: Number(text), isNumber: true } : { limit: 0, isNumber: false };
};

const matches = (entry: Entry, { filters, q, query }: SearchQuery & { query?: unknown }): boolean => {
  const wanted = isObject(filters) ? Object.entries(filters) : [];
  const word = (textOf(query) ?? textOf(q) ?? '').toLowerCase();
  return (
    wanted.every(([name, value]) => (textOf(value) ?? '').split(',').includes(entry[name] ?? '')) &&
    (word === '' || Object.values(entry).some((cell) => cell?.toLowerCase().includes(word) === true))
  );
};

const sorted = (entries: Entry[], sort: unknown): Entry[] => {
  if (!isObject(sort)) return entries;
  const keys = Object.entries(sort);
  return entries.toSorted((a, b) => {
    for (const [name, direction] of keys) {
      const order = (a[name] ?? '') < (b[name] ?? '') ? -1 : (a[name] ?? '') > (b[name] ?? '') ? 1 : 0;
      if (order !== 0) return textOf(direction)?.toLowerCase() === 'desc' ? -order : order;
    }
    return 0;
  });
};

const entryOf = (table: RecordedTable, row: RecordedTable['rows'][number]): Entry => {
  const entry: Entry = {};
  for (const [index, column] of table.columns.entries()) entry[column] = row.cells[index] ?? null;
  if (!('entry_id' in entry)) entry.entry_id = row.id;
  return entry;
};

/** What a release says that keeps the exception to its log. */
export const logFault = { error: { message: 'Exception Caught, please check logs for more information' } };

/** The answer of a search that met an exception. */
export const searchFault = (faults: RecordedRelease['searchFaults'], sql: string, message: string): unknown =>
  faults === 'log' ? logFault : { sql, error: { message: `Caught exception: ${message}` } };

/** The answer of a search; `shown` are the columns of the file that is attached now. */
export const recordedSearch = (
  query: SearchQuery,
  { table, shown, faults }: { table: RecordedTable | null; shown: string[]; faults: RecordedRelease['searchFaults'] },
): unknown => {
  const fault = (sql: string, message: string): unknown => searchFault(faults, sql, message);
  const name = `dkan_datastore_${query.nid}`;
  const { limit, isNumber } = limitOf(query.limit);
  const offset = Number(textOf(query.offset) ?? 0) || 0;
  const window = `LIMIT ${limit} OFFSET ${offset}`;
  if (table === null) {
    return fault(
      `SELECT t.*\nFROM \n{${name}} t\n${window}`,
      `SQLSTATE[42S02]: Base table or view not found: 1146 Table 'dkan2.${name}' doesn't exist`,
    );
  }
  if (query.sort !== undefined && !isObject(query.sort)) {
    return fault(
      `SELECT t.*\nFROM \n{${name}} t\nORDER BY t.0 ASC\n${window}`,
      "SQLSTATE[42S22]: Column not found: 1054 Unknown column 't.0' in 'ORDER BY'",
    );
  }
  if (typeof query.fields === 'string') {
    return fault(
      `SELECT \nFROM \n{${name}} t\n${window}`,
      `SQLSTATE[42000]: Syntax error or access violation: 1064 You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near 'FROM \n${name} t\n${window}' at line 3`,
    );
  }
  const found = table.rows.map((row) => entryOf(table, row)).filter((entry) => matches(entry, query));
  const taken = isNumber ? sorted(found, query.sort).slice(offset, limit === 0 ? undefined : offset + limit) : [];
  const wanted = Array.isArray(query.fields) ? query.fields.map(String) : null;
  const shaped = taken.map((entry) =>
    wanted === null ? entry : Object.fromEntries(wanted.map((column) => [column, entry[column] ?? null])),
  );
  const budget = query.budget ?? { left: answerLength };
  const { records, length } = takeWithin(shaped, budget.left);
  budget.left -= length;
  const all = shown.includes('entry_id') ? shown : [...shown, 'entry_id'];
  return searchAnswerOf({
    success: records.length > 0,
    columns: wanted ?? all,
    resourceUuid: query.resourceUuid,
    limit,
    total: found.length,
    records,
  });
};

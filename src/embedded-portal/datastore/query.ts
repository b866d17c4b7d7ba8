// A datastore search as SQL: bound parameters only, columns only from the table's own list, a bounded answer.
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { Refusal } from '../refusal.ts';
import type { TablePointer } from './records.ts';
import { identifier, serialColumn } from './table-files.ts';

/** What can be computed of a column, in the order of an answer. */
export const aggregates = ['sum', 'avg', 'min', 'max', 'count'] as const;

/** What a search may ask for, as it comes out of a query string. */
export interface SearchWish extends Partial<Record<(typeof aggregates)[number], unknown>> {
  /** 10 when absent; 0 = as many as one answer may hold. */
  limit?: unknown;
  offset?: unknown;
  /** Column -> value, values, or values joined by commas. */
  filters?: unknown;
  /** Words that must all occur in a row, in any column; `query` means the same. */
  q?: unknown;
  query?: unknown;
  /** Columns whose equal values make one row of the answer. */
  group_by?: unknown;
  /** Column -> `asc` or `desc`; or `column desc, column`. */
  sort?: unknown;
  /** Columns to answer with: a list, or names joined by commas. */
  fields?: unknown;
}

export interface SearchQuery extends SearchWish {
  nid: string;
  resourceUuid: string;
  /** Shared by the searches of one request; that of one answer when absent. */
  budget?: AnswerBudget;
  /** True for accounts with the right to lists of any length; false when absent. */
  isUnlimited?: boolean;
}

export interface Statement {
  sql: string;
  parameters: (string | number)[];
}

const mostRecords = 10_000;

/** A search that cannot be made, in the shape in which portals report it (recorded: `sql` and `error.message`). */
export const searchRefused = (status: number, message: string): Refusal =>
  new Refusal(status, message, { body: { sql: '', error: { message: `Caught exception: ${message}` } } });

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

const wholeNumber = (name: string, value: unknown, fallback: number): number => {
  if (isAbsent(value)) return fallback;
  const text = String(value);
  if (!/^\d{1,15}$/.test(text)) throw searchRefused(400, `${name} must be a whole number.`);
  return Number(text);
};

const listOf = (name: string, value: unknown): string[] => {
  return (Array.isArray(value) ? value : [value]).map((item) => {
    if (typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean') return String(item);
    throw searchRefused(400, `${name} has a value that is not text.`);
  });
};

/** What a search may be given beside a resource; the last two are of clients that expect a script. */
const parameters = new Set(
  ['limit offset filters q query sort fields group_by callback _'.split(' '), aggregates].flat(),
);

/** Throws 400 for a parameter that no search understands. */
export const demandKnown = (names: readonly string[]): void => {
  const unknown = names.find((name) => !parameters.has(name));
  if (unknown !== undefined) throw searchRefused(400, `There is no parameter ${escapeHtml(unknown.slice(0, 64))}.`);
};

const checkColumn = (columns: ReadonlySet<string>, name: string, where: string): string => {
  if (columns.has(name)) return name;
  throw searchRefused(400, `${where}: there is no column ${escapeHtml(name.slice(0, 64))}.`);
};

/** A value may hold commas itself or be several values joined by them; both are searched for. */
const alternatives = (values: string[]): string[] => [
  ...new Set(values.flatMap((value) => [value, ...value.split(',').map((part) => part.trim())])),
];

const filterConditions = (filters: unknown, columns: ReadonlySet<string>): Statement[] => {
  if (isAbsent(filters)) return [];
  if (!isObject(filters)) throw searchRefused(400, 'filters must be given as filters[column]=value.');
  return Object.entries(filters).map(([name, value]) => {
    const column = identifier(checkColumn(columns, name, 'filters'));
    const compared = name === serialColumn ? `CAST(${column} AS TEXT)` : column;
    const values = alternatives(listOf('filters', value)).slice(0, 1000);
    return { sql: `${compared} IN (${values.map(() => '?').join(',')})`, parameters: values };
  });
};

/** A function of SQLite takes at most 1,000 arguments. */
const columnsPerConcat = 900;

const wordConditions = (q: unknown, columns: string[]): Statement[] => {
  if (isAbsent(q)) return [];
  const words = listOf('query', q).join(' ').match(/\S+/g) ?? [];
  if (words.length > 20) throw searchRefused(400, 'query has more than 20 words.');
  const places = Math.ceil(columns.length / columnsPerConcat);
  const parts = Array.from({ length: places }, (_, index) => {
    const some = columns.slice(index * columnsPerConcat, (index + 1) * columnsPerConcat);
    return `concat_ws(char(10), ${some.map(identifier).join(', ')}) LIKE ? ESCAPE '\\'`;
  });
  return words.map((word) => {
    const pattern = `%${word.replace(/[\\%_]/g, '\\$&')}%`;
    return { sql: `(${parts.join(' OR ')})`, parameters: parts.map(() => pattern) };
  });
};

const sortEntries = (sort: unknown): [string, string][] => {
  if (isAbsent(sort)) return [];
  if (isObject(sort)) return Object.entries(sort).map(([name, direction]) => [name, String(direction)]);
  return listOf('sort', sort)
    .flatMap((text) => text.split(','))
    .map((text): [string, string] => {
      const [name = '', direction = 'asc'] = text.trim().split(/\s+/);
      return [name, direction];
    });
};

const orderOf = (sort: unknown, columns: ReadonlySet<string>): string[] =>
  sortEntries(sort).map(([name, direction]) => {
    if (!/^(asc|desc)$/i.test(direction)) throw searchRefused(400, 'sort: a direction must be asc or desc.');
    return `${identifier(checkColumn(columns, name, 'sort'))} ${direction.toUpperCase()}`;
  });

/** The columns that a list, or names joined by commas, name; each once. */
const columnsOf = (where: string, value: unknown, columns: ReadonlySet<string>): string[] => {
  if (isAbsent(value)) return [];
  const names = Array.isArray(value) ? listOf(where, value) : listOf(where, value).flatMap((text) => text.split(','));
  const named = names.map((name) => name.trim()).filter((name) => name !== '');
  return [...new Set(named.map((name) => checkColumn(columns, name, where)))];
};

/** Turns a wish into SQL over the table `data`. Throws a {@link Refusal} (400) that names what is wrong. */
export const planSearch = (table: TablePointer, wish: SearchWish) => {
  const columns = new Set([...table.columns, serialColumn]);
  const limit = wholeNumber('limit', wish.limit, 10);
  const offset = wholeNumber('offset', wish.offset, 0);
  const taken = limit === 0 ? mostRecords : Math.min(limit, mostRecords);
  const conditions = [
    ...filterConditions(wish.filters, columns),
    ...wordConditions(wish.query ?? wish.q, table.columns),
  ];
  const groups = columnsOf('group_by', wish.group_by, columns);
  const computed = aggregates.flatMap((method) =>
    columnsOf(method, wish[method], columns).map((name) => ({
      as: `${method}_${name}`,
      sql: `${method}(${identifier(name)}) AS ${identifier(`${method}_${name}`)}`,
    })),
  );
  // Groups of rows instead of rows: the grouped columns, or those of them that `fields` names, and what is computed.
  const isGrouped = groups.length + computed.length > 0;
  const all = isGrouped ? groups : [...columns];
  const named = columnsOf('fields', wish.fields, new Set(all));
  const fields = named.length === 0 ? all : named;
  const sorted = orderOf(wish.sort, isGrouped ? new Set([...groups, ...computed.map(({ as }) => as)]) : columns);
  const serial = identifier(serialColumn);
  const shown = fields.map((name) =>
    name === serialColumn && !isGrouped ? `CAST(${serial} AS TEXT) AS ${serial}` : identifier(name),
  );
  const select = [...shown, ...computed.map(({ sql }) => sql)].join(', ');
  const where = conditions.map(({ sql }) => sql).join(' AND ');
  const by = groups.map(identifier);
  const from = `data${where && ` WHERE ${where}`}${by.length === 0 ? '' : ` GROUP BY ${by.join(', ')}`}`;
  const order = [...sorted, ...(isGrouped ? by : [`data.${serial}`])].join(', ');
  const values = conditions.flatMap(({ parameters }) => parameters);
  const rows: Statement = {
    sql: `SELECT ${select} FROM ${from}${order && ` ORDER BY ${order}`} LIMIT ? OFFSET ?`,
    parameters: [...values, taken, offset],
  };
  const counted = by.length === 0 ? from : `(SELECT 1 FROM ${from})`;
  const matchesAll = where === '' && by.length === 0;
  /** How to count what matches; null where all rows do. */
  const count: Statement | null = matchesAll
    ? null
    : { sql: `SELECT count(*) AS total FROM ${counted}`, parameters: values };
  return { fields, limit: limit === 0 ? 0 : taken, rows, count };
};

export const searchAnswer = (
  resourceUuid: string,
  columns: readonly string[],
  result: { limit: number; total: number; records: Record<string, unknown>[] },
) => ({
  help: 'Search a datastore table. :param resource_id: id or alias of the data that is going to be selected.',
  success: true,
  result: {
    fields: columns.map((id) => ({ id, type: id === serialColumn ? 'serial' : 'text' })),
    resource_id: [resourceUuid],
    ...result,
  },
});

export type SearchAnswer = ReturnType<typeof searchAnswer>;

/** Most text of an answer, in characters; written out and on its way to slow readers it takes several times that. */
export const answerLength = 8_000_000;

export type AnswerBudget = { left: number };

/** What a name and a value take beside their characters: quotes, colon, comma. */
const around = 6;

const lengthOf = (record: Record<string, unknown>): number => {
  let length = 2;
  for (const name in record) length += name.length + String(record[name]).length + around;
  return length;
};

/** The first records that fit into `most` characters, but one at least; `isCut` when there were more. */
export const takeWithin = (records: Iterable<Record<string, unknown>>, most: number) => {
  const taken = { records: [] as Record<string, unknown>[], length: 0, isCut: false };
  for (const record of records) {
    const length = lengthOf(record);
    if (taken.records.length > 0 && taken.length + length > most) return { ...taken, isCut: true };
    taken.length += length;
    taken.records.push(record);
  }
  return taken;
};

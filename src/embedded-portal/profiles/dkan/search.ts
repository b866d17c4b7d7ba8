// The datastore search of release B as recorded, and where no recording tells, as its module makes SQL of a query.
import { isObject } from '../../../util/json.ts';
import { textOf } from '../../content/items.ts';
import { aggregates, answerLength, type SearchQuery, searchAnswer, takeWithin } from '../../datastore/query.ts';
import { syntaxError, unknownColumn } from './faults.ts';

export interface RecordedTable {
  columns: string[];
  count: () => number;
  /** Rows in the order of their keys; `limit` -1: all. */
  rows: (limit: number, offset: number) => { id: string; cells: (string | null)[] }[];
}

type Entry = Record<string, string | null>;

type Filters = [name: string, values: string[]][];
type Sort = [name: string, direction: string][];

/** Most rows of an answer to accounts without the right to longer lists, and to `limit=0`. */
const usualRows = 100;

const hidden = new Set(['timestamp', 'feeds_entity_id', 'feeds_flatstore_entry_id']);

/** Texts compare without their case. */
const folded = (text: Cell): string => (text ?? '').toLowerCase();

const columnOf = (name: string): string => name.replace(/^t\./, '').replaceAll(' ', '_').toLowerCase();

/** What is asked of the one table; a query may name it, as `t`. */
const ofTable = (value: unknown): unknown => (isObject(value) ? value.t : value);

const listOf = (value: unknown, separator: string): string[] =>
  (Array.isArray(value) ? value.map(String) : (textOf(value) ?? '').split(separator)).filter((text) => text !== '');

const castInt = (value: unknown, absent: number): number =>
  value === undefined ? absent : Number.parseInt(textOf(value) ?? '', 10) || 0;

/** The recorded module takes no names joined by commas unless they name the table. */
const fieldsOf = (fields: unknown): string[] | null => {
  if (ofTable(fields) === undefined || ofTable(fields) === '*') return null;
  return typeof fields === 'string' ? [] : listOf(ofTable(fields), ',').filter((name) => !hidden.has(name));
};

const filtersOf = (filters: unknown): Filters =>
  Object.entries(isObject(filters) ? filters : {}).flatMap(
    ([key, value]): Filters =>
      isObject(value)
        ? filtersOf(value).map(([name, values]) => [`${key}.${name}`, values])
        : [[key, Array.isArray(value) ? value.map(String) : (textOf(value) ?? '').split(',')]],
  );

/** A last direction that is neither `asc` nor `desc` undoes the order; one behind a name in a text is mistaken. */
const sortOf = (sort: unknown): Sort => {
  if (!isObject(sort)) return / (?:asc|desc)$/.test(textOf(sort) ?? '') ? [['0', 'asc']] : [];
  const entries = Object.entries(sort).map(([name, direction]): [string, string] => [name, textOf(direction) ?? '']);
  return /^(?:asc|desc)$/.test(entries.at(-1)?.[1] ?? '') ? entries : [];
};

/** What a query asks for; names of columns may begin with the table's, `t.`. `taken` is what comes of the limit. */
const wishOf = (query: SearchQuery) => {
  const limit = castInt(query.limit, 10);
  const isUnset = query.limit !== undefined && /^0?$/.test(textOf(query.limit) ?? '');
  return {
    fields: fieldsOf(query.fields),
    filters: filtersOf(query.filters),
    word: folded(textOf(query.query) ?? textOf(query.q)),
    groupBy: listOf(ofTable(query.group_by), ','),
    computed: aggregates.flatMap((method) =>
      listOf(ofTable(query[method]), '\n').map((name) => ({ method, name, as: `${method}_${name}` })),
    ),
    sort: sortOf(query.sort),
    limit,
    taken: isUnset || (limit > usualRows && !query.isUnlimited) ? usualRows : limit,
    offset: castInt(query.offset, 0),
  };
};

type Wish = ReturnType<typeof wishOf>;

const orderOf = (direction: string): 'ASC' | 'DESC' => (direction.toUpperCase() === 'DESC' ? 'DESC' : 'ASC');

/** The statement that the recorded module makes of a query. */
const sqlOf = (table: string, { fields, filters, groupBy, computed, sort, ...wish }: Wish): string => {
  const columns = [
    ...(fields === null ? ['t.*'] : fields.map((name) => `t.${name} AS ${name}`)),
    ...computed.map(({ method, name, as }) => `${method}(${name}) AS ${as}`),
  ];
  const quoted = (values: string[]): string => values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ');
  const conditions = filters.map(([name, values]) => `(${name} IN  (${quoted(values)}))`).join(' AND ');
  const order = sort.map(([name, direction]) => `t.${name} ${orderOf(direction)}`).join(', ');
  return [
    `SELECT ${columns.join(', ')}`,
    'FROM ',
    `{${table}} t`,
    ...(conditions === '' ? [] : [`WHERE  ${conditions} `]),
    ...(groupBy.length === 0 ? [] : [`GROUP BY ${groupBy.map((name) => `t.${name}`).join(', ')}`]),
    ...(order === '' ? [] : [`ORDER BY ${order}`]),
    `LIMIT ${wish.taken} OFFSET ${wish.offset}`,
  ].join('\n');
};

/** What the recorded database says of a statement; null where it can be run. */
const faultOf = (wish: Wish, columns: string[], sql: string): string | null => {
  const known = new Set([...columns, 'entry_id']);
  const unknown = (names: string[], clause: string): string | null => {
    const name = names.find((one) => /^(?!t\.).*\./.test(one) || !known.has(columnOf(one)));
    return name === undefined ? null : unknownColumn(name, clause);
  };
  const plain = sql.replace(/[{}]/g, '');
  const syntax = (near: string): string =>
    syntaxError(near, Math.max(3, plain.slice(0, plain.lastIndexOf(near)).split('\n').length));
  const qualified = (names: string[]): string[] => names.map((name) => `t.${name}`);
  const filtered = wish.filters.map(([name]) => name);
  const counted = unknown(filtered, 'WHERE') ?? unknown(qualified(wish.groupBy), 'GROUP BY');
  if (counted !== null) return counted;
  if (wish.fields?.length === 0 && wish.computed.length === 0) return syntax(plain.slice(plain.indexOf('FROM')));
  if (wish.taken < 0) return syntax(`${wish.taken} OFFSET ${wish.offset}`);
  if (wish.offset < 0) return syntax(String(wish.offset));
  const selected = [...qualified(wish.fields ?? []), ...wish.computed.map(({ name }) => name)];
  return unknown(selected, 'SELECT') ?? unknown(qualified(wish.sort.map(([name]) => name)), 'ORDER BY');
};

const matches = (entry: Entry, { filters, word }: Wish): boolean =>
  filters.every(([name, values]) => values.map(folded).includes(folded(entry[columnOf(name)]))) &&
  (word === '' || Object.values(entry).some((cell) => folded(cell).includes(word)));

type Cell = string | null | undefined;

const byText = (a: Cell, b: Cell): number => (folded(a) < folded(b) ? -1 : Number(folded(a) > folded(b)));

const sorted = (entries: Entry[], keys: Sort): Entry[] =>
  entries.toSorted((a, b) => {
    const orders = keys.map(([name, direction]) => {
      const order = byText(a[columnOf(name)], b[columnOf(name)]);
      return orderOf(direction) === 'ASC' ? order : -order;
    });
    return orders.find((order) => order !== 0) ?? 0;
  });

const aggregated = (method: (typeof aggregates)[number], cells: Cell[]): string | null => {
  const present = cells.filter((cell) => typeof cell === 'string').toSorted(byText);
  if (method === 'count') return String(present.length);
  if (method === 'min' || method === 'max') return present.at(method === 'min' ? 0 : -1) ?? null;
  const sum = present.reduce((total, cell) => total + (Number.parseFloat(cell) || 0), 0);
  return present.length === 0 ? null : String(method === 'sum' ? sum : sum / present.length);
};

/** Each group as its first entry and what is computed of all; without `group_by` all entries are one. */
const grouped = (entries: Entry[], { groupBy, computed }: Wish): Entry[] => {
  const keyOf = (entry: Entry): string => JSON.stringify(groupBy.map((name) => folded(entry[columnOf(name)])));
  const groups = groupBy.length === 0 ? [entries] : [...Map.groupBy(entries, keyOf).values()];
  const first = groups.map((group): Entry => {
    const cellsOf = (name: string): Cell[] => group.map((entry) => entry[columnOf(name)]);
    const values = computed.map(({ method, name, as }) => [as, aggregated(method, cellsOf(name))]);
    return { ...group[0], ...Object.fromEntries(values) };
  });
  const keys = groupBy.map((name): [string, string] => [name, 'ASC']);
  return sorted(first, keys);
};

const entryOf = ({ columns }: RecordedTable, { id, cells }: ReturnType<RecordedTable['rows']>[number]): Entry => ({
  entry_id: id,
  ...Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? null])),
});

/** The entries of the window, and how many the database counts: rows that match, or their groups. */
const findIn = (table: RecordedTable, wish: Wish): { entries: Entry[]; total: number } => {
  const { filters, word, groupBy, computed, sort, taken, offset } = wish;
  const isComputed = groupBy.length + computed.length > 0;
  if (!isComputed && filters.length + sort.length === 0 && word === '') {
    return { entries: table.rows(taken, offset).map((row) => entryOf(table, row)), total: table.count() };
  }
  const rows = table.rows(-1, 0);
  const found = rows.map((row) => entryOf(table, row)).filter((entry) => matches(entry, wish));
  const all = isComputed ? grouped(found, wish) : found;
  const total = groupBy.length > 0 ? all.length : found.length;
  return { entries: sorted(all, sort).slice(offset, offset + taken), total };
};

export const searchFault = (sql: string, message: string): unknown => ({
  sql,
  error: { message: `Caught exception: ${message}` },
});

/** The answer of a search; `shown` are the columns of the file that is attached now, or why there are none. */
export const recordedSearch = (
  query: SearchQuery,
  { table, shown }: { table: RecordedTable | null; shown: string[] | string },
): unknown => {
  const wish = wishOf(query);
  const name = `dkan_datastore_${query.nid}`;
  const sql = sqlOf(name, wish);
  if (table === null) {
    const message = `SQLSTATE[42S02]: Base table or view not found: 1146 Table 'dkan2.${name}' doesn't exist`;
    return searchFault(sql, message);
  }
  const fault = faultOf(wish, table.columns, sql) ?? (typeof shown === 'string' ? shown : null);
  if (typeof shown === 'string' || fault !== null) return searchFault(sql, fault ?? '');
  const { entries, total } = findIn(table, wish);
  const namesOf = (columns: string[]): string[] =>
    wish.fields ?? [...new Set([...columns, 'entry_id'])].filter((column) => !hidden.has(column));
  const shaped = entries.map((entry) => ({
    ...Object.fromEntries(namesOf(table.columns).map((column) => [column, entry[columnOf(column)] ?? null])),
    ...Object.fromEntries(wish.computed.map(({ as }) => [as, entry[as] ?? null])),
  }));
  const { resourceUuid, budget = { left: answerLength } } = query;
  const { records, length } = takeWithin(shaped, budget.left);
  budget.left -= length;
  const answer = searchAnswer(resourceUuid, namesOf(shown), { limit: wish.limit, total, records });
  return { ...answer, success: records.length > 0 };
};

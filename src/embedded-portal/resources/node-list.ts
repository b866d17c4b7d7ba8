// The node index of the specification (4.3): equality filters, 20 nodes a page, whole or with the named fields only.

import type { SQLInputValue } from 'node:sqlite';
import { maxPageSize } from '../../dataset-api/paths.ts';
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { may } from '../access.ts';
import { hasProperty } from '../content/view.ts';
import type { Call } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import { type NodeColumn, nodeColumns, type StoredNode } from '../store/nodes.ts';

/** What the service says of a list query that cannot be. */
export const invalidQuery =
  'Invalid query provided, double check that the fields and parameters you defined are correct and exist.';

const invalid = (words: string): Refusal => new Refusal(406, `${invalidQuery} ${escapeHtml(words)}`);

const columns = new Map<string, NodeColumn>(nodeColumns.map((name) => [name, name]));

/** The column of a name, in any case and with or without that of the table; undefined where there is none. */
export const columnNamed = (name: string): NodeColumn | undefined =>
  columns.get(name.toLowerCase().replace(/^t\./, ''));

const noColumn = (what: string, name: string): Refusal =>
  invalid(`there is no ${what} ${name.replace(/^t\./, '')}; there are ${nodeColumns.join(', ')}`);

/** The fields that rows show; null: whole nodes. */
const shownFields = ({ query: { fields }, portal: { profile } }: Call): string[] | null => {
  if (fields === undefined || fields === '*') return null;
  if (typeof fields !== 'string') throw invalid('fields must be one text');
  return fields.split(',').map((part) => {
    const name = part.replace(/[^A-Za-z0-9_.]/g, '');
    if (name === '') throw invalid('fields names no column');
    if (name === 'uri' || hasProperty(profile, name)) return name;
    const { message } = noColumn('field', name);
    throw new Refusal(406, `${message}, and the other fields that a read shows`);
  });
};

/** A part of a statement and its parameters. */
export interface Clause {
  sql: string;
  values: SQLInputValue[];
}

/** A clause that no row meets. */
export const nothing: Clause = { sql: '0', values: [] };

const textColumns = new Set<NodeColumn>(['type', 'language', 'title', 'uuid']);

/** A column as it is compared, and its values: what MySQL makes of a text where it wants a number are its leading digits, else 0. */
export const comparedAs = (column: NodeColumn, values: string[]): { name: string; values: SQLInputValue[] } =>
  textColumns.has(column)
    ? { name: `n.${column} COLLATE NOCASE`, values }
    : { name: `n.${column}`, values: values.map((text) => Number(/^\s*-?\d{1,15}/.exec(text)?.[0] ?? 0)) };

/** True where a column is one of the values. */
export const isOneOf = (column: NodeColumn, texts: string[]): Clause => {
  const { name, values } = comparedAs(column, texts);
  return { sql: `${name} IN (${values.map(() => '?').join(', ')})`, values };
};

/** The most values of one filter. */
export const mostValues = 1000;

/** The filters of a query; `parameter[…]` too, as one example of the specification has it. */
const parametersIn = ({ query }: Call): Record<string, unknown> => {
  const bare = nodeColumns.find((name) => query[name] !== undefined);
  if (bare !== undefined) throw invalid(`${bare} must be written parameters[${bare}]=value`);
  const [parameter, parameters] = ['parameter', 'parameters'].map((name) => {
    const value = query[name] ?? {};
    if (!isObject(value)) throw invalid(`${name} must be written ${name}[field]=value`);
    return value;
  });
  return { ...parameter, ...parameters };
};

const filterOf = (name: string, value: unknown, op: unknown): Clause => {
  const column = columnNamed(name);
  if (column === undefined) throw noColumn('filter or order by', name);
  if (typeof value !== 'string') {
    throw invalid(`the value of parameters[${column}] must be one text; separate several values with commas`);
  }
  const compared = typeof op === 'string' && op !== '=' ? op : /^\s*([<>]=?|!=)/.exec(value)?.[1];
  if (compared !== undefined) throw invalid(`only equality is supported, not ${compared}`);
  if (value === '') return nothing; // not even an empty column
  const parts = value.split(',');
  if (parts.length > mostValues) throw invalid(`parameters[${column}] has too many values`);
  return isOneOf(column, parts);
};

/** The comparisons that a query asks for by field. */
export const operatorsIn = ({ query: { options } }: Call): Record<string, unknown> =>
  isObject(options) && isObject(options.parameters_op) ? options.parameters_op : {};

/** The default order of rows: as deployed databases find them, by nid where a filter names it, else by type. */
const naturalOrder = (call: Call): string => {
  const { parameters } = call.query;
  const op = String(operatorsIn(call).nid ?? '=');
  const isByNid = isObject(parameters) && 'nid' in parameters && !/^(?:!=|<>|LIKE|NOT LIKE|NOT IN)$/i.test(op);
  return isByNid ? 'n.nid ASC' : 'n.type ASC, n.nid ASC';
};

/** The order of rows as SQL; `refuse` throws for a column that does not exist. */
export const orderOf = (call: Call, refuse: (name: string) => never): string => {
  const { options } = call.query;
  if (options === undefined) return 'n.sticky DESC, n.created DESC, n.nid DESC';
  const orderby = isObject(options) ? options.orderby : undefined;
  if (!isObject(orderby)) return naturalOrder(call);
  const parts = Object.entries(orderby).map(([name, direction]) => {
    const sense = typeof direction === 'string' && direction.toUpperCase() === 'DESC' ? 'DESC' : 'ASC';
    return `n.${columnNamed(name) ?? refuse(name)} ${sense}`;
  });
  return parts.length === 0 ? naturalOrder(call) : [...parts, 'n.nid ASC'].join(', ');
};

const numberOf = ({ query }: Call, name: 'page' | 'pagesize', fallback: number): number => {
  const value = query[name] ?? String(fallback);
  if (!/^\d{1,15}$/.test(String(value))) throw invalid(`${name} must be a whole number`);
  if (typeof value !== 'string') throw invalid(`${name} must be one text`);
  return Number(value);
};

/** Every revision as a row of the node table; `listed`: the status that its node has now. */
const revisions = `(SELECT ${nodeColumns.map((name) => `${['vid', 'title', 'status'].includes(name) ? 'r' : 'o'}.${name}`).join(', ')},
  o.status AS listed FROM revision r JOIN node o ON o.nid = r.nid)`;

/** The rows of a list as columns of the node table. */
export const selectNodes = (
  { portal: { store } }: Call,
  {
    from,
    clauses,
    order,
    window,
  }: { from: string; clauses: Clause[]; order: string; window: [limit: number, offset: number] },
): Record<string, unknown>[] => {
  const where = clauses.length === 0 ? '' : `WHERE ${clauses.map(({ sql }) => sql).join(' AND ')}`;
  const shown = nodeColumns.map((name) => `n.${name}`).join(', ');
  const sql = `SELECT ${shown} FROM ${from} n ${where} ORDER BY ${order} LIMIT ? OFFSET ?`;
  return store.nodes.list(sql, [...clauses.flatMap(({ values }) => values), ...window]);
};

/** True for those who see unpublished nodes in lists too. */
export const seesAll = ({ user }: Call): boolean => may(user, 'administer nodes');

/**
 * The node objects of a list as `view` makes them, or what `fields` names of them; former revisions too where `vid` is
 * named (spec 9). Published nodes only, unless the caller administers nodes. Throws 406 for what it would pass over.
 */
export const listNodes = (
  call: Call,
  view: (node: StoredNode) => Record<string, unknown>,
): Record<string, unknown>[] => {
  const parameters = parametersIn(call);
  const ops = operatorsIn(call);
  const fields = shownFields(call);
  const isByRevision = 'vid' in parameters;
  const published = { sql: `n.status = 1${isByRevision ? ' AND n.listed = 1' : ''}`, values: [] };
  const clauses = [
    ...(seesAll(call) ? [] : [published]),
    ...Object.entries(parameters).map(([name, value]) => filterOf(name, value, ops[name])),
  ];
  const order = orderOf(call, (name) => {
    throw noColumn('filter or order by', name);
  });
  const limit = Math.min(numberOf(call, 'pagesize', maxPageSize), maxPageSize);
  const offset = Math.min(numberOf(call, 'page', 0) * limit, Number.MAX_SAFE_INTEGER);
  const rows = selectNodes(call, { from: isByRevision ? revisions : 'node', clauses, order, window: [limit, offset] });
  const isOfRow = fields?.every((name) => name === 'uri' || columns.has(name)) === true;
  const shownOf = (row: Record<string, unknown>): Record<string, unknown> | null => {
    if (isOfRow) return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
    const node = call.portal.store.nodes.atRevision(Number(row.vid));
    return node === null ? null : view(node);
  };
  return rows.flatMap((row) => {
    const shown = shownOf(row);
    if (shown === null) return [];
    const all: Record<string, unknown> = { ...shown, uri: `${call.baseUrl}/api/dataset/node/${row.nid}` };
    const named = fields?.filter((name) => name in all) ?? Object.keys(all);
    return [Object.fromEntries(named.map((name) => [name, all[name]]))];
  });
};

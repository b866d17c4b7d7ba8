// The node index of the specification (4.3): equality filters, 20 nodes a page, whole or with the named fields only.
import type { SQLInputValue } from 'node:sqlite';
import { maxPageSize } from '../../dataset-api/paths.ts';
import { escapeHtml } from '../../util/html.ts';
import { isObject, recordOf } from '../../util/json.ts';
import { nodeProperties } from '../content/view.ts';
import type { Call } from '../portal.ts';
import { may, Refusal } from '../refusal.ts';
import { type NodeColumn, nodeColumns, type StoredNode } from '../store/nodes.ts';

/** What the service says of a list query that cannot be. */
export const invalidQuery =
  'Invalid query provided, double check that the fields and parameters you defined are correct and exist.';

export const invalid = (words: string): Refusal => new Refusal(406, `${invalidQuery} ${escapeHtml(words)}`);

const columns = new Map<string, NodeColumn>(nodeColumns.map((name) => [name, name]));

/** The column of a name, in any case and with or without that of the table; undefined where there is none. */
export const columnNamed = (name: string): NodeColumn | undefined =>
  columns.get(name.toLowerCase().replace(/^t\./, ''));

const noColumn = (what: string, name: string, others = ''): Refusal =>
  invalid(`there is no ${what} ${name.replace(/^t\./, '')}; there are ${nodeColumns.join(', ')}${others}`);

export const namesIn = (fields: string): string[] =>
  fields.split(',').map((part) => part.replace(/[^A-Za-z0-9_.]/g, ''));

/** The fields that rows show; null: whole nodes. */
const shownFields = ({ query: { fields }, portal: { profile } }: Call): string[] | null => {
  if (fields === undefined || fields === '*') return null;
  if (typeof fields !== 'string') throw invalid('fields must be one text');
  const names = namesIn(fields);
  const fieldNames = Object.values(profile.fields).flatMap((own) => own.map(({ name }) => name));
  const known = [...nodeProperties, 'uri', ...fieldNames];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === '') throw invalid('fields names no column');
  if (unknown !== undefined) throw noColumn('field', unknown, ', and the other fields that a read shows');
  return names;
};

export interface Clause {
  sql: string;
  values: SQLInputValue[];
}

export const nothing: Clause = { sql: '0', values: [] };

/** A column as it is compared, and its values: what MySQL makes of a text where it wants a number are its leading digits, else 0. */
export const comparedAs = (column: NodeColumn, values: string[]): { name: string; values: SQLInputValue[] } =>
  ['type', 'language', 'title', 'uuid'].includes(column)
    ? { name: `n.${column} COLLATE NOCASE`, values }
    : { name: `n.${column}`, values: values.map((text) => Number(/^\s*-?\d{1,15}/.exec(text)?.[0] ?? 0)) };

export const isOneOf = (column: NodeColumn, texts: string[]): Clause => {
  const { name, values } = comparedAs(column, texts);
  return { sql: `${name} IN (${values.map(() => '?').join(', ')})`, values };
};

export const mostValues = 1000;

/** The filters of a query; `parameter[…]` too, as one example of the specification has it. */
export const parametersIn = ({ query }: Call): Record<string, unknown> => {
  const bare = nodeColumns.find((name) => query[name] !== undefined);
  if (bare !== undefined) throw invalid(`${bare} must be written parameters[${bare}]=value`);
  const { parameter = {}, parameters = {} } = query;
  if (!isObject(parameter) || !isObject(parameters)) throw invalid('filters must be written parameters[field]=value');
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

export const operatorsIn = ({ query: { options } }: Call): Record<string, unknown> =>
  recordOf(recordOf(options).parameters_op);

/** The order of rows as SQL; `refuse` makes the error for a column that does not exist. */
const orderOf = (call: Call, refuse: (name: string) => Refusal): string => {
  const { options, parameters } = call.query;
  if (options === undefined) return 'n.sticky DESC, n.created DESC, n.nid DESC';
  const parts = Object.entries(recordOf(recordOf(options).orderby)).map(([name, direction]) => {
    const column = columnNamed(name);
    if (column === undefined) throw refuse(name);
    return `n.${column} ${typeof direction === 'string' && direction.toUpperCase() === 'DESC' ? 'DESC' : 'ASC'}`;
  });
  if (parts.length > 0) return [...parts, 'n.nid ASC'].join(', ');
  // As deployed databases find them: by nid where a filter names it, else by type.
  const op = String(operatorsIn(call).nid ?? '=');
  const isByNid = isObject(parameters) && 'nid' in parameters && !/^(?:!=|<>|LIKE|NOT LIKE|NOT IN)$/i.test(op);
  return isByNid ? 'n.nid ASC' : 'n.type ASC, n.nid ASC';
};

export const numberOf = ({ query }: Call, name: 'page' | 'pagesize', fallback: number): number => {
  const value = query[name] ?? String(fallback);
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  throw invalid(`${name} must be a whole number`);
};

/** True for those who see unpublished nodes in lists too. */
export const seesAll = ({ user }: Call): boolean => may(user, 'administer nodes');

interface ListQuery {
  /** What of the node table, or of something like it, is listed. */
  clauses: Clause[];
  window: [limit: number, offset: number];
  /** Makes the error for an order by a column that does not exist. */
  refuse: (name: string) => Refusal;
  from?: string;
  /** True for a published node. */
  published?: string;
}

/** The rows of a list as columns of the node table. Published nodes only, unless the caller administers nodes. */
export const selectNodes = (
  call: Call,
  { clauses, window, refuse, from = 'node', published = 'n.status = 1' }: ListQuery,
): Record<string, unknown>[] => {
  const all = [{ sql: seesAll(call) ? '1' : published, values: [] }, ...clauses];
  const shown = nodeColumns.map((name) => `n.${name}`).join(', ');
  const where = all.map(({ sql }) => sql).join(' AND ');
  const sql = `SELECT ${shown} FROM ${from} n WHERE ${where} ORDER BY ${orderOf(call, refuse)} LIMIT ? OFFSET ?`;
  return call.portal.store.nodes.list(sql, [...all.flatMap(({ values }) => values), ...window]);
};

/** Every revision as a row of the node table; `listed`: the status that its node has now. */
const revisions = `(SELECT ${nodeColumns.map((name) => `${['vid', 'title', 'status'].includes(name) ? 'r' : 'o'}.${name}`).join(', ')},
  o.status AS listed FROM revision r JOIN node o ON o.nid = r.nid)`;

/** Nodes as `view` makes them, or what `fields` names; former revisions too with `vid` (spec 9). Throws 406. */
export const listNodes = (call: Call, view: (node: StoredNode) => Record<string, unknown>) => {
  const parameters = parametersIn(call);
  const ops = operatorsIn(call);
  const fields = shownFields(call);
  const limit = Math.min(numberOf(call, 'pagesize', maxPageSize), maxPageSize);
  const rows = selectNodes(call, {
    clauses: Object.entries(parameters).map(([name, value]) => filterOf(name, value, ops[name])),
    window: [limit, Math.min(numberOf(call, 'page', 0) * limit, Number.MAX_SAFE_INTEGER)],
    refuse: (name) => noColumn('filter or order by', name),
    ...('vid' in parameters ? { from: revisions, published: 'n.status = 1 AND n.listed = 1' } : {}),
  });
  const isOfRow = fields?.every((name) => name === 'uri' || columns.has(name)) === true;
  return rows.flatMap((row) => {
    const uri = `${call.baseUrl}/api/dataset/node/${row.nid}`;
    if (isOfRow) return [Object.fromEntries(fields.map((name) => [name, name === 'uri' ? uri : String(row[name])]))];
    const node = call.portal.store.nodes.atRevision(Number(row.vid));
    if (node === null) return [];
    const all: Record<string, unknown> = { ...view(node), uri };
    const named = fields?.filter((name) => name in all) ?? Object.keys(all);
    return [Object.fromEntries(named.map((name) => [name, all[name]]))];
  });
};

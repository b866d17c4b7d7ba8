// The node index: columns, filters, order, pages (spec 4.3; details as recorded, recorded behaviour 6).
import type { SQLInputValue } from 'node:sqlite';
import { maxPageSize } from '../../dkan/paths.ts';
import { may } from '../access.ts';
import type { Call } from '../call.ts';
import { escapeHtml, Refusal } from '../refusal.ts';
import { type NodeColumn, nodeColumns } from '../store/nodes.ts';

const columns = new Map<string, NodeColumn>(nodeColumns.map((name) => [name, name]));

const textColumns = new Set<NodeColumn>(['type', 'language', 'title', 'uuid']);

/** Largest page for those who may ask for more than {@link maxPageSize}. */
const largestPage = 10_000;

const invalid = (detail: string): Refusal =>
  new Refusal(
    406,
    `Invalid query provided, double check that the fields and parameters you defined are correct and exist. ${escapeHtml(detail)}`,
  );

const columnOf = (name: string, clause: string): NodeColumn => {
  const column = columns.get(name.toLowerCase().replace(/^t\./, ''));
  if (column === undefined) throw invalid(`Unknown column '${name}' in '${clause}'`);
  return column;
};

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Shown {
  /** Key in the row. */
  key: string;
  column: NodeColumn;
}

const shownColumns = (fields: unknown): Shown[] => {
  if (fields === undefined || fields === '*') return nodeColumns.map((column) => ({ key: column, column }));
  if (typeof fields !== 'string') throw invalid('fields must be one comma-separated list');
  const seen = new Set<string>();
  return fields.split(',').map((part) => {
    const name = part.replace(/[^A-Za-z0-9_.]/g, '');
    if (name === '') throw invalid('fields names no column');
    if (name.includes('.')) throw invalid(`Unknown column '${name}' in 'SELECT'`);
    const column = columnOf(name, 'SELECT');
    const key = seen.has(name) ? `t_${name}` : name;
    seen.add(name);
    return { key, column };
  });
};

/** What MySQL makes of a text where it wants a number: its leading digits, else 0. */
const castNumber = (text: string): number => Number(/^\s*-?\d{1,15}/.exec(text)?.[0] ?? 0);

interface Clause {
  sql: string;
  values: SQLInputValue[];
}

const operators: Record<string, string> = {
  '=': '=',
  '>': '>',
  '>=': '>=',
  '<': '<',
  '<=': '<=',
  '!=': '<>',
  '<>': '<>',
};

const filterOf = (column: NodeColumn, value: unknown, op: string): Clause => {
  if (typeof value !== 'string') throw invalid(`the value of parameters[${column}] must be a text`);
  const isText = textColumns.has(column);
  const parts = value.split(',');
  const bind = (text: string): SQLInputValue => (isText ? text : castNumber(text));
  const name = isText ? `n.${column} COLLATE NOCASE` : `n.${column}`;
  const upper = op.toUpperCase();
  if (upper === 'LIKE' || upper === 'NOT LIKE') return { sql: `n.${column} ${upper} ?`, values: [value] };
  if (upper === 'BETWEEN' && parts.length === 2) {
    return { sql: `${name} BETWEEN ? AND ?`, values: parts.map(bind) };
  }
  if (upper === 'NOT IN' || upper === '!=' || upper === '<>') {
    return { sql: `${name} NOT IN (${parts.map(() => '?').join(', ')})`, values: parts.map(bind) };
  }
  const comparison = operators[upper];
  if (comparison !== undefined && comparison !== '=') return { sql: `${name} ${comparison} ?`, values: [bind(value)] };
  if (parts.length > 1000) throw invalid(`parameters[${column}] has more than 1000 values`);
  return { sql: `${name} IN (${parts.map(() => '?').join(', ')})`, values: parts.map(bind) };
};

const filtersOf = (call: Call): Clause[] => {
  const { parameters, options } = call.query;
  const clauses: Clause[] = may(call.user, 'administer nodes') ? [] : [{ sql: 'n.status = 1', values: [] }];
  if (!isMap(parameters)) return clauses;
  const given = isMap(options) ? options.parameters_op : undefined;
  const ops = isMap(given) ? given : {};
  for (const [name, value] of Object.entries(parameters)) {
    const op = ops[name];
    clauses.push(filterOf(columnOf(name, 'WHERE'), value, typeof op === 'string' ? op : '='));
  }
  return clauses;
};

const orderOf = (options: unknown): string => {
  if (options === undefined) return 'n.sticky DESC, n.created DESC, n.nid DESC';
  const orderby = isMap(options) ? options.orderby : undefined;
  if (!isMap(orderby)) return 'n.nid ASC';
  const parts = Object.entries(orderby).map(([name, direction]) => {
    const sense = typeof direction === 'string' && direction.toUpperCase() === 'DESC' ? 'DESC' : 'ASC';
    return `n.${columnOf(name, 'ORDER BY')} ${sense}`;
  });
  return parts.length === 0 ? 'n.nid ASC' : [...parts, 'n.nid ASC'].join(', ');
};

const numberOf = (value: unknown, name: string, fallback: number): number => {
  if (value === undefined) return fallback;
  if (typeof value !== 'string') throw invalid(`${name} must be one number`);
  const number = Number(/^\s*-?\d+(?:\.\d+)?/.exec(value)?.[0] ?? 0);
  if (number < 0) throw invalid(`${name} may not be negative`);
  return number;
};

const windowOf = (call: Call): { limit: number; offset: number } => {
  const asked = numberOf(call.query.pagesize, 'pagesize', maxPageSize);
  const limit = Math.floor(Math.min(asked, may(call.user, 'unlimited lists') ? largestPage : maxPageSize));
  const page = numberOf(call.query.page, 'page', 0);
  return { limit, offset: Math.min(Math.floor(page * limit), Number.MAX_SAFE_INTEGER) };
};

/**
 * The rows of a list: columns of the node table and `uri`. Published nodes only, unless the caller administers nodes.
 * Throws 406 for columns that do not exist and numbers that make no sense.
 */
export const listNodes = (call: Call): Record<string, unknown>[] => {
  const shown = shownColumns(call.query.fields);
  const filters = filtersOf(call);
  const order = orderOf(call.query.options);
  const { limit, offset } = windowOf(call);
  const where = filters.length === 0 ? '' : `WHERE ${filters.map((filter) => filter.sql).join(' AND ')}`;
  const sql = `SELECT ${nodeColumns.map((name) => `n.${name}`).join(', ')} FROM node n ${where} ORDER BY ${order} LIMIT ? OFFSET ?`;
  const values = [...filters.flatMap((filter) => filter.values), limit, offset];
  const showsNid = shown.some(({ key }) => key === 'nid');
  return call.portal.store.nodes.list(sql, values).map((row) => {
    const out: Record<string, unknown> = {};
    for (const { key, column } of shown) out[key] = String(row[column]);
    out.uri = `${call.baseUrl}/api/dataset/node/${showsNid ? row.nid : ''}`;
    return out;
  });
};

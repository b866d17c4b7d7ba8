// The node index: filters, order, pages, and what rows show (spec 4.3; details as recorded, recorded behaviour 6).

import type { SQLInputValue } from 'node:sqlite';
import { maxPageSize } from '../../dataset-api/paths.ts';
import { isObject } from '../../util/json.ts';
import { may } from '../access.ts';
import type { Call } from '../call.ts';
import { hasProperty } from '../content/view.ts';
import type { ListFault } from '../profiles/profile.ts';
import { type NodeColumn, nodeColumns, type StoredNode } from '../store/nodes.ts';

const columns = new Map<string, NodeColumn>(nodeColumns.map((name) => [name, name]));

const textColumns = new Set<NodeColumn>(['type', 'language', 'title', 'uuid']);

/** Largest page for those who may ask for more than {@link maxPageSize}. */
const largestPage = 10_000;

/** Throws what the profile answers to a fault; returns where the profile passes it over. */
const refuse = (call: Call, fault: ListFault): void => {
  const refusal = call.portal.profile.listFault(fault);
  if (refusal !== null) throw refusal;
};

const columnOf = (call: Call, name: string, clause: 'SELECT' | 'WHERE' | 'ORDER BY'): NodeColumn => {
  const column = columns.get(name.toLowerCase().replace(/^t\./, ''));
  if (column !== undefined) return column;
  refuse(call, { kind: 'column', name: clause === 'SELECT' ? `t.${name}` : name, clause });
  return 'nid';
};

const seesAll = (call: Call): boolean => may(call.user, 'administer nodes');

interface Shown {
  /** Key in the row. */
  key: string;
  /** Column of the node table, `uri`, or a property that only the whole node has. */
  column: string;
}

/** What the rows show; null: whole nodes. */
const shownColumns = (call: Call): Shown[] | null => {
  const { fields } = call.query;
  const { strictLists } = call.portal.profile;
  const uri: Shown[] = [{ key: 'uri', column: 'uri' }];
  if (fields === undefined || fields === '*') {
    return strictLists ? null : [...nodeColumns.map((column) => ({ key: column, column })), ...uri];
  }
  if (typeof fields !== 'string') refuse(call, { kind: 'not-text', parameter: 'fields', unlimited: false });
  const seen = new Set<string>();
  const named = String(fields)
    .split(',')
    .map((part): Shown => {
      const name = part.replace(/[^A-Za-z0-9_.]/g, '');
      if (name === '') refuse(call, { kind: 'no-columns' });
      if (name.includes('.')) refuse(call, { kind: 'column', name: `t.${name}`, clause: 'SELECT' });
      if (strictLists && (name === 'uri' || hasProperty(call.portal.profile, name))) return { key: name, column: name };
      const column = columnOf(call, name, 'SELECT');
      const key = seen.has(name) ? `t_${name}` : name;
      seen.add(name);
      return { key, column };
    });
  return strictLists ? named : [...named, ...uri];
};

/** What MySQL makes of a text where it wants a number: its leading digits, else 0. */
const castNumber = (text: string): number => Number(/^\s*-?\d{1,15}/.exec(text)?.[0] ?? 0);

interface Clause {
  sql: string;
  values: SQLInputValue[];
}

const nothing: Clause = { sql: '0', values: [] };

const operators: Record<string, string> = {
  '=': '=',
  '>': '>',
  '>=': '>=',
  '<': '<',
  '<=': '<=',
  '!=': '<>',
  '<>': '<>',
};

const otherOperators = new Set(['=', 'IS NULL', 'IS NOT NULL', 'LIKE', 'NOT LIKE', 'BETWEEN', 'IN', 'NOT IN']);

/** Refuses a comparison that the profile does not know; under `spec` also one written into the value, as `>5`. */
const checkOperator = (call: Call, value: string, op: string): void => {
  const { operators: allowed } = call.portal.profile;
  const isKnown = Object.hasOwn(operators, op) || otherOperators.has(op.toUpperCase());
  const sent = allowed === 'equality' && op === '=' ? (/^\s*([<>]=?|!=)/.exec(value)?.[1] ?? op) : op;
  if (allowed === 'any' || (allowed === 'known' ? isKnown : sent === '=')) return;
  const { limit, offset } = windowOf(call);
  refuse(call, {
    kind: 'operator',
    op: sent,
    value,
    window: `LIMIT ${limit} OFFSET ${offset}`,
    seesAll: seesAll(call),
  });
};

const filterOf = (call: Call, column: NodeColumn, { value, op }: { value: unknown; op: string }): Clause => {
  if (typeof value !== 'string') {
    refuse(call, { kind: 'filter-list', column, seesAll: seesAll(call) });
    return nothing;
  }
  checkOperator(call, value, op);
  const isText = textColumns.has(column);
  const parts = value.split(',');
  const bind = (text: string): SQLInputValue => (isText ? text : castNumber(text));
  const name = isText ? `n.${column} COLLATE NOCASE` : `n.${column}`;
  // An empty value matches nothing, not even an empty column.
  if (value === '') return nothing;
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
  if (parts.length > 1000) refuse(call, { kind: 'too-many-values', column });
  return { sql: `${name} IN (${parts.map(() => '?').join(', ')})`, values: parts.map(bind) };
};

/** The filters of a query; `parameter[…]`, as one example of the specification has it, where the profile is strict. */
const parametersIn = (call: Call): Record<string, unknown> => {
  const { parameters, parameter } = call.query;
  if (!call.portal.profile.strictLists) return isObject(parameters) ? parameters : {};
  const bare = nodeColumns.find((name) => call.query[name] !== undefined);
  if (bare !== undefined)
    refuse(call, { kind: 'malformed', parameter: bare, wanted: `written parameters[${bare}]=value` });
  for (const [name, value] of Object.entries({ parameters, parameter })) {
    if (value !== undefined && !isObject(value)) {
      refuse(call, { kind: 'malformed', parameter: name, wanted: `written ${name}[field]=value` });
    }
  }
  return { ...(isObject(parameter) ? parameter : {}), ...(isObject(parameters) ? parameters : {}) };
};

/** True where former revisions are found too (spec 9). */
const isByRevision = (call: Call): boolean => call.portal.profile.strictLists && 'vid' in parametersIn(call);

/** Every revision as a row of the node table; `listed`: the status that its node has now. */
const revisions = `(SELECT ${nodeColumns.map((name) => `${['vid', 'title', 'status'].includes(name) ? 'r' : 'o'}.${name}`).join(', ')},
  o.status AS listed FROM revision r JOIN node o ON o.nid = r.nid)`;

const filtersOf = (call: Call): Clause[] => {
  const { options } = call.query;
  const parameters = parametersIn(call);
  const published = `n.status = 1${isByRevision(call) ? ' AND n.listed = 1' : ''}`;
  const clauses: Clause[] = seesAll(call) ? [] : [{ sql: published, values: [] }];
  const given = isObject(options) ? options.parameters_op : undefined;
  const ops = isObject(given) ? given : {};
  for (const [name, value] of Object.entries(parameters)) {
    const op = ops[name];
    clauses.push(filterOf(call, columnOf(call, name, 'WHERE'), { value, op: typeof op === 'string' ? op : '=' }));
  }
  return clauses;
};

/** The default order of rows: as the recorded database finds them, by nid where a filter names it, else by type. */
const naturalOrder = (call: Call): string => {
  const { parameters, options } = call.query;
  const ops = isObject(options) && isObject(options.parameters_op) ? options.parameters_op : {};
  const op = String(ops.nid ?? '=');
  const isByNid = isObject(parameters) && 'nid' in parameters && !/^(?:!=|<>|LIKE|NOT LIKE|NOT IN)$/i.test(op);
  return isByNid ? 'n.nid ASC' : 'n.type ASC, n.nid ASC';
};

const orderOf = (call: Call): string => {
  const { options } = call.query;
  if (options === undefined) return 'n.sticky DESC, n.created DESC, n.nid DESC';
  const orderby = isObject(options) ? options.orderby : undefined;
  if (!isObject(orderby)) return naturalOrder(call);
  const parts = Object.entries(orderby).map(([name, direction]) => {
    const sense = typeof direction === 'string' && direction.toUpperCase() === 'DESC' ? 'DESC' : 'ASC';
    return `n.${columnOf(call, name, 'ORDER BY')} ${sense}`;
  });
  return parts.length === 0 ? naturalOrder(call) : [...parts, 'n.nid ASC'].join(', ');
};

/** What PHP makes of a parameter where it wants a number. */
const numberOf = (call: Call, name: 'page' | 'pagesize', fallback: number): number => {
  const value = call.query[name];
  if (value === undefined) return fallback;
  if (call.portal.profile.strictLists && !/^\d{1,15}$/.test(String(value))) {
    refuse(call, { kind: 'malformed', parameter: name, wanted: 'a whole number' });
  }
  if (typeof value === 'string') return Number(/^\s*-?\d+(?:\.\d+)?/.exec(value)?.[0] ?? 0);
  refuse(call, { kind: 'not-text', parameter: name, unlimited: may(call.user, 'unlimited lists') });
  return fallback;
};

const windowOf = (call: Call): { limit: number; offset: number } => {
  const isUnlimited = may(call.user, 'unlimited lists') && !call.portal.profile.strictLists;
  const most = isUnlimited ? largestPage : maxPageSize;
  const limit = Math.floor(Math.min(numberOf(call, 'pagesize', maxPageSize), most));
  const offset = Math.floor(numberOf(call, 'page', 0) * limit);
  if (limit < 0 || offset < 0) refuse(call, { kind: 'negative', limit, offset, seesAll: seesAll(call) });
  return { limit, offset: Math.min(offset, Number.MAX_SAFE_INTEGER) };
};

/** True for a query at which deployed servers note a warning of their own: a number or order that is none. */
export const warnsOfQuery = ({ query }: Call): boolean => {
  const { page, pagesize, options } = query;
  const isOdd = (value: unknown): boolean => typeof value === 'string' && !/^\s*-?\d+(?:\.\d+)?\s*$/.test(value);
  return isOdd(page) || isOdd(pagesize) || (isObject(options) && typeof options.orderby === 'string');
};

/**
 * The rows of a list, as the profile has them: columns of the node table and `uri`, or node objects as `view` makes them,
 * of which `fields` may choose any part. Published nodes only, unless the caller administers nodes.
 * Throws 406 for fields that do not exist and numbers that make no sense.
 */
export const listNodes = (
  call: Call,
  view: (node: StoredNode) => Record<string, unknown>,
): Record<string, unknown>[] => {
  const { store, profile } = call.portal;
  const shown = shownColumns(call);
  const filters = filtersOf(call);
  const order = orderOf(call);
  const { limit, offset } = windowOf(call);
  const where = filters.length === 0 ? '' : `WHERE ${filters.map((filter) => filter.sql).join(' AND ')}`;
  const from = isByRevision(call) ? revisions : 'node';
  const sql = `SELECT ${nodeColumns.map((name) => `n.${name}`).join(', ')} FROM ${from} n ${where} ORDER BY ${order} LIMIT ? OFFSET ?`;
  const values = [...filters.flatMap((filter) => filter.values), limit, offset];
  const showsNid = profile.strictLists || shown?.some(({ key }) => key === 'nid') === true;
  const isWhole = shown?.every(({ column }) => column === 'uri' || columns.has(column)) !== true;
  return store.nodes.list(sql, values).map((row) => {
    const uri = `${call.baseUrl}/api/dataset/node/${showsNid ? row.nid : ''}`;
    const node = isWhole ? store.nodes.atRevision(Number(row.vid)) : null;
    const all: Record<string, unknown> = { ...(node === null ? row : view(node)), uri };
    if (shown === null) return all;
    const parts = shown.filter(({ column }) => column in all);
    return Object.fromEntries(parts.map(({ key, column }) => [key, isWhole ? all[column] : String(all[column])]));
  });
};

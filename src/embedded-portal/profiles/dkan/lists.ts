// The node index of deployed servers (recorded behaviour 6): columns, comparisons, pages, the database's words for faults.
import { maxPageSize } from '../../../dataset-api/paths.ts';
import { isObject, recordOf } from '../../../util/json.ts';
import type { Call } from '../../portal.ts';
import { may, Refusal } from '../../refusal.ts';
import {
  type Clause,
  columnNamed,
  comparedAs,
  invalidQuery,
  isOneOf,
  mostValues,
  namesIn,
  nothing,
  operatorsIn,
  seesAll,
  selectNodes,
} from '../../resources/node-list.ts';
import { type NodeColumn, nodeColumns } from '../../store/nodes.ts';
import { fatalFault, syntaxError, unknownColumn } from './faults.ts';

/** Largest page for those who may ask for more than {@link maxPageSize}. */
const largestPage = 10_000;

const invalid = (sql: string): Refusal => {
  const message = `${invalidQuery} ${sql}`;
  return new Refusal(406, message, { reason: `Not Acceptable : ${message.replaceAll('\n', '')}` });
};

const columnOf = (name: string, clause: 'SELECT' | 'WHERE' | 'ORDER BY'): NodeColumn => {
  const column = columnNamed(name);
  if (column === undefined) throw invalid(unknownColumn(clause === 'SELECT' ? `t.${name}` : name, clause));
  return column;
};

const newest = 'ORDER BY sticky DESC, created DESC';

/** The columns that rows show, by their keys; a name that is there again is that of the table with it. */
const shownColumns = ({ query: { fields } }: Call): Map<string, NodeColumn> => {
  const shown = new Map<string, NodeColumn>();
  if (fields === undefined || fields === '*') return new Map(nodeColumns.map((name) => [name, name]));
  if (typeof fields !== 'string') throw fatalFault();
  for (const name of namesIn(fields)) {
    if (name === '') throw invalid(syntaxError(`AS \nFROM \nnode t\n${newest}\nLIMIT 2 OFFSET 0`, 2));
    if (name.includes('.')) throw invalid(unknownColumn(`t.${name}`, 'SELECT'));
    shown.set(shown.has(name) ? `t_${name}` : name, columnOf(name, 'SELECT'));
  }
  return shown;
};

const comparisons = ['>', '>=', '<', '<='];
const equalities = ['=', '!=', '<>', 'IS NULL', 'IS NOT NULL', 'LIKE', 'NOT LIKE', 'BETWEEN', 'IN', 'NOT IN'];

const tooMuch = (): Refusal => invalid(syntaxError(`)) \n${newest}\nLIMIT 20 OFFSET 0`, 4));

const filterOf = (column: NodeColumn, value: unknown, op: string): Clause => {
  if (typeof value !== 'string') throw tooMuch();
  const parts = value.split(',');
  if (value === '') return nothing; // not even an empty column
  const upper = op.toUpperCase();
  if (upper === 'LIKE' || upper === 'NOT LIKE') return { sql: `n.${column} ${upper} ?`, values: [value] };
  const { name, values } = comparedAs(column, parts);
  if (upper === 'BETWEEN' && parts.length === 2) return { sql: `${name} BETWEEN ? AND ?`, values };
  if (['NOT IN', '!=', '<>'].includes(upper)) return { sql: `NOT ${isOneOf(column, parts).sql}`, values };
  if (comparisons.includes(op)) return { sql: `${name} ${op} ?`, values: comparedAs(column, [value]).values };
  if (parts.length > mostValues) throw tooMuch();
  return isOneOf(column, parts);
};

/** What PHP makes of a parameter where it wants a number. */
const numberOf = ({ query, user }: Call, name: 'page' | 'pagesize', fallback: number): number => {
  const value = query[name];
  if (typeof value === 'string') return Number(/^\s*-?\d+(?:\.\d+)?/.exec(value)?.[0] ?? 0);
  if (value !== undefined && (name === 'page' || may(user, 'unlimited lists'))) throw fatalFault();
  return fallback;
};

const windowOf = (call: Call): [limit: number, offset: number] => {
  const most = may(call.user, 'unlimited lists') ? largestPage : maxPageSize;
  const limit = Math.floor(Math.min(numberOf(call, 'pagesize', maxPageSize), most));
  const offset = Math.floor(numberOf(call, 'page', 0) * limit);
  const line = seesAll(call) ? 5 : 6;
  if (limit < 0) throw invalid(syntaxError(`${limit} OFFSET ${offset}`, line));
  if (offset < 0) throw invalid(syntaxError(String(offset), line));
  return [limit, Math.min(offset, Number.MAX_SAFE_INTEGER)];
};

/** True for a query at which deployed servers note a warning of their own: a number or order that is none. */
export const warnsOfQuery = ({ query: { page, pagesize, options } }: Call): boolean => {
  const isOdd = (value: unknown): boolean => typeof value === 'string' && !/^\s*-?\d+(?:\.\d+)?\s*$/.test(value);
  return isOdd(page) || isOdd(pagesize) || (isObject(options) && typeof options.orderby === 'string');
};

/** Lists of a release that treats unknown comparisons as equality. */
export const listRows = (call: Call): Record<string, unknown>[] => {
  const shown = shownColumns(call);
  const ops = operatorsIn(call);
  const rows = selectNodes(call, {
    clauses: Object.entries(recordOf(call.query.parameters)).map(([name, value]) =>
      filterOf(columnOf(name, 'WHERE'), value, String(ops[name] ?? '=')),
    ),
    window: windowOf(call),
    refuse: (name) => invalid(unknownColumn(name, 'ORDER BY')),
  });
  return rows.map((row) => ({
    ...Object.fromEntries([...shown].map(([key, column]) => [key, String(row[column])])),
    uri: `${call.baseUrl}/api/dataset/node/${shown.has('nid') ? row.nid : ''}`,
  }));
};

/** The same where a comparison that does not exist ends in an error of the database. */
export const listRowsOfKnown = (call: Call): Record<string, unknown>[] => {
  const parameters = recordOf(call.query.parameters);
  const known = [...comparisons, ...equalities];
  for (const [name, op] of Object.entries(operatorsIn(call))) {
    const value = parameters[name];
    if (typeof value !== 'string' || typeof op !== 'string' || known.includes(op.toUpperCase())) continue;
    const [limit, offset] = windowOf(call);
    const rest = seesAll(call) ? '' : " AND (status = '1')";
    throw invalid(syntaxError(`${op.toUpperCase()} '${value}')${rest} \nLIMIT ${limit} OFFSET ${offset}`, 4));
  }
  return listRows(call);
};

// Rows of JSON: an array of flat objects, or one object a line. Numbers keep the digits they have in the file.
import { TableInputError } from '../../../model/errors.ts';
import { isObject, parsedJson } from '../../../util/json.ts';
import {
  columnLimit,
  inBatches,
  type Limits,
  NotOneTable,
  oversizeRow,
  type Row,
  shown,
  type Table,
  tooManyColumns,
} from '../row.ts';
import { type Bytes, decoded } from './bytes.ts';

type Item = { row: number; text: string };

/** Opens JSON, which is read twice; the columns are all keys of all objects, in the order of first appearance. */
export const openJson = async (bytes: Bytes, format: 'array' | 'lines', limits: Limits): Promise<Table> => {
  const items = (): AsyncGenerator<Item> =>
    format === 'lines' ? lineItems(decoded(bytes), limits) : arrayItems(decoded(bytes), limits);
  const columns = new Map<string, number>();
  for await (const item of items()) {
    const keys = entriesOf(item).map(([key]) => key);
    if (columns.size > 0 && keys.length > 0 && !keys.some((key) => columns.has(key))) {
      const hint =
        'remove what is no row, or give all rows a common key; to publish the file as it is: `import: never`';
      throw new NotOneTable(`row ${item.row} has no key in common with those above`, 'rows', { line: item.row, hint });
    }
    for (const key of keys) if (!columns.has(key)) columns.set(key, columns.size);
    if (columns.size > columnLimit) throw tooManyColumns(columns.size);
  }
  if (columns.size === 0) {
    throw new TableInputError('the JSON has no rows, so there are no columns', {
      hint: 'it must be an array of objects, or one object in each line',
    });
  }
  return { columns: [...columns.keys()], isNamed: true, batches: inBatches(rowsOf(items(), columns)) };
};

/** How the rows of a `.json` file are written. @throws NotOneTable where it is neither an array nor an object a line */
export const jsonFormat = async (bytes: Bytes, name: string): Promise<'array' | 'lines'> => {
  let head = '';
  for await (const text of decoded(bytes)) {
    head += text;
    if (head.length > mostRead) break;
  }
  if (head.trimStart().startsWith('[')) return 'array';
  const [first = '', ...others] = head.trimStart().split('\n');
  if (isObject(parsedJson(first)) && others.some((line) => line.startsWith('{'))) return 'lines';
  const value = head.length > mostRead ? {} : parsedJson(head);
  const isAnswer = isObject(value) && failure.test(head);
  const holdsRows = isAnswer || !isObject(value) || Object.values(value).every((it) => it instanceof Object);
  let [what, way] = ['not an array of rows', 'a table is an array of objects, or one object a line'];
  if (isAnswer) [what, way] = ['the answer of a server that failed', 'fetch the table again'];
  if (value === undefined) [what, way] = ['not JSON', 'look for what stands around the array, or in its place'];
  const isNested = /:\s*\[\s*[{[]|"class"\s*:\s*"dataset"/.test(head);
  throw new NotOneTable(`${name} is ${what}`, holdsRows || isNested ? 'rows' : 'nothing', {
    hint: `${way}; to publish the file as it is: \`import: never\``,
  });
};

const mostRead = 64 * 1024;

/** What servers answer in place of what was asked for. */
const failure =
  /^\s*\{\s*"(?:(?:errors?|exception|fault)"\s*:\s*(?!null|false|\[\])|(?:message|detail)"\s*:\s*"[^"]*"\s*\}\s*$)|"success"\s*:\s*false/i;

async function* rowsOf(items: AsyncIterable<Item>, columns: ReadonlyMap<string, number>): AsyncGenerator<Row> {
  for await (const item of items) {
    const cells = new Array<string>(columns.size).fill('');
    for (const [key, value] of entriesOf(item)) {
      const column = columns.get(key);
      if (column !== undefined) cells[column] = cellOf(value, item.row, key);
    }
    yield { line: item.row, cells };
  }
}

/** Numbers stay as they are in the file, such as `12345678901234567890` and `1.10`, as text. */
const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' ? (context?.source ?? value) : value;

const objectOf = ({ row, text }: Item): Record<string, unknown> => {
  let value: unknown;
  try {
    value = JSON.parse(text, keepDigits);
  } catch (cause) {
    throw new TableInputError(`row ${row} is not JSON`, {
      line: row,
      hint: 'fix the file; each row is one object such as {"id": 1, "name": "Parks"}',
      cause,
    });
  }
  if (!isObject(value)) {
    const details = { line: row, hint: 'each row must be an object such as {"id": 1, "name": "Parks"}' };
    if (row === 1) throw new NotOneTable('row 1 is not an object', 'rows', details);
    throw new TableInputError(`row ${row} is not an object`, details);
  }
  return value;
};

/** Keys and values in the order of the text: objects put keys such as `2021` first, and keep the last of two equal ones. */
const entriesOf = (item: Item): [key: string, value: unknown][] => {
  const value = objectOf(item);
  const keys = keysOf(item.text);
  if (new Set(keys).size === keys.length) return keys.map((key) => [key, value[key]]);
  const twice = keys.find((key, at) => keys.indexOf(key) < at) ?? '';
  throw new TableInputError(`row ${item.row} has the key ${shown(twice)} twice`, {
    line: item.row,
    hint: 'each key of a row is one column: rename or remove one of them',
  });
};

const keysOf = (text: string): string[] => {
  const keys: string[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/gs)) {
    if (token.startsWith('"')) {
      if (depth === 1 && token.endsWith(':')) keys.push(JSON.parse(token.slice(0, -1)));
    } else depth += token === '{' || token === '[' ? 1 : -1;
  }
  return keys;
};

const cellOf = (value: unknown, row: number, key: string): string => {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  const what = Array.isArray(value) ? 'a list' : 'an object';
  throw new NotOneTable(`row ${row}: the value of ${shown(key)} is ${what}, which does not fit into a table`, 'rows', {
    line: row,
    hint: 'flatten the value into keys of the row, or set `import: never` to publish the file as it is',
  });
};

async function* lineItems(source: AsyncIterable<string>, limits: Limits): AsyncGenerator<Item> {
  let rest = '';
  let row = 0;
  for await (const piece of source) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > limits.rowBytes) throw oversizeRow(row + lines.length + 1, limits);
    for (const text of lines) {
      row++;
      if (text.length > limits.rowBytes) throw oversizeRow(row, limits);
      if (text.trim() !== '') yield { row, text };
    }
  }
  if (rest.trim() !== '') yield { row: row + 1, text: rest };
}

/** The elements of an array; JSON.parse validates them later. */
async function* arrayItems(source: AsyncIterable<string>, limits: Limits): AsyncGenerator<Item> {
  let rest = '';
  let row = 0;
  let place = 'before' as 'before' | 'inside' | 'behind'; // `complete` changes it
  function* complete(): Generator<Item> {
    for (let end = elementEnd(rest); place === 'inside' && end >= 0; end = elementEnd(rest)) {
      const [text, sign] = [rest.slice(0, end), rest[end]];
      if (sign === '}') throw notAnArray();
      rest = rest.slice(end + 1);
      if (sign === ']') place = 'behind';
      // An element is missing between two commas, or there is none at all.
      if (sign === ',' || row > 0 || text.trim() !== '') yield { row: ++row, text };
    }
  }
  for await (const piece of source) {
    rest += piece;
    if (place === 'before' && /^\s*\[/.test(rest)) {
      rest = rest.trimStart().slice(1);
      place = 'inside';
    }
    yield* complete();
    if (place !== 'inside' && rest.trim() !== '') throw notAnArray();
    if (rest.length > limits.rowBytes) throw oversizeRow(row + 1, limits);
  }
  if (place !== 'behind') throw notAnArray();
}

/** Where the element at the start of a text ends, by brackets and quotes; -1 when further down. */
const elementEnd = (text: string): number => {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') isText = !isText;
    else if (isText) {
      if (character === '\\') at += 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth-- === 0) return at;
    } else if (character === ',' && depth === 0) return at;
  }
  return -1;
};

const notAnArray = (): TableInputError =>
  new TableInputError('the JSON is not one complete array', {
    hint: 'it must begin with [ and end with ]; copy or export the file again in full',
  });

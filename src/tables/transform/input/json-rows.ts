// Rows of JSON: an array of flat objects, or one object a line. Numbers keep the digits they have in the file.
import { TableInputError } from '../../../model/errors.ts';
import { isObject, parsedJson } from '../../../util/json.ts';
import { type Limits, NotOneTable, oversizeRow, type Row, shown, type Table, tooManyColumns } from '../row.ts';
import { type Bytes, decoded } from './bytes.ts';

/** An object of the file: its number from 1 and its text. */
interface Item {
  row: number;
  text: string;
}

/** Opens JSON, which is read twice; the columns are all keys of all objects, in the order of first appearance. */
export const openJson = async (bytes: Bytes, format: 'array' | 'lines', limits: Limits): Promise<Table> => {
  const items = (): AsyncGenerator<Item> =>
    format === 'lines' ? lineItems(decoded(bytes, null), limits) : arrayItems(decoded(bytes, null), limits);
  const columns = new Map<string, number>();
  for await (const item of items()) {
    for (const [key] of entriesOf(item)) if (!columns.has(key)) columns.set(key, columns.size);
    if (columns.size > limits.columns) throw tooManyColumns(columns.size, limits);
  }
  if (columns.size === 0) {
    throw new TableInputError('the JSON has no rows, so there are no columns', {
      hint: 'it must be an array of objects, or one object in each line',
    });
  }
  return { columns: [...columns.keys()], isNamed: true, batches: batchesOf(items(), columns) };
};

/** How the rows of a `.json` file are written. @throws NotOneTable where it is neither an array nor an object a line */
export const jsonFormat = async (bytes: Bytes, name: string): Promise<'array' | 'lines'> => {
  let head = '';
  for await (const text of decoded(bytes, null)) {
    head += text;
    if (head.length > headLength) break;
  }
  if (head.trimStart().startsWith('[')) return 'array';
  const [first = '', ...others] = head.trimStart().split('\n');
  if (isObject(parsedJson(first)) && others.some((line) => line.startsWith('{'))) return 'lines';
  throw new NotOneTable(`${name} is not an array of rows`, {
    hint: 'a table is an array of objects, or one object a line; to publish the file as it is: `import: never`',
    hasRows: /:\s*\[\s*[{[]/.test(head),
  });
};

const headLength = 64 * 1024;

const batchRows = 500;

async function* batchesOf(items: AsyncGenerator<Item>, columns: ReadonlyMap<string, number>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  for await (const item of items) {
    const cells = new Array<string>(columns.size).fill('');
    for (const [key, value] of entriesOf(item)) {
      const column = columns.get(key);
      if (column !== undefined) cells[column] = cellOf(value, item.row, key);
    }
    batch.push({ line: item.row, cells });
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** A number as it is in the file: `12345678901234567890` and `1.10` stay what they are. */
class Digits {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && context?.source !== undefined ? new Digits(context.source) : value;

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
  if (!isObject(value) || value instanceof Digits) {
    const details = { line: row, hint: 'each row must be an object such as {"id": 1, "name": "Parks"}' };
    // A list of anything else has no rows at all.
    if (row === 1) throw new NotOneTable('row 1 is not an object', { ...details, hasRows: Array.isArray(value) });
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

/** The keys of a valid object, in order. */
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
  if (value instanceof Digits) return value.source;
  if (typeof value !== 'object') return String(value);
  const what = Array.isArray(value) ? 'a list' : 'an object';
  throw new NotOneTable(`row ${row}: the value of ${shown(key)} is ${what}, which does not fit into a table`, {
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

/** Cuts an array into its elements by brackets and quotes; JSON.parse validates them later. */
class ArrayCutter {
  readonly #limits: Limits;
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #item = '';
  #row = 0;
  #hasEnded = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  *cut(piece: string): Generator<Item> {
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (this.#inText) {
        this.#passText(code);
        continue;
      }
      if (code === quote) this.#inText = true;
      else if (code === open || code === openObject) {
        if (this.#depth++ === 0) from = this.#begin(piece, from, at, code === open);
      } else if (code === close || code === closeObject) this.#depth--;
      const ends = this.#depth === 0 && code === close;
      if (!ends && !(this.#depth === 1 && code === comma)) continue;
      yield* this.#end(piece.slice(from, at), !ends);
      this.#hasEnded = ends;
      from = at + 1;
    }
    this.#item += piece.slice(from);
    if (this.#item.length > this.#limits.rowBytes) throw oversizeRow(this.#row + 1, this.#limits);
  }

  #passText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === backslash) this.#isEscaped = true;
    else if (code === quote) this.#inText = false;
  }

  #begin(piece: string, from: number, at: number, isArray: boolean): number {
    if (!isArray || this.#hasEnded || (this.#item + piece.slice(from, at)).trim() !== '') throw notAnArray();
    this.#item = '';
    return at + 1;
  }

  /** An element is missing between two commas, or there is none at all. */
  *#end(last: string, more: boolean): Generator<Item> {
    const text = this.#item + last;
    this.#item = '';
    if (!more && text.trim() === '' && this.#row === 0) return;
    this.#row++;
    yield { row: this.#row, text };
  }

  finish(): void {
    if (!this.#hasEnded || this.#item.trim() !== '') throw notAnArray();
  }
}

const [quote, backslash, comma, open, close, openObject, closeObject] = [...'"\\,[]{}'].map((char) =>
  char.charCodeAt(0),
);

const notAnArray = (): TableInputError =>
  new TableInputError('the JSON is not one complete array', {
    hint: 'it must begin with [ and end with ]; copy or export the file again in full',
  });

async function* arrayItems(source: AsyncIterable<string>, limits: Limits): AsyncGenerator<Item> {
  const cutter = new ArrayCutter(limits);
  for await (const piece of source) yield* cutter.cut(piece);
  cutter.finish();
}

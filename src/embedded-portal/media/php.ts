// PHP's serialization: replies of every shape; of bodies scalars and arrays only, nothing that could become code.
import {
  type BodyParser,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  phpIntegerKey,
  type ResultShape,
  type Value,
  type ValueMap,
} from './value.ts';

/** The shape of a part of a result: `key` is the key in a map, or `null` for an element of a list. */
const shapeWithin = (shape: ResultShape, key: string | null): ResultShape =>
  (shape === 'rows' && key === null) || (shape === 'login' && key === 'user') ? 'object' : 'plain';

/** Properties of an object in place of a map; null: it is none. */
type PhpObjects = (value: ValueMap) => { name: string; properties: [string, Value][] } | null;

const text = (value: string): string => `s:${Buffer.byteLength(value)}:"${value.toWellFormed()}";`;

/** The value in PHP's serialisation: arrays, `stdClass` for what `shape` calls an object, and what `objects` makes one. */
export const writePhp = (value: Value, shape: ResultShape, objects: PhpObjects = () => null): string => {
  if (value === null) return 'N;';
  if (typeof value === 'boolean') return `b:${value ? 1 : 0};`;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? `i:${value};` : `d:${value};`;
  if (typeof value === 'string') return text(value);
  const child = (key: string | null, part: Value): string => writePhp(part, shapeWithin(shape, key), objects);
  if (Array.isArray(value)) {
    return `a:${value.length}:{${value.map((item, i) => `i:${i};${child(null, item)}`).join('')}}`;
  }
  const entries = Object.entries(value);
  const object = shape !== 'plain' && shape !== 'rows' ? { name: 'stdClass', properties: entries } : objects(value);
  if (object === null) {
    const parts = entries.map(([key, part]) => (phpIntegerKey(key) ? `i:${key};` : text(key)) + child(key, part));
    return `a:${entries.length}:{${parts.join('')}}`;
  }
  const { name, properties } = object;
  return `O:${name.length}:"${name}":${properties.length}:{${properties.map(([k, v]) => text(k) + child(k, v)).join('')}}`;
};

const tokens =
  /N;|b:([01]);|i:([+-]?\d{1,20});|d:([+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?);|s:(\d{1,15}):"|a:(\d{1,15}):\{/y;

const refused: Record<string, string> = {
  O: 'objects are not accepted; send arrays',
  C: 'objects are not accepted; send arrays',
  E: 'enumerations are not accepted; send texts',
  R: 'references are not accepted; send the value again',
  r: 'references are not accepted; send the value again',
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads values one after the other; a character of `#text` is a byte of the body. */
class PhpReader {
  readonly #body: Uint8Array;
  readonly #text: string;
  readonly #spend = openBudget((reason) => this.fail(reason));
  #at = 0;

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#text = Buffer.from(body).toString('latin1');
  }

  whole(): Value {
    const value = this.value(0);
    return this.#at === this.#text.length ? value : this.fail('there is something behind the value');
  }

  fail(reason: string, offset = this.#at): never {
    throw new MalformedBody(`${reason} (byte ${offset})`);
  }

  value(depth: number): Value {
    this.#spend(depth);
    const start = this.#at;
    const token = this.#take();
    const [whole, boolean, integer, decimal, length, count] = token;
    if (boolean !== undefined) return boolean === '1';
    if (integer !== undefined) return exact(integer);
    if (length !== undefined) return this.#string(Number(length), start + 2);
    if (count !== undefined) return this.#array({ count: Number(count), start, depth });
    if (decimal === undefined) return whole === 'N;' ? null : this.fail('expected a value', start);
    return Number.isFinite(Number(decimal)) ? Number(decimal) : this.fail('expected a finite number', start);
  }

  #take(): RegExpExecArray {
    tokens.lastIndex = this.#at;
    const token = tokens.exec(this.#text);
    if (token === null)
      return this.fail(refused[this.#text[this.#at] ?? ''] ?? 'expected a null, boolean, number, text or array');
    this.#at = tokens.lastIndex;
    return token;
  }

  /** The text behind its opening quote; `length` counts bytes. */
  #string(length: number, start: number): string {
    const end = this.#at + length;
    if (this.#text.slice(end, end + 2) !== '";') this.fail(`a text of ${length} bytes does not end with ";`, start);
    const bytes = this.#body.subarray(this.#at, end);
    this.#at = end + 2;
    try {
      return utf8.decode(bytes);
    } catch {
      return this.fail('a text is not valid UTF-8', start);
    }
  }

  /** A list where the keys are 0, 1, 2 … in order, else a map; the empty array is a list. */
  #array({ count, start, depth }: { count: number; start: number; depth: number }): Value {
    // The shortest element is `i:0;N;`, so a longer claim is refused before anything is read.
    if (count > (this.#text.length - this.#at) / 6) this.fail(`an array of ${count} does not fit the body`, start);
    const entries: [string, Value][] = [];
    for (let i = 0; i < count; i += 1) entries.push([this.#key(), this.value(depth + 1)]);
    if (this.#text[this.#at] !== '}') this.fail('expected "}"');
    this.#at += 1;
    if (entries.every(([key], i) => key === String(i))) return entries.map(([, value]) => value);
    return Object.fromEntries(entries);
  }

  #key(): string {
    const start = this.#at;
    const [, , integer, , length] = this.#take();
    if (integer === undefined && length === undefined) this.fail('expected an integer or a text as key', start);
    const key = integer === undefined ? this.#string(Number(length), start + 2) : String(exact(integer));
    return isForbiddenKey(key) ? this.fail(`the key ${key} is not accepted`, start) : key;
  }
}

/** An integer; the digits themselves where a number would change them. */
const exact = (digits: string): number | string => {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value + 0 : digits;
};

/**
 * The value of a serialised body (spec 1), an empty one null. Objects, references, enumerations, `__proto__`, invalid UTF-8,
 * infinite numbers and anything behind the value are malformed. Throws `MalformedBody` with the byte.
 */
export const parsePhp: BodyParser<Value> = (body) => {
  if (body.byteLength === 0) return null;
  return new PhpReader(body).whole();
};

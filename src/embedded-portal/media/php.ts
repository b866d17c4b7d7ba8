// PHP's serialization: replies of every shape; of bodies scalars and arrays only, nothing that could become code.
import {
  type BodyParser,
  checkLength,
  defaultParseLimits,
  hiddenDateProperties,
  isDateObject,
  isForbiddenKey,
  isObjectShape,
  MalformedBody,
  openBudget,
  phpIntegerKey,
  type ResultShape,
  type Spend,
  shapeWithin,
  type Value,
  type ValueMap,
  type WriteOptions,
} from './value.ts';

const text = (value: string): string => `s:${Buffer.byteLength(value)}:"${value.toWellFormed()}";`;

const number = (value: number): string => (Number.isSafeInteger(value) ? `i:${value};` : `d:${value};`);

const arrayKey = (key: string): string => (phpIntegerKey(key) ? `i:${key};` : text(key));

// Whether dumps of dates are written as the objects that they are.
type Scope = { dates: boolean };

const object = (name: string, properties: [string, Value][], write: (key: string, value: Value) => string): string =>
  `O:${name.length}:"${name}":${properties.length}:{${properties.map(([k, v]) => text(k) + write(k, v)).join('')}}`;

const map = (value: ValueMap, shape: ResultShape, scope: Scope): string => {
  const child = (key: string, part: Value): string => serialise(part, shapeWithin(shape, key), scope);
  if (isObjectShape(shape)) return object('stdClass', Object.entries(value), child);
  if (scope.dates && isDateObject(value)) {
    return object('DateObject', hiddenDateProperties(value), child);
  }
  const entries = Object.entries(value);
  return `a:${entries.length}:{${entries.map(([k, v]) => arrayKey(k) + child(k, v)).join('')}}`;
};

const serialise = (value: Value, shape: ResultShape, scope: Scope): string => {
  if (value === null) return 'N;';
  if (typeof value === 'boolean') return `b:${value ? 1 : 0};`;
  if (typeof value === 'number') return number(value);
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) return map(value, shape, scope);
  const items = value.map((item, i) => `i:${i};${serialise(item, shapeWithin(shape, null), scope)}`);
  return `a:${value.length}:{${items.join('')}}`;
};

/**
 * The value in PHP's serialisation: what `shape` calls an object is `O:8:"stdClass"`, all else arrays. In the
 * `recorded` style the date dumps of a node are the `DateObject`s that deployed servers send, which carry the time and
 * the zone only; in the `sound` style they are arrays with all their parts. Source: recorded behaviour 3, read_formats.
 */
export const writePhp = (value: Value, options: WriteOptions): string =>
  serialise(value, options.shape, {
    dates: options.style !== 'sound' && options.shape === 'node',
  });

// Longest spelling of a length, an integer or a decimal number.
const longestNumber = 40;

interface Reader {
  bytes: Uint8Array;
  at: number;
  spend: Spend;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const fail = (reader: Reader, reason: string, offset = reader.at): never => {
  throw new MalformedBody(reason, { offset });
};

const expectText = (reader: Reader, expected: string): void => {
  for (let i = 0; i < expected.length; i += 1) {
    if (reader.bytes[reader.at + i] !== expected.charCodeAt(i)) fail(reader, `expected ${JSON.stringify(expected)}`);
  }
  reader.at += expected.length;
};

/** The ASCII text up to `end`, which is skipped. */
const readUntil = (reader: Reader, end: string, pattern: RegExp, what: string): string => {
  const stop = reader.bytes.subarray(reader.at, reader.at + longestNumber + 1).indexOf(end.charCodeAt(0));
  const text = stop === -1 ? '' : Buffer.from(reader.bytes.subarray(reader.at, reader.at + stop)).toString('latin1');
  if (!pattern.test(text)) fail(reader, `expected ${what} and ${JSON.stringify(end)}`);
  reader.at += text.length + 1;
  return text;
};

const readLength = (reader: Reader): number => Number(readUntil(reader, ':', /^\d{1,15}$/, 'a length'));

/** The text behind `s:`; its length counts bytes. */
const readText = (reader: Reader): string => {
  const start = reader.at;
  const length = readLength(reader);
  expectText(reader, '"');
  if (length > reader.bytes.length - reader.at) fail(reader, `a text of ${length} bytes does not fit the body`, start);
  const raw = reader.bytes.subarray(reader.at, reader.at + length);
  reader.at += length;
  if (reader.bytes[reader.at] !== 0x22 || reader.bytes[reader.at + 1] !== 0x3b) {
    fail(reader, `a text of ${length} bytes does not end with ";`, start);
  }
  reader.at += 2;
  try {
    return utf8.decode(raw);
  } catch {
    return fail(reader, 'a text is not valid UTF-8', start);
  }
};

/** An integer; the digits themselves where a number would change them. */
const readInteger = (reader: Reader): number | string => {
  const text = readUntil(reader, ';', /^[+-]?\d{1,20}$/, 'an integer');
  const value = Number(text);
  return Number.isSafeInteger(value) ? value + 0 : text;
};

const readDecimal = (reader: Reader): number => {
  const start = reader.at;
  const value = Number(readUntil(reader, ';', /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/, 'a finite number'));
  return Number.isFinite(value) ? value : fail(reader, 'expected a finite number', start);
};

const readKey = (reader: Reader): string => {
  const start = reader.at;
  const tag = reader.bytes[reader.at];
  if (tag !== 0x69 && tag !== 0x73) fail(reader, 'expected an integer or a text as key');
  reader.at += 1;
  expectText(reader, ':');
  const key = tag === 0x69 ? String(readInteger(reader)) : readText(reader);
  return isForbiddenKey(key) ? fail(reader, `the key ${key} is not accepted`, start) : key;
};

/** A list where the keys are 0, 1, 2 … in order, else a map; the empty array is a list. */
const readArray = (reader: Reader, depth: number): Value => {
  const start = reader.at;
  const length = readLength(reader);
  // The shortest element is `i:0;N;`, so a longer claim is refused before anything is read.
  if (length > (reader.bytes.length - reader.at) / 6)
    fail(reader, `an array of ${length} does not fit the body`, start);
  expectText(reader, '{');
  const entries: [string, Value][] = [];
  for (let i = 0; i < length; i += 1) entries.push([readKey(reader), readValue(reader, depth + 1)]);
  expectText(reader, '}');
  if (entries.every(([key], i) => key === String(i))) return entries.map(([, value]) => value);
  const map: ValueMap = {};
  for (const [key, value] of entries) map[key] = value;
  return map;
};

const readBoolean = (reader: Reader): boolean => readUntil(reader, ';', /^[01]$/, '0 or 1') === '1';

const scalarReaders: Record<string, (reader: Reader) => Value> = {
  b: readBoolean,
  i: readInteger,
  d: readDecimal,
  s: readText,
};

const refused: Record<string, string> = {
  O: 'objects are not accepted; send arrays',
  C: 'objects are not accepted; send arrays',
  E: 'enumerations are not accepted; send texts',
  R: 'references are not accepted; send the value again',
  r: 'references are not accepted; send the value again',
};

const readValue = (reader: Reader, depth: number): Value => {
  reader.spend(depth);
  const tag = String.fromCharCode(reader.bytes[reader.at] ?? 0);
  if (reader.at >= reader.bytes.length) fail(reader, 'the body ends too early');
  if (Object.hasOwn(refused, tag)) fail(reader, refused[tag] ?? '');
  if (tag === 'N') {
    expectText(reader, 'N;');
    return null;
  }
  const scalar = Object.hasOwn(scalarReaders, tag) ? scalarReaders[tag] : undefined;
  if (tag !== 'a' && scalar === undefined) fail(reader, 'expected a null, boolean, number, text or array');
  reader.at += 1;
  expectText(reader, ':');
  return scalar === undefined ? readArray(reader, depth) : scalar(reader);
};

/**
 * The value of a body in PHP's serialisation (`application/vnd.php.serialized`, spec 1), an empty one null. Objects, references,
 * enumerations, the key `__proto__`, texts that are not UTF-8, infinite numbers and anything behind the value are
 * malformed. Throws `MalformedBody` with the byte.
 */
export const parsePhp: BodyParser<Value> = (body, limits = defaultParseLimits) => {
  checkLength(body, limits);
  if (body.byteLength === 0) return null;
  const reader: Reader = { bytes: body, at: 0, spend: openBudget(limits, (reason) => fail(reader, reason)) };
  const value = readValue(reader, 0);
  if (reader.at < body.length) fail(reader, 'there is something behind the value');
  return value;
};

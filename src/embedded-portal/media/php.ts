// Writes the serialisation of PHP.
import { phpIntegerKey } from './php-numbers.ts';
import {
  hiddenDateProperties,
  isDateObject,
  isObjectShape,
  type ResultShape,
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

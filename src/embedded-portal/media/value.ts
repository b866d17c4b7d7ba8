// What all media types share: values, options of writers, and the limits and the error of readers.

/** A value of the API: what JSON can say. Lists are arrays, maps are plain objects in key order. */
export type Value = null | boolean | number | string | Value[] | ValueMap;

export interface ValueMap {
  [key: string]: Value;
}

/**
 * Which parts of a result are objects, not arrays, where a media type tells the two apart: `plain` nothing, `object` the
 * result itself (a user), `node` the same with dates in it, `rows` every element of the list, `login` the result and its
 * `user` (recorded behaviour 3).
 */
export type ResultShape = 'plain' | 'object' | 'node' | 'rows' | 'login';

/** What a writer must know beside the value. */
export interface WriteOptions {
  shape: ResultShape;
  /** The `callback` parameter of the query, whatever its type; `undefined` when the request has none (jsonp only). */
  callback?: unknown;
}

/** The shape of a part of a result: `key` is the key in a map, or `null` for an element of a list. */
export const shapeWithin = (shape: ResultShape, key: string | null): ResultShape => {
  if (shape === 'rows' && key === null) return 'object';
  if (shape === 'login' && key === 'user') return 'object';
  return 'plain';
};

/** True where the value itself is an object. */
export const isObjectShape = (shape: ResultShape): boolean => shape !== 'plain' && shape !== 'rows';

/** A UTF-16 unit as JSON and YAML escape it. */
export const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** True for a text that PHP calls numeric: blanks in front, sign, decimals and exponent allowed. */
export const phpNumeric = (text: string): boolean =>
  /^[ \t\n\r\v\f]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);

/** True for a text that PHP keeps as an integer when it is an array key: canonical, within 64 bits. */
export const phpIntegerKey = (text: string): boolean => {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false;
  const number = BigInt(text);
  return number >= -(2n ** 63n) && number < 2n ** 63n;
};

/** Where in the body a fault is. Lines and columns count from 1, offsets (in bytes) from 0. */
interface FaultPosition {
  line?: number | undefined;
  column?: number | undefined;
  offset?: number | undefined;
}

const placeOf = ({ line, column, offset }: FaultPosition): string => {
  if (line !== undefined) return ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
  return offset === undefined ? '' : ` (byte ${offset})`;
};

/** A request body that is not what its content type says, or more than a parser accepts. The message names the place. */
export class MalformedBody extends Error {
  constructor(reason: string, position: FaultPosition = {}) {
    super(`${reason}${placeOf(position)}`);
    this.name = 'MalformedBody';
  }
}

/** Line and column of an index in a text. */
export const positionAt = (text: string, index: number): FaultPosition => {
  const before = text.slice(0, index);
  const lastBreak = before.lastIndexOf('\n');
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1;
  return { line, column: index - lastBreak };
};

/** Bounds of a parser. A body beyond one of them is malformed. */
export interface ParseLimits {
  /** Longest body, in bytes. */
  bytes: number;
  /** Deepest nesting of lists and maps. */
  depth: number;
  /** Most values (scalars, lists and maps, after aliases are followed). */
  values: number;
}

/** Far above any real node, and read in under a second. A portal that refuses long bodies (413) does so at the same length. */
export const defaultParseLimits: ParseLimits = { bytes: 2_000_000, depth: 64, values: 200_000 };

/** Reads a whole body held in memory; throws `MalformedBody` and nothing else. */
export type BodyParser<T> = (body: Uint8Array, limits?: ParseLimits) => T;

/** Throws `MalformedBody` when the body is longer than the limit. */
export const checkLength = (body: Uint8Array, limits: ParseLimits): void => {
  if (body.byteLength > limits.bytes) {
    throw new MalformedBody(`the body has ${body.byteLength} bytes; at most ${limits.bytes} are accepted`);
  }
};

/** The text of a UTF-8 body (a byte order mark is dropped); throws `MalformedBody` on anything else, and when it is too long. */
export const readText = (body: Uint8Array, limits: ParseLimits): string => {
  checkLength(body, limits);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new MalformedBody('the body is not valid UTF-8');
  }
};

/** Counts one value at a depth (the outermost has depth 0); throws `MalformedBody` when it is too deep or one too many. */
export type Spend = (depth: number) => void;

const refuse = (reason: string): never => {
  throw new MalformedBody(reason);
};

/** A fresh count against `limits`; `fail` throws with the place where the parser knows it. */
export const openBudget = (limits: ParseLimits, fail: (reason: string) => never = refuse): Spend => {
  let left = limits.values;
  return (depth) => {
    if (depth > limits.depth) fail(`lists and maps are nested deeper than ${limits.depth}`);
    left -= 1;
    if (left < 0) fail(`the body holds more than ${limits.values} values`);
  };
};

/** True for the one key that is refused everywhere: as a property it would change an object's prototype. */
export const isForbiddenKey = (key: string): boolean => key === '__proto__';

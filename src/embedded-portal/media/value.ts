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

export interface WriteOptions {
  shape: ResultShape;
  /** The `callback` parameter of the query, whatever its type; `undefined` when the request has none (jsonp only). */
  callback?: unknown;
}

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

/** A request body that is not what its content type says, or more than a parser accepts. The message names the place. */
export class MalformedBody extends Error {}

/** A place as messages name it; both count from 1. */
export const placeOf = (line: number, column: number): string => ` (line ${line}, column ${column})`;

/** Bounds of what is read: deepest nesting of lists and maps, and most values. Far above any real node, and read in under a second. */
export const limits = { depth: 64, values: 200_000 } as const;

/** Reads a whole body held in memory; throws {@link MalformedBody} and nothing else. */
export type BodyParser<T> = (body: Uint8Array) => T;

/** The text of a UTF-8 body (a byte order mark is dropped); throws {@link MalformedBody} on anything else. */
export const readText = (body: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new MalformedBody('the body is not valid UTF-8');
  }
};

const refuse = (reason: string): never => {
  throw new MalformedBody(reason);
};

/** Counts values at their depth (the outermost has 0) against {@link limits}; `fail` throws with the place where the parser knows it. */
export const openBudget = (fail: (reason: string) => never = refuse): ((depth: number) => void) => {
  let left: number = limits.values;
  return (depth) => {
    if (depth > limits.depth) fail(`lists and maps are nested deeper than ${limits.depth}`);
    left -= 1;
    if (left < 0) fail(`the body holds more than ${limits.values} values`);
  };
};

/** True for the one key that is refused everywhere: as a property it would change an object's prototype. */
export const isForbiddenKey = (key: string): boolean => key === '__proto__';

/** The value that a library read, when it keeps to the limits, where aliases count as often as they are followed. */
export const checked = (whole: unknown): Value => {
  const spend = openBudget();
  const check = (value: unknown, depth: number): void => {
    spend(depth);
    if (typeof value === 'number' && !Number.isFinite(value)) refuse(`${value} is not accepted as a value`);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      if (isForbiddenKey(key)) refuse(`the key ${key} is not accepted`);
      check(part, depth + 1);
    }
  };
  check(whole, 0);
  return whole as Value; // lists, maps and scalars is all that these libraries make
};

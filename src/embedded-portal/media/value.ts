// Values that all media types write and read, and options of writers.

/** A value of the API: what JSON can say. Lists are arrays, maps are plain objects in key order. */
export type Value = null | boolean | number | string | Value[] | ValueMap;

/** A map of the API. */
export interface ValueMap {
  [key: string]: Value;
}

/**
 * Which parts of a result are objects, not arrays, where a media type tells the two apart (php; the hidden parts of
 * dates also show in yaml): `plain` nothing, `object` the result itself (a user), `node` the result and the date
 * objects in its date fields, `rows` every element of the list, `login` the result and its `user`.
 * Source: recorded behaviour 3.
 */
export type ResultShape = 'plain' | 'object' | 'node' | 'rows' | 'login';

/**
 * `recorded` writes byte for byte what deployed servers write, also where no reader of that format can read it back.
 * `keyless` is `recorded` with the XML of release A, which drops every element that has a name of its own.
 * `sound` writes the same bytes wherever they can be read back, and a readable spelling where they cannot.
 */
export type WriteStyle = 'sound' | 'recorded' | 'keyless';

/** What a writer must know beside the value. */
export interface WriteOptions {
  style: WriteStyle;
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

/**
 * True for the dump of a date object inside a date field of a node (`field_x.und[0].db.value`): deployed servers show
 * two more, hidden, properties of it in php and yaml. Source: recorded behaviour 7, read_formats.
 */
export const isDateObject = (value: ValueMap): boolean =>
  Array.isArray(value.granularity) &&
  typeof value.originalTime === 'string' &&
  typeof value.timezone === 'string' &&
  'timezone_type' in value;

/** The hidden properties of a date object, in order. */
export const hiddenDateProperties = (date: ValueMap): [string, Value][] => [
  ['\0DateObject\0serializedTime', date.originalTime ?? null],
  ['\0DateObject\0serializedTimezone', date.timezone ?? null],
];

/** True for a text that PHP calls numeric: blanks in front, sign, decimals and exponent allowed. */
export const phpNumeric = (text: string): boolean =>
  /^[ \t\n\r\v\f]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);

/** True for a text that PHP keeps as an integer when it is an array key: canonical, within 64 bits. */
export const phpIntegerKey = (text: string): boolean => {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false;
  const number = BigInt(text);
  return number >= -(2n ** 63n) && number < 2n ** 63n;
};

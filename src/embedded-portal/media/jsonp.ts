// Writes JSONP: JSON in a call of the function that the request names.
import { writeJson } from './json-out.ts';
import type { Value } from './value.ts';

const longestName = 60;

/**
 * `name(json);` where the request has a `callback` parameter, else plain JSON. Characters other than
 * `A-Z a-z 0-9 _ . -` leave the name, which is cut to 60; a parameter that is not a text counts as empty.
 * Source: recorded behaviour 3.
 */
export const writeJsonp = (value: Value, callback: unknown): string => {
  if (callback === undefined) return writeJson(value);
  const name = typeof callback === 'string' ? callback.replace(/[^A-Za-z0-9_.-]/g, '').slice(0, longestName) : '';
  return `${name}(${writeJson(value)});`;
};

// Writes JSON as deployed servers do, and JSONP: JSON in a call of the function that the request names.
import type { Value } from './value.ts';

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const beyondAscii = /[\u0080-\uffff]/;
const allBeyondAscii = /[\u0080-\uffff]/g;

/**
 * JSON without spaces, slashes unescaped, every character above U+007F as `\uXXXX`; a scalar other than null is
 * wrapped in a one-element array (`true` is `[true]`). Source: recorded behaviour 3.
 */
export const writeJson = (value: Value): string => {
  const whole = value === null || typeof value === 'object' ? value : [value];
  const text = JSON.stringify(whole);
  return beyondAscii.test(text) ? text.replace(allBeyondAscii, escapeUnit) : text;
};

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

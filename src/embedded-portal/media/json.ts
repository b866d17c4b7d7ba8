// JSON bodies, and JSON and JSONP replies.
import {
  type BodyParser,
  defaultParseLimits,
  escapeUnit,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  readText,
  type Spend,
  type Value,
} from './value.ts';

const check = (value: unknown, depth: number, spend: Spend): void => {
  spend(depth);
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) check(item, depth + 1, spend);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (isForbiddenKey(key)) throw new MalformedBody(`the key ${key} is not accepted`);
    check(item, depth + 1, spend);
  }
};

/**
 * The value of a JSON body; an empty body is `null`. The literal `null` and anything that is not JSON is malformed
 * (recorded behaviour 4). Throws {@link MalformedBody} with the parser's own words.
 */
export const parseJson: BodyParser<unknown> = (body, limits = defaultParseLimits) => {
  const text = readText(body, limits);
  if (body.byteLength === 0) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MalformedBody((error as Error).message);
  }
  if (value === null) throw new MalformedBody('null is no body');
  check(value, 0, openBudget(limits));
  return value;
};

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

// JSON bodies, and JSON and JSONP replies.
import { type BodyParser, checked, escapeUnit, MalformedBody, readText, type Value } from './value.ts';

/** The value of a JSON body; an empty one is null, the literal `null` malformed (recorded behaviour 4). */
export const parseJson: BodyParser<Value> = (body) => {
  const text = readText(body);
  if (body.byteLength === 0) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MalformedBody((error as Error).message);
  }
  if (value === null) throw new MalformedBody('null is no body');
  return checked(value);
};

/** JSON without spaces, characters above U+007F as `\uXXXX`; a scalar other than null is a list of one (recorded behaviour 3). */
export const writeJson = (value: Value): string => {
  const whole = value === null || typeof value === 'object' ? value : [value];
  return JSON.stringify(whole).replace(/[\u0080-\uffff]/g, escapeUnit);
};

/**
 * `name(json);` where the request has a `callback`, else plain JSON. Of the name `A-Z a-z 0-9 _ . -` stay, 60 at most; what
 * is no text counts as empty. Source: recorded behaviour 3.
 */
export const writeJsonp = (value: Value, { callback }: { callback?: unknown }): string => {
  if (callback === undefined) return writeJson(value);
  const name = typeof callback === 'string' ? callback.replace(/[^A-Za-z0-9_.-]/g, '').slice(0, 60) : '';
  return `${name}(${writeJson(value)});`;
};

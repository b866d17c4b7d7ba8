// The media types of the API: the formats of replies with their writers, the types of bodies with their readers.
import {
  type BodyParser,
  defaultParseLimits,
  isForbiddenKey,
  MalformedBody,
  openBudget,
  readText,
  type Spend,
} from './body-parser.ts';
import { parseForm } from './form.ts';
import { parsePhp, writePhp } from './php.ts';
import { phpIntegerKey, type Value, type WriteOptions, type WriteStyle } from './value.ts';
import { parseXml, writeXml } from './xml.ts';
import { parseYaml, writeYaml } from './yaml.ts';

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

/** A response format, named as its path suffix is (spec 1, "Response formats"). */
export type FormatName = 'bencode' | 'json' | 'jsonp' | 'php' | 'xml' | 'yaml';

/** One response format. */
interface Format {
  name: FormatName;
  /** The first is sent when the path suffix chose the format. */
  mimeTypes: readonly [string, ...string[]];
  /** The body of a response; pure. */
  write: (value: Value, options: WriteOptions) => string;
}

/** Every response format. Source: spec 1, recorded behaviour 3. */
export const formats: Readonly<Record<FormatName, Format>> = {
  bencode: {
    name: 'bencode',
    mimeTypes: ['application/x-bencode'],
    write: (value, { style }) => writeBencode(value, style),
  },
  json: { name: 'json', mimeTypes: ['application/json'], write: (value) => writeJson(value) },
  jsonp: {
    name: 'jsonp',
    mimeTypes: ['text/javascript', 'application/javascript'],
    write: (value, { callback }) => writeJsonp(value, callback),
  },
  php: { name: 'php', mimeTypes: ['application/vnd.php.serialized'], write: writePhp },
  xml: { name: 'xml', mimeTypes: ['application/xml', 'text/xml'], write: (value, { style }) => writeXml(value, style) },
  yaml: { name: 'yaml', mimeTypes: ['text/plain', 'application/x-yaml', 'text/yaml'], write: writeYaml },
};

/** True for the name of a format; case matters. */
export const isFormatName = (name: string): name is FormatName => Object.hasOwn(formats, name);

/** The header value for a MIME type: texts carry their charset, others none. */
export const contentTypeOf = (mimeType: string): string =>
  mimeType.startsWith('text/') ? `${mimeType};charset=UTF-8` : mimeType;

/** Every reader but that of multipart/form-data, which takes the stream and is added by the caller. */
export const bodyParsers: Readonly<Record<string, BodyParser<unknown>>> = {
  'application/json': parseJson,
  'application/vnd.php.serialized': parsePhp,
  'application/x-www-form-urlencoded': parseForm,
  'application/x-yaml': parseYaml,
  'application/xml': parseXml,
  'text/xml': parseXml,
};

const text = (value: string): string => `${Buffer.byteLength(value)}:${value.toWellFormed()}`;

const scalar = (value: null | boolean | number | string, style: WriteStyle): string => {
  if (typeof value === 'string') return /^(?:0|[1-9]\d*)$/.test(value) ? `i${value}e` : text(value);
  if (typeof value === 'number') return Number.isInteger(value) ? `i${BigInt(value)}e` : text(String(value));
  if (style !== 'sound') return ''; // deployed servers leave the value out, which no reader can follow
  return value === null ? text('') : `i${value ? 1 : 0}e`;
};

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * The value in bencode. Texts of digits are integers, keys are sorted by bytes, a map whose keys are all integers is
 * a list, an empty map an empty list. Null is an empty text, true 1 and false 0 in the `sound` style; in the
 * `recorded` style the three are written as nothing at all. Source: recorded behaviour 3.
 */
export const writeBencode = (value: Value, style: WriteStyle): string => {
  if (value === null || typeof value !== 'object') return scalar(value, style);
  const keys = Object.keys(value);
  if (Array.isArray(value) || keys.every(phpIntegerKey)) {
    return `l${Object.values(value)
      .map((item) => writeBencode(item, style))
      .join('')}e`;
  }
  const parts = Object.entries(value).sort(([a], [b]) => byBytes(a, b));
  return `d${parts.map(([key, part]) => text(key) + writeBencode(part, style)).join('')}e`;
};

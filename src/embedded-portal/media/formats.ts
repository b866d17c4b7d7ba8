// The media types of the API: the formats of replies with their writers, the types of bodies with their readers.
import type { BodyParser } from './body-parser.ts';
import { parseForm } from './form.ts';
import { parseJson, writeJson, writeJsonp } from './json.ts';
import { parsePhp, writePhp } from './php.ts';
import { phpIntegerKey, type Value, type WriteOptions, type WriteStyle } from './value.ts';
import { parseXml, writeXml } from './xml.ts';
import { parseYaml, writeYaml } from './yaml.ts';

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

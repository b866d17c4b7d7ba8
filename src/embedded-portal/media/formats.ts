// The media types of the API and how a request chooses among them: suffix before Accept before the default of the endpoint.
import { writeBencode } from './bencode.ts';
import { parseForm } from './form.ts';
import { parseJson, writeJson, writeJsonp } from './json.ts';
import { parsePhp, writePhp } from './php.ts';
import type { BodyParser, Value, WriteOptions } from './value.ts';
import { parseXml, writeXml } from './xml.ts';
import { parseYaml, writeYaml } from './yaml.ts';

/** A response format, named as its path suffix is (spec 1, "Response formats"). */
export type FormatName = 'bencode' | 'json' | 'jsonp' | 'php' | 'xml' | 'yaml';

export interface Format {
  /** The first is sent when the path suffix chose the format. */
  mimeTypes: readonly [string, ...string[]];
  write: (value: Value, options: WriteOptions) => string;
}

/** Every response format, written so that its readers get every value back. Source: spec 1, recorded behaviour 3. */
export const formats: Readonly<Record<FormatName, Format>> = {
  bencode: { mimeTypes: ['application/x-bencode'], write: (value) => writeBencode(value) },
  json: { mimeTypes: ['application/json'], write: writeJson },
  jsonp: { mimeTypes: ['text/javascript', 'application/javascript'], write: writeJsonp },
  php: { mimeTypes: ['application/vnd.php.serialized'], write: (value, { shape }) => writePhp(value, shape) },
  xml: { mimeTypes: ['application/xml', 'text/xml'], write: writeXml },
  yaml: { mimeTypes: ['text/plain', 'application/x-yaml', 'text/yaml'], write: writeYaml },
};

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

/** What a header chose: a type and how well it fits, none that is supported, or a range that is no MIME type. */
type MimeMatch = { type: string; fitness: number } | { unsupported: true } | { malformed: string };

const qualityOf = (parameters: string[]): number => {
  const given = parameters.map((part) => /^\s*q\s*=(.*)$/.exec(part)?.[1]?.trim()).find((q) => q !== undefined);
  const quality = given === undefined || !/^[0-9]*\.?[0-9]+$/.test(given) ? 1 : Number(given);
  return quality <= 0 || quality > 1 ? 1 : quality; // 0 counts as 1: recorded
};

const parseRange = (text: string) => {
  const [name = '', ...parameters] = text.split(';');
  const full = name.trim() === '*' ? '*/*' : name.trim();
  const [type, subtype] = full.split('/');
  return type === undefined || subtype === undefined ? null : { type, subtype, quality: qualityOf(parameters) };
};

/** 110 for the very type, 100 for the type with any subtype, 0 for anything; -1 where the range does not match. */
const fitnessOf = (range: { type: string; subtype: string }, mimeType: string): number => {
  const [type = '', subtype = ''] = mimeType.split('/');
  const doesFit = [type, '*'].includes(range.type) && [subtype, '*'].includes(range.subtype);
  return doesFit ? (range.type === type ? 100 : 0) + (range.subtype === subtype ? 10 : 0) : -1;
};

/**
 * The supported type that fits a header best: by fitness, then q, then `preferred`, then the alphabetically last name. Case
 * matters, `*` is any type, parameters other than q and empty ranges are ignored. Source: recorded behaviour 3.
 */
export const matchMime = (header: string, supported: readonly string[], preferred: string | null = null): MimeMatch => {
  const parts = header.split(',').filter((part) => part.trim() !== '');
  const parsed = parts.map(parseRange);
  const malformed = parts[parsed.indexOf(null)];
  if (malformed !== undefined) return { malformed: malformed.trim() };
  const ranges = parsed.filter((range) => range !== null);
  const [best] = supported
    .map((type) => {
      const all = ranges.map((range) => ({ type, fitness: fitnessOf(range, type), quality: range.quality }));
      return all.reduce((own, next) => (next.fitness > own.fitness ? next : own), { type, fitness: -1, quality: 0 });
    })
    .sort(
      (a, b) =>
        b.fitness - a.fitness ||
        b.quality - a.quality ||
        Number(b.type === preferred) - Number(a.type === preferred) ||
        (a.type < b.type ? 1 : -1),
    );
  return best === undefined || best.fitness < 0 ? { unsupported: true } : { type: best.type, fitness: best.fitness };
};

export interface ChosenFormat {
  format: FormatName;
  contentType: string;
}

/** A format with its Content-Type, or why there is none: no such format (406), or a range that is no MIME type. */
type FormatChoice = ChosenFormat | Exclude<MimeMatch, { type: string }>;

const byMime = new Map(
  Object.entries(formats).flatMap(([name, { mimeTypes }]) => mimeTypes.map((type) => [type, name as FormatName])), // its keys
);

export const mimeTypes = [...byMime.keys()];

/** An unasked-for format goes out under its alphabetically last name, as `*\/*` would choose it. */
export const openChoice = (format: FormatName): ChosenFormat => {
  const name = formats[format].mimeTypes.toSorted().at(-1) ?? formats[format].mimeTypes[0];
  return { format, contentType: contentTypeOf(name) };
};

/**
 * Chooses the format of a response, and never throws: that of the suffix, else the one that `match` finds in Accept, JSON
 * where there is no Accept, `any` where only a `*\/*` of it matches. Source: spec 1, recorded behaviour 3.
 */
export const formatChooser =
  ({ any, match }: { any: FormatName; match: (accept: string) => MimeMatch }) =>
  ({ suffix, accept }: { suffix: string | null; accept: string | undefined }): FormatChoice => {
    if (suffix !== null) {
      if (!isFormatName(suffix)) return { unsupported: true };
      return { format: suffix, contentType: contentTypeOf(formats[suffix].mimeTypes[0]) };
    }
    if (accept === undefined || accept.trim() === '') return openChoice('json');
    const found = match(accept);
    if (!('type' in found)) return found;
    const format = byMime.get(found.type);
    if (format === undefined || found.fitness === 0) return openChoice(any);
    return { format, contentType: contentTypeOf(found.type) };
  };

/** Under the specification JSON wins ties and is what browsers get (they ask for a page first), and the case of a type does not matter. */
export const chooseFormat = formatChooser({
  any: 'json',
  match: (accept) =>
    /text\/html/i.test(accept) && /\*\/\*/.test(accept)
      ? { type: 'application/json', fitness: 110 }
      : matchMime(accept.toLowerCase(), mimeTypes, 'application/json'),
});

/** The last path part, split at its last dot. An empty suffix and `0` count as none; the dot goes all the same (recorded). */
export const splitSuffix = (part: string): { name: string; suffix: string | null } => {
  const dot = part.lastIndexOf('.');
  if (dot === -1) return { name: part, suffix: null };
  const suffix = part.slice(dot + 1);
  return { name: part.slice(0, dot), suffix: suffix === '' || suffix === '0' ? null : suffix };
};

/** The reader for a Content-Type: form-encoded without one, no parameters, case matters, wildcards as in Accept (recorded 4). */
export const chooseParser = <P>(
  contentType: string | undefined,
  parsers: Readonly<Record<string, P>>,
): { type: string; parser: P } | { unsupported: string } | { malformed: string } => {
  const given = contentType?.trim() || 'application/x-www-form-urlencoded';
  const match = matchMime(given, Object.keys(parsers));
  if ('malformed' in match) return match;
  const parser = 'type' in match ? parsers[match.type] : undefined;
  if (!('type' in match) || parser === undefined) return { unsupported: given.split(';')[0]?.trim() ?? given };
  return { type: match.type, parser };
};

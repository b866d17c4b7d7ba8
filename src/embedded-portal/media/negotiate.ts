// Chooses the format of a response: suffix before Accept before the endpoint's default.
import { contentTypeOf, type FormatName, formats, isFormatName } from './formats.ts';
import { type MimeMatch, matchMime } from './mime-match.ts';

/** The formats for requests that leave the choice open. */
export interface DefaultFormats {
  /** Without an Accept header, or with an empty one. */
  none: FormatName;
  /** Where only a `*\/*` of the header matches. */
  any: FormatName;
  /** True: JSON wins ties and is what browsers get, and the case of a type does not matter; false: as recorded. */
  prefersJson: boolean;
}

/** `spec`: JSON wherever the request leaves it open (spec 1). */
export const specDefaults: DefaultFormats = { none: 'json', any: 'json', prefersJson: true };

/** `spec`, datastore endpoints: YAML wherever the request leaves it open (spec 4.9 to 4.11). */
export const specDatastoreDefaults: DefaultFormats = { none: 'yaml', any: 'yaml', prefersJson: true };

/** Deployed servers: JSON without Accept, YAML for `*\/*` (recorded behaviour 3). */
export const recordedDefaults: DefaultFormats = { none: 'json', any: 'yaml', prefersJson: false };

/** What a request says about its format. */
export interface FormatWish {
  /** The suffix of the last path part, `null` for none (see `splitSuffix`). */
  suffix: string | null;
  accept: string | undefined;
  defaultFormat: DefaultFormats;
}

/** A format with its Content-Type, or why there is none: no such format (406), or a range that is no MIME type. */
export type FormatChoice =
  | { format: FormatName; contentType: string /** send `Vary: Accept` */; vary: boolean }
  | { unsupported: true; vary: boolean }
  | { malformed: string; vary: boolean };

const json = 'application/json';

/** Browsers ask for a page first, and take anything. */
const isOfBrowser = (accept: string): boolean => /text\/html/i.test(accept) && /\*\/\*/.test(accept);

/** Remembers what headers match: clients send the same few again and again. */
const memoized = (match: (accept: string) => MimeMatch): ((accept: string) => MimeMatch) => {
  const known = new Map<string, MimeMatch>();
  return (accept) => {
    const found = known.get(accept);
    if (found !== undefined) return found;
    const made = match(accept);
    if (known.size >= 200) known.clear();
    if (accept.length < 1000) known.set(accept, made);
    return made;
  };
};

const matchPreferringJson = memoized((accept) =>
  isOfBrowser(accept) ? { type: json, fitness: 110 } : matchMime(accept.toLowerCase(), [...byMime.keys()], json),
);

const matchAsRecorded = memoized((accept) => matchMime(accept, [...byMime.keys()]));

const byMime = new Map(Object.values(formats).flatMap((format) => format.mimeTypes.map((type) => [type, format.name])));

/** An unasked-for format goes out under its alphabetically last name, as `*\/*` would choose it. */
const openChoice = (format: FormatName): FormatChoice => {
  const name = formats[format].mimeTypes.toSorted().at(-1) ?? formats[format].mimeTypes[0];
  return { format, contentType: contentTypeOf(name), vary: true };
};

/** The format of a response; never throws. Source: spec 1, recorded behaviour 3. */
export const chooseFormat = ({ suffix, accept, defaultFormat }: FormatWish): FormatChoice => {
  if (suffix !== null) {
    if (!isFormatName(suffix)) return { unsupported: true, vary: false };
    return { format: suffix, contentType: contentTypeOf(formats[suffix].mimeTypes[0]), vary: false };
  }
  if (accept === undefined || accept.trim() === '') return openChoice(defaultFormat.none);
  const match = defaultFormat.prefersJson ? matchPreferringJson(accept) : matchAsRecorded(accept);
  if ('malformed' in match) return { malformed: match.malformed, vary: true };
  const format = match.type === null ? undefined : byMime.get(match.type);
  if (match.type === null || format === undefined) return { unsupported: true, vary: true };
  if (match.fitness === 0) return openChoice(defaultFormat.any);
  return { format, contentType: contentTypeOf(match.type), vary: true };
};

/**
 * Splits the last path part at its last dot. An empty suffix and `0` count as none (the dot goes all the same).
 * Source: recorded behaviour 3.
 */
export const splitSuffix = (part: string): { name: string; suffix: string | null } => {
  const dot = part.lastIndexOf('.');
  if (dot === -1) return { name: part, suffix: null };
  const suffix = part.slice(dot + 1);
  return { name: part.slice(0, dot), suffix: suffix === '' || suffix === '0' ? null : suffix };
};

// Values of a catalogue entry as text, addresses and ids.
import { hash } from 'node:crypto';
import { isLinkable } from '../../dataset-api/fields.ts';
import { idPattern } from '../../model/key.ts';
import { decodedPart } from '../../util/http.ts';
import { isObject } from '../../util/json.ts';

/** True for null, blank text, an empty list or object, and lists of such. */
export const isNothing = (value: unknown): boolean => {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (Array.isArray(value)) return value.every(isNothing);
  return isObject(value) && Object.keys(value).length === 0;
};

/** Keys that hold the text of an object in JSON-LD and DCAT-US 3.0, the best first. */
const wordKeys = ['@value', 'prefLabel', 'title', 'name', 'fn', 'label', 'notation', '@id', 'en'];

/** The values by language of an object, English first; null for any other. */
const byLanguage = (value: Record<string, unknown>): unknown[] | null => {
  const { en, ...others } = value;
  const isMap = Object.keys(value).every((key) => /^(?!id$|fn$)[a-z]{2}(?:[-_][a-z]{2,4})?$/i.test(key));
  return isMap ? [en, ...Object.values(others)].filter((each) => !isNothing(each)) : null;
};

/** Text of a value: text or number itself, the words of an object, of a list the first that has some; null for none. */
export const textOf = (value: unknown): string | null => {
  if (typeof value === 'string') return value.replaceAll(/(?![\t-\r\x80-\x9f])\p{Cc}/gu, '').trim() || null;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return firstOf(value);
  if (!isObject(value)) return null;
  return firstOf(byLanguage(value) ?? wordKeys.map((key) => (Object.hasOwn(value, key) ? value[key] : null)));
};

const firstOf = (values: readonly unknown[]): string | null => {
  const texts = values.values().map(textOf);
  return texts.find((text) => text !== null) ?? null;
};

/** What is kept of a value that no field holds: its text, else its JSON. */
export const keptText = (value: unknown): string => textOf(value) ?? JSON.stringify(value);

/** A value as a list: lists as they are, nothing as an empty list. */
export const listOf = (value: unknown): unknown[] =>
  [(isObject(value) && byLanguage(value)?.[0]) || value].flat().filter((item) => !isNothing(item));

export const textsOf = (value: unknown): string[] => [...new Set(listOf(value).flatMap((item) => textOf(item) ?? []))];

export const oneLine = (text: string): string => text.replaceAll(/\s*[\t\v\f\r\n\u2028\u2029]\s*/g, ' ').trim();

/** Longest plain text of a portal's field (recorded-behaviour 15). */
export const longestText = 255;

export const shortLine = (text: string, longest: number, report: (what: string) => void): string => {
  const line = oneLine(text);
  if (line.length <= longest) return line;
  report(`cut to ${longest} characters`);
  const start = line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '');
  return `${start.trimEnd()}…`;
};

export const addressText = (value: unknown): string | null => {
  if (isObject(value)) return textOf(value['@id'] ?? value.accessURL ?? value.downloadURL ?? value.url);
  return Array.isArray(value) ? addressText(value[0]) : textOf(value);
};

/** Its `identifier`, else `adms:identifier`, else its `@id`; null where that is no text of up to 2,000 characters. */
export const identifierOf = (value: Record<string, unknown>): string | null => {
  if (!isNothing(value.identifier)) return Array.isArray(value.identifier) ? null : idText(value.identifier);
  const [other] = listOf(value['adms:identifier']);
  const own = textOf(value['@id']);
  return idText(other) ?? (own?.startsWith('_:') ? null : idText(own));
};

/** Text, or the `@id` or `notation` of an object (DCAT-US 3.0). Numbers that JSON readers round are none, nor is true or false. */
const idText = (value: unknown): string | null => {
  const plain = isObject(value) ? (value['@id'] ?? value.notation) : value;
  const isExact = typeof plain === 'number' ? Math.abs(plain) <= Number.MAX_SAFE_INTEGER : typeof plain !== 'boolean';
  const text = isExact ? textOf(plain) : null;
  return text === null || text.length > 2000 ? null : text;
};

/** The name in a value that only names what is described elsewhere: text, or an object with nothing but an `@id`; null for any other. */
export const referenceOf = (value: unknown): string | null => {
  if (typeof value === 'string') return textOf(value);
  if (!isObject(value) || Object.keys(value).some((key) => key !== '@id' && key !== '@type')) return null;
  return textOf(value['@id']);
};

/** Makes what gives an object the keys of `known` where it spells them in another case or with a prefix: `dcat:downloadUrl`. */
export const speller = (known: Iterable<string>) => {
  const names = new Map([...known].map((key) => [key.toLowerCase(), key]));
  const nameOf = (key: string): string => names.get(key.replace(/^(?:dcat|dct|dcterms):/, '').toLowerCase()) ?? key;
  return (value: unknown): unknown => {
    if (!isObject(value)) return value;
    const named = Object.entries(value).map(([key, item]) => [nameOf(key) in value ? key : nameOf(key), item]);
    return Object.fromEntries(named);
  };
};

type Address = { kind: 'web'; url: string } | { kind: 'other'; scheme: string } | { kind: 'none' };

/** Classifies an address: http(s) (blanks in it encoded), another scheme, or no address. */
export const addressOf = (text: string): Address => {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text) || !URL.canParse(text)) return { kind: 'none' };
  const url = new URL(text);
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https') return { kind: 'other', scheme };
  if (!/^https?:\/\/[^/]/i.test(text) || !/[a-z0-9\]]/i.test(url.hostname)) return { kind: 'none' };
  return { kind: 'web', url: /[\s<>"{}|\\^`]/.test(text) ? url.href : text };
};

/** True for text, or what holds text, with an address in it that names a password, or for http(s) only a user. */
export const holdsPassword = (value: unknown): boolean =>
  /https?:\/\/[^\s/?#"\\]*@|:\/\/[^\s/?#"\\:@]*:[^\s/?#"\\]*@/i.test(JSON.stringify(value));

/** The http(s) address of a value, or null where it has none that portals take. */
export const webAddressOf = (value: unknown): string | null => {
  const text = addressText(value);
  const address = text === null ? null : addressOf(text);
  return address?.kind === 'web' && isLinkable(address.url) ? address.url : null;
};

const longestWord = 40;

/** Itself where it can be an id (`cftc-dc1`), else some of its words with 16 digits of its hash: no two share an id. */
export const idOfIdentifier = (identifier: string): string =>
  idPattern.test(identifier) ? identifier : hashed(wordsOf(identifier.replace(/^[a-z]+:\/\//i, '')), identifier);

/** The id of a distribution that has no identifier: the name at the end of its address, with the hash of the whole. */
export const idOfAddress = (url: string): string => {
  const { pathname, hostname } = new URL(url);
  const name = pathname.split('/').findLast((part) => part !== '') ?? hostname;
  return hashed(wordsOf(decodedPart(name)), url);
};

const hashed = (words: string, text: string): string =>
  `${words === '' ? 'x' : words}-${hash('sha256', text).slice(0, 16)}`;

/** Lower-case letters and digits of a text, separated by single dashes; a long text is cut at its less specific beginning. */
const wordsOf = (text: string): string => {
  const letters = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const words = letters.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  // A word that is cut at its beginning is dropped, unless nothing else is left.
  const end = words.length > longestWord ? words.slice(-longestWord).replace(/^[^-]*-(?=.)/, '') : words;
  return end.replaceAll(/^-+|-+$/g, '');
};

/** Reports a part of an entry that is not published, or not as it stands. */
export type Remark = (part: string, what: string) => void;

// One item of a field: checked, and completed to what a read shows (spec 2, recorded behaviour 7 and 8).
import { escapeHtml } from '../../util/html.ts';
import type { Field, FieldKind } from './fields.ts';
import { readWkt } from './geometry.ts';
import type { RenderedTexts } from './long-texts.ts';
import { isTextFormat, safeText } from './safe-text.ts';

/** An item as it was sent. */
export type RawItem = Record<string, unknown>;

/** What is wrong with a field; the message names no internals and may be shown. */
export class FieldFault extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = 'FieldFault';
    this.field = field;
  }
}

/** Text of a scalar, or null where there is none (null, missing, a list or map). */
export const textOf = (value: unknown): string | null => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  return null;
};

const checkLength = (field: Field, text: string): string => {
  const length = [...text].length;
  if (length > field.maxLength) {
    throw new FieldFault(
      field.name,
      `${field.name} may not be longer than ${field.maxLength} characters; ${length} were sent.`,
    );
  }
  return text;
};

const checkOption = (field: Field, text: string): string => {
  if (field.options !== null && !field.options.includes(text)) {
    throw new FieldFault(field.name, `Invalid option for field ${field.name}; allowed: ${field.options.join(', ')}`);
  }
  return text;
};

const urlPattern =
  /^(?:(?:https?|ftp):\/\/[^\s<>"]+|mailto:[^\s<>"]+@[^\s<>"]+|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#:][^\s<>"]*)?|\/?node\/\d+|<front>)$/i;

const checkUrl = (field: Field, text: string): string => {
  // The length first: the pattern takes time that grows with the square of it.
  checkLength({ ...field, maxLength: 2048 }, text);
  if (urlPattern.test(text)) return text;
  throw new FieldFault(field.name, `The value provided for ${field.name} is not a valid URL.`);
};

const readText = (field: Field, raw: RawItem): RawItem => {
  const value = checkOption(field, checkLength(field, textOf(raw.value) ?? ''));
  return { value, format: textOf(raw.format), safe_value: escapeHtml(value) };
};

const readLong = (field: Field, raw: RawItem, rendered: RenderedTexts): RawItem => {
  const value = checkLength(field, textOf(raw.value) ?? '');
  const format = textOf(raw.format);
  return { value, format, ...(isTextFormat(format) ? { safe_value: safeText(value, format, rendered) } : {}) };
};

const readBody = (field: Field, raw: RawItem, rendered: RenderedTexts): RawItem => {
  const value = checkLength(field, textOf(raw.value) ?? '');
  const summary = textOf(raw.summary);
  const format = textOf(raw.format);
  const safe = isTextFormat(format)
    ? { safe_value: safeText(value, format, rendered), safe_summary: safeText(summary ?? '', format, rendered) }
    : {};
  return { value, summary, format, ...safe };
};

const readLink = (field: Field, raw: RawItem): RawItem => {
  const url = checkUrl(field, textOf(raw.url) ?? '');
  const title = textOf(raw.title);
  return { url, title, attributes: [], original_title: title, original_url: url };
};

const geometryKeys = 'wkt geo_type lat lon left top right bottom srid accuracy source'.split(' ');

/** The item of a geometry that could not be read, as deployed servers keep it. */
export const emptyGeometry = (): RawItem => Object.fromEntries(geometryKeys.map((key) => [key, null]));

const readGeo = (field: Field, raw: RawItem): RawItem => {
  const wkt = textOf(raw.wkt) ?? '';
  const facts = readWkt(wkt);
  if (facts === null) throw new FieldFault(field.name, `The value of ${field.name} is not well-known text (WKT).`);
  return { wkt, ...facts, srid: null, accuracy: null, source: null };
};

const needDate = (field: Field, value: unknown): string => {
  const date = readDate(textOf(value) ?? '');
  if (date === null) {
    throw new FieldFault(field.name, `The value of ${field.name} is not a date (YYYY-MM-DD HH:MM:SS or ISO 8601).`);
  }
  return date;
};

const readPeriod = (field: Field, raw: RawItem): RawItem => {
  const start = needDate(field, raw.value);
  const end = textOf(raw.value2);
  return dateItem(start, end === null || end === '' ? start : needDate(field, end));
};

const readRemote = (field: Field, raw: RawItem): RawItem => {
  const uri = checkUrl(field, textOf(raw.uri) ?? textOf(raw.url) ?? '');
  return { uri, url: uri };
};

const builders: Record<
  Exclude<FieldKind, 'term' | 'node' | 'file' | 'group'>,
  (field: Field, raw: RawItem, rendered: RenderedTexts) => RawItem
> = {
  body: readBody,
  text: readText,
  long: readLong,
  choice: (field, raw) => ({ value: checkOption(field, checkLength(field, textOf(raw.value) ?? '')) }),
  number: (field, raw) => ({ value: checkLength({ ...field, maxLength: 11 }, textOf(raw.value) ?? '') }),
  link: readLink,
  pair: (field, raw) => ({
    first: checkLength({ ...field, maxLength: 255 }, textOf(raw.first) ?? ''),
    second: checkLength({ ...field, maxLength: 255 }, textOf(raw.second) ?? ''),
  }),
  geo: readGeo,
  date: (field, raw) => dateItem(needDate(field, raw.value), null),
  period: readPeriod,
  remote: readRemote,
};

/** True for the kinds whose items point to something in the store. */
export const isLinked = (kind: FieldKind): kind is 'term' | 'node' | 'file' | 'group' =>
  kind === 'term' || kind === 'node' || kind === 'file' || kind === 'group';

/**
 * Checks and completes one filled item of a field that stands for itself, with the HTML of long texts; throws
 * {@link FieldFault}.
 */
export const readItem = (field: Field, raw: RawItem, rendered: RenderedTexts): RawItem => {
  if (isLinked(field.kind)) throw new TypeError(`${field.name} points into the store`);
  return builders[field.kind](field, raw, rendered);
};

const parts = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

const pad = (value: number): string => String(value).padStart(2, '0');

/** A date as the portal stores it, `YYYY-MM-DD HH:MM:SS` in UTC, from ISO 8601 or that form; null when it is no date. */
export const readDate = (text: string): string | null => {
  const match = parts.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', zone = 'Z'] = match;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  if (zone === 'Z' && (date.getUTCDate() !== Number(day) || date.getUTCMonth() + 1 !== Number(month))) return null;
  return `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())} ${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
};

const dump = (date: string): Record<string, unknown> => ({
  granularity: ['year', 'month', 'day', 'hour', 'minute', 'second', 'timezone'],
  errors: [],
  timeOnly: false,
  dateOnly: false,
  originalTime: `${date.replace(' ', 'T')}+00:00`,
  date: `${date}.000000`,
  timezone_type: 3,
  timezone: 'UTC',
});

/** The read shape of a date, or of a period when `end` is given; both as {@link readDate} returns them. */
export const dateItem = (value: string, end: string | null): Record<string, unknown> => ({
  value,
  ...(end === null ? {} : { value2: end }),
  timezone: 'UTC',
  timezone_db: 'UTC',
  date_type: 'datetime',
  db: { value: dump(value), ...(end === null ? {} : { value2: dump(end) }) },
});

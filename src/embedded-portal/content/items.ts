// One item of a field: checked, and completed to what a read shows (spec 2, recorded behaviour 7 and 8); or looked up in the store,
// where it is a term, a reference or a file.
import { escapeHtml } from '../../util/html.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { Field, FieldKind } from './fields.ts';
import { readWkt } from './geometry.ts';
import type { RenderedTexts } from './long-texts.ts';
import { isTextFormat, safeText } from './safe-text.ts';

export type RawItem = Record<string, unknown>;

/** What is wrong with a field; the message names no internals and may be shown. */
export class FieldFault extends Error {
  readonly field: string;

  constructor({ name }: Field, message: string) {
    super(message);
    this.name = 'FieldFault';
    this.field = name;
  }
}

/** What `read` returns, or what `instead` makes of the {@link FieldFault} that it throws. */
export const catchFault = <T, U>(read: () => T, instead: (fault: FieldFault) => U): T | U => {
  try {
    return read();
  } catch (error) {
    if (error instanceof FieldFault) return instead(error);
    throw error;
  }
};

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
      field,
      `${field.name} may not be longer than ${field.maxLength} characters; ${length} were sent.`,
    );
  }
  return text;
};

const checkOption = (field: Field, text: string): string => {
  if (field.options !== null && !field.options.includes(text)) {
    throw new FieldFault(field, `Invalid option for field ${field.name}; allowed: ${field.options.join(', ')}`);
  }
  return text;
};

const urlPattern =
  /^(?:(?:https?|ftp):\/\/[^\s<>"]+|mailto:[^\s<>"]+@[^\s<>"]+|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#:][^\s<>"]*)?|\/?node\/\d+|<front>)$/i;

const checkUrl = (field: Field, text: string): string => {
  // The length first: the pattern takes time that grows with the square of it.
  checkLength({ ...field, maxLength: 2048 }, text);
  if (urlPattern.test(text)) return text;
  throw new FieldFault(field, `The value provided for ${field.name} is not a valid URL.`);
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
  const { value, format, ...safe } = readLong(field, raw, rendered);
  const summary = textOf(raw.summary);
  const text = isTextFormat(format) ? { safe_summary: safeText(summary ?? '', format, rendered) } : {};
  return { value, summary, format, ...safe, ...text };
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
  if (facts === null) throw new FieldFault(field, `The value of ${field.name} is not well-known text (WKT).`);
  return { wkt, ...facts, srid: null, accuracy: null, source: null };
};

const needDate = (field: Field, value: unknown): string => {
  const date = readDate(textOf(value) ?? '');
  if (date === null) {
    throw new FieldFault(field, `The value of ${field.name} is not a date (YYYY-MM-DD HH:MM:SS or ISO 8601).`);
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

/** Numbers of the vocabularies, the same on every site that was checked. */
export const vocabularyIds: Readonly<Record<string, string>> = { format: '1', tags: '2', dkan_topics: '3' };

const digits = /^\d{1,15}$/;

/** The number a text holds, or null. */
export const idOf = (value: unknown): number | null => {
  const text = textOf(value)?.trim() ?? '';
  return digits.test(text) && Number(text) > 0 ? Number(text) : null;
};

/** The tid of a term item: an existing tid of the field's vocabulary, or a name, which is created when it is new. Inside a write. */
export const readTerm = (store: Store, field: Field, raw: RawItem): number => {
  const vocabulary = field.vocabulary ?? '';
  const named = textOf(raw.vocabulary_machine_name) ?? textOf(raw.vocabulary) ?? '';
  if (named !== '' && named !== vocabulary) {
    throw new FieldFault(field, `${field.name} takes terms of the vocabulary ${vocabulary}, not ${escapeHtml(named)}.`);
  }
  const tid = idOf(raw.tid);
  if (tid !== null) {
    const term = store.terms.byTid(tid);
    if (term === null || term.vocabulary !== vocabulary) {
      throw new FieldFault(field, `${field.name}: there is no term ${tid} in the vocabulary ${vocabulary}.`);
    }
    return tid;
  }
  const given = textOf(raw.tid);
  const name = (textOf(raw.name) ?? (given === 'autocreate' ? null : given) ?? '').trim();
  if (name === '' || name.length > 255) {
    throw new FieldFault(field, `${field.name}: a term needs a tid, or a name of 1 to 255 characters.`);
  }
  return store.terms.byName(vocabulary, name)?.tid ?? store.terms.add({ tid: null, vocabulary, name });
};

/** The nid in a reference: a nid, the text form `Title (nid)` of which the last brackets count, or a title that only one node has. */
const nidIn = (store: Store, field: Field, { text, isFor }: { text: string; isFor: (node: StoredNode) => boolean }) => {
  const nid = idOf(text) ?? idOf(/\((\d+)\)\s*$/.exec(text)?.[1]);
  if (nid !== null) return nid;
  const found = store.nodes.byTitle(field.target ?? '', text.trim()).filter((one) => {
    const node = store.nodes.byNid(one);
    return node !== null && isFor(node);
  });
  const [only] = found;
  if (only === undefined) throw new FieldFault(field, `There are no entities matching "${escapeHtml(text)}"`);
  if (found.length > 1) {
    throw new FieldFault(
      field,
      `Several entities match "${escapeHtml(text)}"; write the title with its nid in brackets.`,
    );
  }
  return only;
};

/**
 * The nid of a reference item (spec 4.6), which must be a node of the field's type that `isFor` accepts; throws {@link FieldFault}.
 */
export const readReference = (
  store: Store,
  field: Field,
  { raw, isFor = () => true }: { raw: RawItem; isFor?: (node: StoredNode) => boolean },
): number => {
  const nid = nidIn(store, field, { text: textOf(raw.target_id) ?? '', isFor });
  const target = store.nodes.byNid(nid);
  if (target === null || !isFor(target) || (field.target !== null && target.type !== field.target)) {
    throw new FieldFault(field, `The referenced entity (node: ${nid}) is invalid.`);
  }
  return nid;
};

/** The fid of a file item, which must exist and be accepted by `isFor`; throws {@link FieldFault}. */
export const readFile = (
  store: Store,
  field: Field,
  { raw, isFor = () => true }: { raw: RawItem; isFor?: (file: StoredFile) => boolean },
): number => {
  const fid = idOf(raw.fid);
  const file = fid === null ? null : store.files.byFid(fid);
  if (fid === null || file === null || !isFor(file)) {
    throw new FieldFault(
      field,
      `The file ${escapeHtml(textOf(raw.fid) ?? '')} referenced by ${field.name} does not exist.`,
    );
  }
  return fid;
};

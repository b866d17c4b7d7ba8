// The kinds of fields: what an item holds, and how it is checked and completed to what a read shows (spec 2, recorded 7 and 8).
import { escapeHtml } from '../../util/html.ts';
import type { Field, FieldKind, ReadContext } from './fields.ts';
import { readWkt } from './geometry.ts';
import { isTextFormat, safeText } from './safe-text.ts';

export type RawItem = Record<string, unknown>;

/** What is wrong with a field; the message names no internals and may be shown. */
export class FieldFault extends Error {}

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

const within = (field: Field, value: unknown, most = field.maxLength): string => {
  const text = textOf(value) ?? '';
  const { length } = [...text];
  if (length <= most) return text;
  throw new FieldFault(`${field.name} may not be longer than ${most} characters; ${length} were sent.`);
};

const optionOf = (field: Field, value: unknown): string => {
  const text = within(field, value);
  if (field.options?.includes(text) !== false) return text;
  throw new FieldFault(`Invalid option for field ${field.name}; allowed: ${field.options.join(', ')}`);
};

const urlPattern =
  /^(?:(?:https?|ftp):\/\/[^\s<>"]+|mailto:[^\s<>"]+@[^\s<>"]+|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#:][^\s<>"]*)?|\/?node\/\d+|<front>)$/i;

const urlOf = (field: Field, value: unknown): string => {
  // The length first: the pattern takes time that grows with the square of it.
  const text = within(field, value, 2048);
  if (urlPattern.test(text)) return text;
  throw new FieldFault(`The value provided for ${field.name} is not a valid URL.`);
};

const dateOf = (field: Field, value: unknown): string => {
  const date = readDate(textOf(value) ?? '');
  if (date !== null) return date;
  throw new FieldFault(`The value of ${field.name} is not a date (YYYY-MM-DD HH:MM:SS or ISO 8601).`);
};

type ReadItem = (field: Field, raw: RawItem, context: ReadContext) => RawItem;

const readText: ReadItem = (field, raw) => {
  const value = optionOf(field, raw.value);
  return { value, format: textOf(raw.format), safe_value: escapeHtml(value) };
};

const readLong: ReadItem = (field, raw, { rendered }) => {
  const value = within(field, raw.value);
  const format = textOf(raw.format);
  return { value, format, ...(isTextFormat(format) ? { safe_value: safeText(value, format, rendered) } : {}) };
};

const readBody: ReadItem = (field, raw, context) => {
  const { value, format, ...safe } = readLong(field, raw, context);
  const summary = textOf(raw.summary);
  const text = isTextFormat(format) ? { safe_summary: safeText(summary ?? '', format, context.rendered) } : {};
  return { value, summary, format, ...safe, ...text };
};

const readPeriod: ReadItem = (field, raw) => {
  const start = dateOf(field, raw.value);
  return dateItem(start, textOf(raw.value2) ? dateOf(field, raw.value2) : start);
};

const geometryFacts = 'geo_type lat lon left top right bottom srid accuracy source'.split(' ');

/** The item of a geometry that could not be read, as deployed servers keep it. */
export const emptyGeometry = (): RawItem => Object.fromEntries(['wkt', ...geometryFacts].map((key) => [key, null]));

const readGeo: ReadItem = (field, raw) => {
  const wkt = textOf(raw.wkt) ?? '';
  const facts = readWkt(wkt);
  if (facts === null) throw new FieldFault(`The value of ${field.name} is not well-known text (WKT).`);
  return { wkt, ...facts, srid: null, accuracy: null, source: null };
};

const readLink: ReadItem = (field, raw) => {
  const url = urlOf(field, raw.url);
  const title = textOf(raw.title);
  return { url, title, attributes: [], original_title: title, original_url: url };
};

const readRemote: ReadItem = (field, raw) => {
  const uri = urlOf(field, textOf(raw.uri) ?? raw.url);
  return { uri, url: uri };
};

/** The tid of a term: an existing one of the field's vocabulary, or a name, which is created when it is new. */
const readTerm: ReadItem = (field, raw, { store }) => {
  const vocabulary = field.vocabulary ?? '';
  const named = textOf(raw.vocabulary_machine_name) ?? textOf(raw.vocabulary) ?? '';
  if (named !== '' && named !== vocabulary) {
    throw new FieldFault(`${field.name} takes terms of the vocabulary ${vocabulary}, not ${escapeHtml(named)}.`);
  }
  const tid = idOf(raw.tid);
  if (tid !== null && store.terms.byTid(tid)?.vocabulary !== vocabulary) {
    throw new FieldFault(`${field.name}: there is no term ${tid} in the vocabulary ${vocabulary}.`);
  }
  if (tid !== null) return { tid: String(tid) };
  const given = textOf(raw.tid);
  const name = (textOf(raw.name) ?? (given === 'autocreate' ? null : given) ?? '').trim();
  if (name === '' || name.length > 255) {
    throw new FieldFault(`${field.name}: a term needs a tid, or a name of 1 to 255 characters.`);
  }
  return { tid: tidOf(store, vocabulary, name) };
};

export const tidOf = ({ terms }: ReadContext['store'], vocabulary: string, name: string): string =>
  String(terms.byName(vocabulary, name)?.tid ?? terms.add({ tid: null, vocabulary, name }));

/** The nid in a reference: a nid, or the text form `Title (nid)` of which the last brackets count; null: neither. */
export const nidIn = (value: unknown): number | null =>
  idOf(value) ?? idOf(/\((\d+)\)\s*$/.exec(textOf(value) ?? '')?.[1]);

/** A reference (spec 4.6) to a node of the field's type that the caller may name: its nid, or a title that only one has. */
const readReference: ReadItem = (field, raw, { store, mayRefer = () => true }) => {
  const text = textOf(raw.target_id) ?? '';
  const sent = nidIn(text);
  const nids = sent === null ? store.nodes.byTitle(field.target ?? '', text.trim()) : [sent];
  const [found, ...others] = nids.flatMap((nid) => store.nodes.byNid(nid) ?? []).filter(mayRefer);
  if (sent === null && found === undefined) {
    throw new FieldFault(`There are no entities matching "${escapeHtml(text)}"`);
  }
  if (others.length > 0) {
    const words = 'write the title with its nid in brackets.';
    throw new FieldFault(`Several entities match "${escapeHtml(text)}"; ${words}`);
  }
  if (found === undefined || (field.target !== undefined && found.type !== field.target)) {
    throw new FieldFault(`The referenced entity (node: ${sent}) is invalid.`);
  }
  return { target_id: String(found.nid) };
};

const fileSettings = ['delimiter', 'grid', 'graph', 'map', 'embed', 'alt', 'title'] as const;
const fileFacts =
  'uid filename uri filemime filesize status timestamp type uuid rdf_mapping metadata service_id height width'.split(
    ' ',
  );

/** A file that the caller may use, with how its preview is shown. */
const readFile: ReadItem = (field, raw, { store, mayUse = () => true }) => {
  const fid = idOf(raw.fid);
  const file = fid === null ? null : store.files.byFid(fid);
  if (file === null || !mayUse(file)) {
    const shown = escapeHtml(textOf(raw.fid) ?? '');
    throw new FieldFault(`The file ${shown} referenced by ${field.name} does not exist.`);
  }
  const settings = fileSettings.flatMap((key) => (textOf(raw[key]) ? [[key, textOf(raw[key])]] : []));
  return { fid: String(fid), ...Object.fromEntries(settings) };
};

interface Kind {
  /** What says something in an item. The first one makes it filled: an item without it is empty. */
  says: readonly [main: string, ...others: string[]];
  /** What says how that is meant or shown, and nothing by itself. */
  hints?: readonly string[];
  /** What a read adds and the portal works out again: accepted, so that a node can be sent back as it was read. */
  derived?: readonly string[];
  /** True: an item needs no main property. */
  isFree?: boolean;
  /** The item as a read shows it; throws {@link FieldFault}. */
  read: ReadItem;
}

const dateFacts = ['timezone', 'timezone_db', 'date_type', 'db', 'show_todate'];

export const kinds: Readonly<Record<FieldKind, Kind>> = {
  body: {
    says: ['value', 'summary'],
    hints: ['format'],
    derived: ['safe_value', 'safe_summary'],
    isFree: true,
    read: readBody,
  },
  text: { says: ['value'], hints: ['format'], derived: ['safe_value'], read: readText },
  long: { says: ['value'], hints: ['format'], derived: ['safe_value'], read: readLong },
  choice: { says: ['value'], read: (field, raw) => ({ value: optionOf(field, raw.value) }) },
  number: { says: ['value'], read: (field, raw) => ({ value: within(field, raw.value, 11) }) },
  date: { says: ['value'], derived: dateFacts, read: (field, raw) => dateItem(dateOf(field, raw.value), null) },
  period: { says: ['value', 'value2'], derived: dateFacts, read: readPeriod },
  term: {
    says: ['tid', 'name'],
    hints: ['vocabulary_machine_name', 'vocabulary', 'vid'],
    isFree: true,
    read: readTerm,
  },
  node: { says: ['target_id'], read: readReference },
  group: {
    says: ['target_id'],
    read: (field, raw, context) =>
      field.target === undefined ? { target_id: textOf(raw.target_id) } : readReference(field, raw, context),
  },
  link: { says: ['url', 'title'], derived: ['attributes', 'original_title', 'original_url'], read: readLink },
  pair: {
    says: ['first', 'second'],
    isFree: true,
    read: (field, raw) => ({ first: within(field, raw.first, 255), second: within(field, raw.second, 255) }),
  },
  geo: { says: ['wkt'], derived: geometryFacts, read: readGeo },
  file: { says: ['fid'], hints: fileSettings, derived: fileFacts, read: readFile },
  remote: { says: ['uri', 'url'], isFree: true, read: readRemote },
};

/** Checks and completes one filled item of a field; throws {@link FieldFault}. Inside a write. */
export const readItem: ReadItem = (field, raw, context) => kinds[field.kind].read(field, raw, context);

const parts = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A moment as the portal stores it, `YYYY-MM-DD HH:MM:SS` in UTC. */
export const stored = (date: Date): string => date.toISOString().slice(0, 19).replace('T', ' ');

/** A date as the portal stores it, `YYYY-MM-DD HH:MM:SS` in UTC, from ISO 8601 or that form; null when it is no date. */
export const readDate = (text: string): string | null => {
  const match = parts.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', zone = 'Z'] = match;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  if (zone === 'Z' && (date.getUTCDate() !== Number(day) || date.getUTCMonth() + 1 !== Number(month))) return null;
  return stored(date);
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

export const idOf = (value: unknown): number | null => {
  const text = textOf(value)?.trim() ?? '';
  return /^\d{1,15}$/.test(text) && Number(text) > 0 ? Number(text) : null;
};

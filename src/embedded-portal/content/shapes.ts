// The input shapes of a field under `spec`, both styles of spec 4.5 and 4.6 and the obvious ones beside them, brought to one:
// a list of items. What cannot be taken whole is refused.

import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import { type Field, type FieldKind, mainProperty } from './fields.ts';
import { FieldFault, type RawItem, textOf } from './items.ts';

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/** How the preview of a file is shown; kept with the file's item. */
export const fileSettings = ['delimiter', 'grid', 'graph', 'map', 'embed', 'alt', 'title'] as const;

/** What may be sent in an item, by kind; the first ones hold what it says, `format` and the settings only how. */
const taken: Record<FieldKind, readonly string[]> = {
  body: ['value', 'summary', 'format'],
  text: ['value', 'format'],
  long: ['value', 'format'],
  choice: ['value'],
  number: ['value'],
  date: ['value'],
  period: ['value', 'value2'],
  term: ['tid', 'name', 'vocabulary_machine_name', 'vocabulary', 'vid'],
  node: ['target_id'],
  group: ['target_id'],
  link: ['url', 'title'],
  pair: ['first', 'second'],
  geo: ['wkt'],
  file: ['fid', ...fileSettings],
  remote: ['uri', 'url'],
};

const dateFacts = ['timezone', 'timezone_db', 'date_type', 'db', 'show_todate'];

/** What a read adds to an item and the portal works out again: accepted, so that a node can be sent back as it was read. */
const derived: Partial<Record<FieldKind, readonly string[]>> = {
  body: ['safe_value', 'safe_summary'],
  text: ['safe_value'],
  long: ['safe_value'],
  date: dateFacts,
  period: dateFacts,
  link: ['attributes', 'original_title', 'original_url'],
  geo: ['geo_type', 'lat', 'lon', 'left', 'top', 'right', 'bottom', 'srid', 'accuracy', 'source'],
  file: [
    ...['uid', 'filename', 'uri', 'filemime', 'filesize', 'status', 'timestamp', 'type', 'uuid', 'rdf_mapping'],
    ...['metadata', 'service_id', 'height', 'width'],
  ],
};

/** Derived properties that the portal cannot keep: nothing else may be sent in them. */
const constant: Readonly<Record<string, readonly string[]>> = {
  timezone: ['UTC'],
  timezone_db: ['UTC'],
  date_type: ['datetime'],
  srid: [],
  accuracy: [],
  source: [],
  attributes: [],
};

const properties: Record<FieldKind, readonly string[]> = { ...taken };
for (const [kind, more] of Object.entries(derived) as [FieldKind, readonly string[]][]) {
  properties[kind] = [...taken[kind], ...more];
}

/** Properties that say how a value is meant or shown, and none by themselves. */
const how: readonly string[] = ['format', 'vid', 'vocabulary_machine_name', 'vocabulary', ...fileSettings];

/** Kinds whose items need no main property. */
const free: readonly FieldKind[] = ['body', 'term', 'pair', 'remote'];

/** Names in the text field of the editing form: `""one"" ""two""`, or parted by commas. */
export const namesIn = (text: string): string[] => {
  const quoted = [...text.matchAll(/""(.*?)""/g)].map((match) => match[1] ?? '');
  const names = quoted.length > 0 ? quoted : text.split(',');
  return names.map((name) => name.trim().replace(/^"(.*)"$/, '$1')).filter((name) => name !== '');
};

const termNamed = (name: string): RawItem => (/^\d+$/.test(name) ? { tid: name } : { name });

const fromScalar = (field: Field, value: unknown): RawItem[] => {
  if (field.kind !== 'term' || typeof value !== 'string') return [{ [mainProperty[field.kind]]: value }];
  return namesIn(value).map(termNamed);
};

/** One of a list: a text there is one name, whatever it holds. */
const fromEntry = (field: Field, value: unknown): RawItem =>
  field.kind === 'term' && typeof value === 'string' ? termNamed(value.trim()) : { [mainProperty[field.kind]]: value };

const refuse = (field: Field, words: string): never => {
  throw new FieldFault(field, `${field.name}: ${words}`);
};

const shown = (key: string): string => `"${escapeHtml(key.slice(0, 64))}"`;

const checkKeys = (field: Field, map: RawItem, known: readonly string[]): void => {
  const unknown = Object.keys(map).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const taken = known.filter((key) => derived[field.kind]?.includes(key) !== true);
  refuse(field, `there is no property ${shown(unknown)} in an item; allowed: ${taken.join(', ')}.`);
};

const fromSelect = (field: Field, und: RawItem): RawItem[] => {
  checkKeys(field, und, ['select', 'other']);
  const { select } = und;
  if (isObject(select)) checkKeys(field, select, ['value']);
  if (Array.isArray(select) && select.length > 1) refuse(field, `takes one value; ${select.length} were sent.`);
  const inner = Array.isArray(select) ? select[0] : isObject(select) ? select.value : select;
  const chosen = inner === 'select_or_other' ? und.other : inner;
  return isNothing(chosen) ? [] : [{ [mainProperty[field.kind]]: chosen }];
};

const isNumbered = (value: RawItem): boolean => Object.keys(value).every((key) => /^\d+$/.test(key));

const fromMap = (field: Field, und: RawItem): RawItem[] => {
  if (isNumbered(und)) return fromList(field, Object.values(und));
  if ('select' in und) return fromSelect(field, und);
  if ('value_field' in und && field.kind === 'term') {
    checkKeys(field, und, ['textfield', 'value_field']);
    return fromScalar(field, und.value_field);
  }
  const value = und[mainProperty[field.kind]];
  if (Array.isArray(value) && Object.keys(und).length === 1) return fromList(field, value);
  return [und];
};

const fromList = (field: Field, list: unknown[]): RawItem[] =>
  list.flatMap((item) => {
    if (isNothing(item)) return [];
    return [isObject(item) ? item : fromEntry(field, item)];
  });

const checkValue = (field: Field, key: string, value: unknown): void => {
  if (taken[field.kind].includes(key)) {
    if (!isNothing(value) && textOf(value) === null) refuse(field, `${key} must be a text, not a list or map.`);
    return;
  }
  const allowed = constant[key];
  if (allowed === undefined || isNothing(value) || allowed.includes(textOf(value) ?? '')) return;
  refuse(field, `${key} can only be ${allowed.map(shown).join(' or ') || 'empty'}.`);
};

/** True for an item that says something; false for an empty one. Throws {@link FieldFault} for one that lacks its value. */
const isFilled = (field: Field, item: RawItem): boolean => {
  checkKeys(field, item, properties[field.kind]);
  for (const [key, value] of Object.entries(item)) checkValue(field, key, value);
  const given = taken[field.kind].filter(
    (key) => !isNothing(item[key]) && (!how.includes(key) || (key === 'title' && field.kind === 'link')),
  );
  if (given.length === 0) return false;
  if (!free.includes(field.kind) && !given.includes(mainProperty[field.kind])) {
    refuse(field, `an item needs ${mainProperty[field.kind]}.`);
  }
  return true;
};

/** What is below the language: spec 4 knows `und` only. A value without a language is that of `und`. */
const withoutLanguage = (field: Field, value: unknown): unknown => {
  if (!isObject(value) || isNumbered(value)) return value;
  const keys = Object.keys(value);
  const isProperty = (key: string): boolean =>
    properties[field.kind].includes(key) || ['select', 'other', 'value_field', 'textfield'].includes(key);
  if (!('und' in value) && keys.some(isProperty)) return value;
  const other = keys.find((key) => key !== 'und');
  if (other !== undefined) {
    refuse(
      field,
      `there is no language or property ${shown(other)}; write {"und": …}, or an item with ${taken[field.kind].join(', ')}.`,
    );
  }
  return value.und;
};

/**
 * The items of a field in any of the accepted shapes: `{und: [{…}]}`, `{und: {…}}`, `{und: {0: {…}}}`, `{und: value}`,
 * `{und: {select: …}}`, `{und: {value_field: …}}`, and each of them without `und`; nothing, `[]` and `{und: []}` are no
 * items. Throws {@link FieldFault} for anything else: no part of what is sent is passed over.
 */
export const itemsIn = (field: Field, value: unknown): RawItem[] => {
  const sent = withoutLanguage(field, value);
  if (isNothing(sent)) return [];
  const items = Array.isArray(sent)
    ? fromList(field, sent)
    : isObject(sent)
      ? fromMap(field, sent)
      : fromScalar(field, sent);
  return items.filter((item) => isFilled(field, item));
};

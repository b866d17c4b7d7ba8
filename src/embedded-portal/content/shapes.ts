// Brings the input shapes of a field (spec 4.5, 4.6 and the obvious ones) to one, a list of items, or refuses them.
import { escapeHtml } from '../../util/html.ts';
import { isObject } from '../../util/json.ts';
import type { Field } from './fields.ts';
import { FieldFault, kinds, type RawItem, textOf } from './items.ts';

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

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

/** Names in the text field of the editing form: `""one"" ""two""`, or parted by commas. */
export const namesIn = (text: string): string[] => {
  const quoted = [...text.matchAll(/""(.*?)""/g)].map((match) => match[1] ?? '');
  const names = quoted.length > 0 ? quoted : text.split(',');
  return names.map((name) => name.trim().replace(/^"(.*)"$/, '$1')).filter((name) => name !== '');
};

const refuse = (field: Field, words: string): never => {
  throw new FieldFault(`${field.name}: ${words}`);
};

const shown = (key: string): string => `"${escapeHtml(key.slice(0, 64))}"`;

/** What may be sent in an item, without what a read adds to it. */
const takenBy = ({ kind }: Field): string[] => [...kinds[kind].says, ...(kinds[kind].hints ?? [])];

const checkKeys = (field: Field, map: RawItem, known: readonly string[], shownToo = known): void => {
  const unknown = Object.keys(map).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  refuse(field, `there is no property ${shown(unknown)} in an item; allowed: ${shownToo.join(', ')}.`);
};

/** The item of a text or number alone, which makes it what fills an item; a text for a term is a name, or a number. */
const fromScalar = (field: Field, value: unknown): RawItem => {
  const [main] = kinds[field.kind].says;
  if (field.kind !== 'term' || typeof value !== 'string') return { [main]: value };
  return { [/^\d+$/.test(value.trim()) ? main : 'name']: value.trim() };
};

const fromNames = (field: Field, value: unknown): RawItem[] =>
  field.kind === 'term' && typeof value === 'string'
    ? namesIn(value).map((name) => fromScalar(field, name))
    : [fromScalar(field, value)];

const fromSelect = (field: Field, und: RawItem): RawItem[] => {
  checkKeys(field, und, ['select', 'other']);
  const { select } = und;
  if (Array.isArray(select) && select.length > 1) refuse(field, `takes one value; ${select.length} were sent.`);
  if (isObject(select)) checkKeys(field, select, ['value']);
  const inner = Array.isArray(select) ? select[0] : isObject(select) ? select.value : select;
  const chosen = inner === 'select_or_other' ? und.other : inner;
  return isNothing(chosen) ? [] : [fromScalar(field, chosen)];
};

const isNumbered = (value: RawItem): boolean => Object.keys(value).every((key) => /^\d+$/.test(key));

const fromMap = (field: Field, und: RawItem): RawItem[] => {
  if (isNumbered(und)) return fromList(field, Object.values(und));
  if ('select' in und) return fromSelect(field, und);
  if ('value_field' in und && field.kind === 'term') {
    checkKeys(field, und, ['textfield', 'value_field']);
    return fromNames(field, und.value_field);
  }
  const value = und[kinds[field.kind].says[0]];
  return Array.isArray(value) && Object.keys(und).length === 1 ? fromList(field, value) : [und];
};

/** One of a list: a text there is one name, whatever it holds. */
const fromList = (field: Field, list: unknown[]): RawItem[] =>
  list.filter((item) => !isNothing(item)).map((item) => (isObject(item) ? item : fromScalar(field, item)));

const checkValue = (field: Field, key: string, value: unknown): void => {
  if (isNothing(value)) return;
  const allowed = constant[key];
  if (takenBy(field).includes(key)) {
    if (textOf(value) === null) refuse(field, `${key} must be a text, not a list or map.`);
  } else if (allowed?.includes(textOf(value) ?? '') === false) {
    refuse(field, `${key} can only be ${allowed.map(shown).join(' or ') || 'empty'}.`);
  }
};

/** True for an item that says something; false for an empty one. Throws {@link FieldFault} for one that lacks its value. */
const isFilled = (field: Field, item: RawItem): boolean => {
  const { says, derived = [], isFree } = kinds[field.kind];
  checkKeys(field, item, [...takenBy(field), ...derived], takenBy(field));
  for (const [key, value] of Object.entries(item)) checkValue(field, key, value);
  const given = says.filter((key) => !isNothing(item[key]));
  if (given.length > 0 && isFree !== true && !given.includes(says[0])) refuse(field, `an item needs ${says[0]}.`);
  return given.length > 0;
};

/** What is below the language: spec 4 knows `und` only. A value without a language is that of `und`. */
const withoutLanguage = (field: Field, value: unknown): unknown => {
  if (!isObject(value) || isNumbered(value)) return value;
  const keys = Object.keys(value);
  const { derived = [] } = kinds[field.kind];
  const known = [...takenBy(field), ...derived, 'select', 'other', 'value_field', 'textfield'];
  if (!('und' in value) && keys.some((key) => known.includes(key))) return value;
  const other = keys.find((key) => key !== 'und');
  if (other === undefined) return value.und;
  const item = takenBy(field).join(', ');
  return refuse(field, `there is no language or property ${shown(other)}; write {"und": …}, or an item with ${item}.`);
};

/**
 * The items of a field in any of the accepted shapes: `{und: [{…}]}`, `{und: {…}}`, `{und: {0: {…}}}`, `{und: value}`,
 * `{und: {select: …}}`, `{und: {value_field: …}}`, and each of them without `und`; nothing, `[]` and `{und: []}` are no
 * items. Throws {@link FieldFault} for anything else: no part of what is sent is passed over.
 */
export const itemsIn = (field: Field, value: unknown): RawItem[] => {
  const sent = withoutLanguage(field, value);
  if (isNothing(sent)) return [];
  const unpack = Array.isArray(sent) ? fromList : isObject(sent) ? fromMap : fromNames;
  return unpack(field, sent as never).filter((item) => isFilled(field, item));
};

// The input shapes of a field, both styles of spec 4.5 and 4.6, brought to one: a list of items.
import type { Field } from './fields.ts';
import { mainProperty, type RawItem } from './items.ts';

const isMap = (value: unknown): value is RawItem =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isMap(value) && Object.keys(value).length === 0);

/** Names in the text field of the editing form: `""one"" ""two""`, or parted by commas. */
export const namesIn = (text: string): string[] => {
  const quoted = [...text.matchAll(/""(.*?)""/g)].map((match) => match[1] ?? '');
  const names = quoted.length > 0 ? quoted : text.split(',');
  return names.map((name) => name.trim().replace(/^"(.*)"$/, '$1')).filter((name) => name !== '');
};

const fromScalar = (field: Field, value: unknown): RawItem[] => {
  if (field.kind !== 'term' || typeof value !== 'string') return [{ [mainProperty[field.kind]]: value }];
  return namesIn(value).map((name) => (/^\d+$/.test(name) ? { tid: name } : { name }));
};

const fromSelect = (field: Field, und: RawItem): RawItem[] => {
  const { select } = und;
  const inner = Array.isArray(select) ? select[0] : isMap(select) ? select.value : select;
  const chosen = inner === 'select_or_other' ? und.other : inner;
  return isNothing(chosen) ? [] : [{ [mainProperty[field.kind]]: chosen }];
};

const isNumbered = (value: RawItem): boolean => Object.keys(value).every((key) => /^\d+$/.test(key));

const fromMap = (field: Field, und: RawItem): RawItem[] => {
  if (isNumbered(und)) return fromList(field, Object.values(und));
  if ('select' in und) return fromSelect(field, und);
  if ('value_field' in und && field.kind === 'term') return fromScalar(field, und.value_field);
  const main = mainProperty[field.kind];
  const value = und[main];
  if (Array.isArray(value)) return fromList(field, value);
  return [und];
};

const fromList = (field: Field, list: unknown[]): RawItem[] =>
  list.flatMap((item) => {
    if (isNothing(item)) return [];
    return isMap(item) ? [item] : fromScalar(field, item);
  });

const isFilled = (field: Field, item: RawItem): boolean => {
  if (field.kind === 'term') return !isNothing(item.tid) || !isNothing(item.name);
  if (field.kind === 'pair') return !isNothing(item.first) || !isNothing(item.second);
  if (field.kind === 'remote') return !isNothing(item.uri) || !isNothing(item.url);
  if (field.kind === 'link') return !isNothing(item.url) || !isNothing(item.title);
  return !isNothing(item[mainProperty[field.kind]]);
};

/**
 * The items of a field in any of the accepted shapes: `{und: [{…}]}`, `{und: {…}}`, `{und: {0: {…}}}`, `{und: value}`,
 * `{und: {select: …}}`, `{und: {value_field: …}}`; nothing, `[]` and `{und: []}` are no items. `null` where the
 * value says nothing about the field: a bare scalar or list, or another language (ignored, recorded behaviour 8).
 */
export const itemsIn = (field: Field, value: unknown): RawItem[] | null => {
  if (isNothing(value)) return [];
  if (!isMap(value) || !('und' in value)) return null;
  const { und } = value;
  if (isNothing(und)) return [];
  const items = Array.isArray(und) ? fromList(field, und) : isMap(und) ? fromMap(field, und) : fromScalar(field, und);
  return items.filter((item) => isFilled(field, item));
};

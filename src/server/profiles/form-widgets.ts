// The widgets of the editing form of release C: what each sees in its input (recorded behaviour 8a).
import type { Field } from '../content/fields.ts';
import { FieldFault, type RawItem, readItem, textOf } from '../content/items.ts';
import { isTextFormat } from '../content/safe-text.ts';
import { namesIn } from '../content/shapes.ts';
import { escapeHtml } from '../refusal.ts';
import { formFrequencies } from './form-values.ts';
import type { ReadContext } from './profile.ts';

const illegal = 'An illegal choice has been detected. Please contact the site administrator.';

/** A text as messages of such portals set it off. */
export const em = (text: string): string => `<em class="placeholder">${escapeHtml(text)}</em>`;

/** Labels of fields in messages. */
const labels: Record<string, string> = {
  field_author: 'Author',
  field_contact_name: 'Contact Name',
  field_contact_email: 'Contact Email',
  field_landing_page: 'Homepage URL',
  field_link_api: 'Link API',
  field_temporal_coverage: 'Temporal Coverage',
  field_granularity: 'Granularity',
  field_rights: 'Rights',
  field_spatial_geographical_cover: 'Spatial / Geographical Coverage Location',
};

const labelOf = (field: Field): string => labels[field.name] ?? field.name;

/** What a widget made of its input: new items, or null where it saw nothing; errors by element. */
export interface Seen {
  items: RawItem[] | null;
  errors?: Record<string, string>;
}

const nothing: Seen = { items: null };

type Widget = (field: Field, und: unknown, context: ReadContext) => Seen;

/** True for a map. */
export const isMap = (value: unknown): value is RawItem =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The numbered rows of a field's input. */
export const rowsOf = (und: unknown): RawItem[] => {
  if (Array.isArray(und)) return und.filter(isMap);
  if (!isMap(und)) return [];
  return Object.entries(und)
    .filter(([key, row]) => /^\d+$/.test(key) && isMap(row))
    .map(([, row]) => row as RawItem); // just checked
};

const textFields: Widget = (field, und) => {
  const rows = field.many ? rowsOf(und) : rowsOf(und).slice(0, 1);
  if (rows.length === 0) return nothing;
  const errors: Record<string, string> = {};
  const items = rows.flatMap((row, index) => {
    const value = textOf(row.value) ?? '';
    const { length } = [...value];
    if (length > field.maxLength) {
      errors[`${field.name}][und][${index}][value`] =
        `${labelOf(field)} cannot be longer than ${em(String(field.maxLength))} characters but is currently ${em(String(length))} characters long.`;
    }
    return value === '' ? [] : [{ value, format: null, safe_value: escapeHtml(value) }];
  });
  return { items, errors };
};

const formattedText: Widget = (field, und) => {
  const [row] = rowsOf(und);
  if (row === undefined) return nothing;
  const format = textOf(row.format) ?? 'html';
  if (!isTextFormat(format)) return { items: null, errors: { [`${field.name}][und][0][format`]: illegal } };
  const value = textOf(row.value) ?? '';
  if (value === '') return { items: [] };
  const summary = field.kind === 'body' ? { summary: textOf(row.summary) ?? '' } : {};
  return { items: [readItem(field, { value, format, ...summary })] };
};

const scalarsOf = (und: unknown): unknown[] => {
  if (Array.isArray(und)) return und;
  return isMap(und) ? Object.values(und) : [und];
};

const optionsOf = (field: Field): readonly string[] =>
  field.name === 'field_frequency' ? formFrequencies : (field.options ?? []);

const select: Widget = (field, und) => {
  const [sent] = scalarsOf(und);
  const value = textOf(sent);
  if (value === '_none') return { items: [] };
  if (value === null || !optionsOf(field).includes(value))
    return { items: null, errors: { [`${field.name}][und`]: illegal } };
  return { items: [{ value }] };
};

const selectOrOther: Widget = (field, und) => {
  if (!isMap(und) || !('select' in und)) return nothing;
  const [sent] = scalarsOf(und.select);
  const value = textOf(sent) ?? '';
  const chosen = value === 'select_or_other' ? (textOf(und.other) ?? '') : value;
  if (value !== 'select_or_other' && !optionsOf(field).includes(value)) {
    return { items: null, errors: { [`${field.name}][und][select`]: illegal } };
  }
  return { items: chosen === '' ? [] : [{ value: chosen, format: null, safe_value: escapeHtml(chosen) }] };
};

const checkboxes: Widget = (field, und, { store }) => {
  if (!Array.isArray(und) && !isMap(und)) return nothing;
  const values = scalarsOf(und).map(textOf);
  if (field.kind !== 'term') {
    if (values.includes(null)) return { items: null, errors: { [`${field.name}][und`]: illegal } };
    return { items: values.map((value) => ({ value })) };
  }
  const isKnown = (tid: string | null): boolean =>
    tid !== null && /^\d{1,15}$/.test(tid) && store.terms.byTid(Number(tid))?.vocabulary === field.vocabulary;
  if (!values.every(isKnown)) return { items: null, errors: { [`${field.name}][und`]: illegal } };
  return { items: values.map((tid) => ({ tid })) };
};

/** The tid of a name, made where it is new. */
export const tidOf = ({ store }: ReadContext, vocabulary: string, name: string): string =>
  String(store.terms.byName(vocabulary, name)?.tid ?? store.terms.add({ tid: null, vocabulary, name }));

const autocomplete: Widget = (field, und, context) => {
  if (!isMap(und) || !('value_field' in und)) return nothing;
  const names = namesIn(textOf(und.value_field) ?? '');
  return { items: names.map((name) => ({ tid: tidOf(context, field.vocabulary ?? '', name) })) };
};

const links: Widget = (field, und) => {
  const rows = field.many ? rowsOf(und) : rowsOf(und).slice(0, 1);
  const errors: Record<string, string> = {};
  const items: RawItem[] = [];
  for (const [index, row] of rows.entries()) {
    const url = textOf(row.url) ?? '';
    if (url === '') {
      if ((textOf(row.title) ?? '') !== '')
        errors[`${field.name}][und][${index}][url`] = 'You cannot enter a title without a link url.';
      continue;
    }
    try {
      const { title, attributes } = readItem(field, { url, title: row.title });
      items.push({ url, title, attributes });
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      errors[`${field.name}][und][${index}][url`] =
        `The value ${em(url)} provided for ${em(labelOf(field))} is not a valid URL.`;
    }
    if (field.name === 'field_link_api' && !/^https?:\/\//i.test(url)) {
      errors[field.name] = 'Please enter a full url (include http:// or https://)';
    }
  }
  return rows.length === 0 ? nothing : { items, errors };
};

const pairs: Widget = (field, und) => {
  const rows = rowsOf(und);
  if (rows.length === 0) return nothing;
  return { items: rows.map((row) => readItem(field, row)).filter((row) => row.first !== '' || row.second !== '') };
};

const dates: Widget = (field, und) => {
  const [row] = rowsOf(und);
  if (row === undefined) return nothing;
  const label = labelOf(field);
  if (isMap(row.value)) {
    const sent = textOf(row.value.date) ?? '';
    const message = `The value input for field ${em(`${label} Start date`)} is invalid:<br />The value ${escapeHtml(sent)}  does not match the expected format.`;
    return { items: null, errors: { [`${field.name}][und][0][value`]: message } };
  }
  const list = '<div class="item-list"><ul><li class="first last">The dates are invalid.</li>\n</ul></div>';
  return { items: null, errors: { [`${field.name}][und][0`]: `There are errors in ${label} value #1:${list}` } };
};

const unseen: Widget = () => nothing;

const widgets: Record<Field['kind'], Widget> = {
  body: formattedText,
  long: formattedText,
  text: textFields,
  choice: select,
  number: unseen,
  term: autocomplete,
  node: unseen,
  link: links,
  pair: pairs,
  geo: unseen,
  date: unseen,
  period: dates,
  file: unseen,
  remote: unseen,
  group: unseen,
};

const special: Record<string, Widget> = {
  field_license: selectOrOther,
  field_language: checkboxes,
  field_topic: checkboxes,
  field_is_part_of: unseen,
  field_pod_theme: unseen,
  field_orphan: unseen,
};

/** The widget of a field: its new items (null where it saw nothing) and errors by element. */
export const seenBy = (field: Field, und: unknown, context: ReadContext): Seen =>
  (special[field.name] ?? widgets[field.kind])(field, und, context);

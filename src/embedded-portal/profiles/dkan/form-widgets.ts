// The widgets of the editing form of release C and how each reads its input (recorded behaviour 8a).

import { escapeHtml } from '../../../util/html.ts';
import { isObject } from '../../../util/json.ts';
import type { ReadContext } from '../../content/changes.ts';
import type { Field } from '../../content/fields.ts';
import { catchFault, dateItem, idOf, type RawItem, readDate, readItem, textOf } from '../../content/items.ts';
import { isTextFormat } from '../../content/safe-text.ts';
import { namesIn } from '../../content/shapes.ts';
import { tooLong } from '../../content/spec-input.ts';
import { em } from '../../refusal.ts';

/** Options of the frequency field: integers as text (recorded behaviour 8a). */
const formFrequencies: readonly string[] = Array.from({ length: 19 }, (_, number) => String(number));

const illegal = 'An illegal choice has been detected. Please contact the site administrator.';

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

const heldItems = (field: Field, { node }: ReadContext): RawItem[] => node?.fields[field.name] ?? [];

/**
 * The rows of a field of many values, place by place: the form shows one empty place beside those that are filled, and
 * drops what is sent beyond it; places that are not sent keep their item.
 */
const placed = (
  field: Field,
  { rows, context }: { rows: RawItem[]; context: ReadContext },
  read: (row: RawItem, index: number) => RawItem | null,
): RawItem[] => {
  const held: (RawItem | null)[] = [...heldItems(field, context)];
  const shown = field.many ? held.length + 1 : 1;
  for (const [index, row] of rows.slice(0, shown).entries()) held[index] = read(row, index);
  return held.filter((item) => item !== null);
};

/** What a widget made of its input: new items, or null where it saw nothing; errors by element. */
interface Seen {
  items: RawItem[] | null;
  errors?: Record<string, string>;
}

const nothing: Seen = { items: null };

type Widget = (field: Field, und: unknown, context: ReadContext) => Seen;

/** The numbered rows of a field's input. */
export const rowsOf = (und: unknown): RawItem[] => {
  if (Array.isArray(und)) return und.filter(isObject);
  if (!isObject(und)) return [];
  return Object.entries(und)
    .filter(([key, row]) => /^\d+$/.test(key) && isObject(row))
    .map(([, row]) => row as RawItem); // just checked
};

const textFields: Widget = (field, und, context) => {
  const rows = rowsOf(und);
  if (rows.length === 0) return nothing;
  const errors: Record<string, string> = {};
  const items = placed(field, { rows, context }, (row, index) => {
    const value = textOf(row.value) ?? '';
    const fault = tooLong(labelOf(field), value, field.maxLength);
    if (fault !== null) errors[`${field.name}][und][${index}][value`] = fault;
    return value === '' ? null : { value, format: null, safe_value: escapeHtml(value) };
  });
  return { items, errors };
};

const formattedText: Widget = (field, und, context) => {
  const [sent] = rowsOf(und);
  if (sent === undefined) return nothing;
  const row = { ...heldItems(field, context)[0], ...sent };
  const format = textOf(row.format) ?? 'html';
  if (!isTextFormat(format)) return { items: null, errors: { [`${field.name}][und][0][format`]: illegal } };
  const value = textOf(row.value) ?? '';
  if (value === '') return { items: [] };
  const summary = field.kind === 'body' ? { summary: textOf(row.summary) ?? '' } : {};
  return { items: [readItem(field, { value, format, ...summary }, context.rendered)] };
};

/** The values of an input that names options. */
export const scalarsOf = (und: unknown): unknown[] => {
  if (Array.isArray(und)) return und;
  return isObject(und) ? Object.values(und) : [und];
};

const optionsOf = (field: Field): readonly string[] =>
  field.name === 'field_frequency' ? formFrequencies : (field.options ?? []);

const select: Widget = (field, und) => {
  const scalars = scalarsOf(und);
  if (scalars.length === 0) return nothing;
  const value = textOf(scalars[0]);
  if (value === '_none') return { items: [] };
  if (value === null || !optionsOf(field).includes(value))
    return { items: null, errors: { [`${field.name}][und`]: illegal } };
  return { items: [{ value }] };
};

const selectOrOther: Widget = (field, und) => {
  if (!isObject(und) || !('select' in und)) return nothing;
  const [sent] = scalarsOf(und.select);
  const value = textOf(sent) ?? '';
  const chosen = value === 'select_or_other' ? (textOf(und.other) ?? '') : value;
  if (value !== 'select_or_other' && !optionsOf(field).includes(value)) {
    return { items: null, errors: { [`${field.name}][und][select`]: illegal } };
  }
  return { items: chosen === '' ? [] : [{ value: chosen, format: null, safe_value: escapeHtml(chosen) }] };
};

const checkboxes: Widget = (field, und, { store }) => {
  if (!Array.isArray(und) && !isObject(und)) return nothing;
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
  if (!isObject(und) || !('value_field' in und)) return nothing;
  const names = namesIn(textOf(und.value_field) ?? '').flatMap((name) => namesIn(name.replaceAll('"', '')));
  return { items: names.map((name) => ({ tid: tidOf(context, field.vocabulary ?? '', name) })) };
};

const links: Widget = (field, und, context) => {
  const rows = rowsOf(und);
  const errors: Record<string, string> = {};
  const items = placed(field, { rows, context }, (row, index) => {
    const url = textOf(row.url) ?? '';
    const key = `${field.name}][und][${index}][url`;
    if (url === '') {
      if ((textOf(row.title) ?? '') !== '') errors[key] = 'You cannot enter a title without a link url.';
      return null;
    }
    const item = catchFault(
      () => {
        const { title, attributes } = readItem(field, { url, title: row.title }, context.rendered);
        return { url, title, attributes };
      },
      () => {
        errors[key] = `The value ${em(url)} provided for ${em(labelOf(field))} is not a valid URL.`;
        return null;
      },
    );
    if (field.name === 'field_link_api' && !/^(?:https?|ftp):\/\//i.test(url)) {
      errors[field.name] = 'Please enter a full url (include http:// or https://)';
    }
    return item;
  });
  return rows.length === 0 ? nothing : { items, errors };
};

const pairs: Widget = (field, und, context) => {
  const rows = rowsOf(und);
  if (rows.length === 0) return nothing;
  const items = placed(field, { rows, context }, (row) => {
    const item = readItem(field, row, context.rendered);
    return item.first === '' && item.second === '' ? null : item;
  });
  return { items };
};

/** One side of a period as the form takes it, `{date: "MM/DD/YYYY", time: "HH:MM:SS"}`, as the portal stores it; null: not that. */
const formDate = (side: RawItem): string | null => {
  const [, month, day, year] = /^(\d{2})\/(\d{2})\/(\d{4})$/.exec(textOf(side.date) ?? '') ?? [];
  const time = textOf(side.time) ?? '';
  return year === undefined || !/^\d{2}:\d{2}:\d{2}$/.test(time) ? null : readDate(`${year}-${month}-${day} ${time}`);
};

const emptyPeriod = { value: null, value2: null, timezone: 'UTC', timezone_db: 'UTC', date_type: 'datetime' };

/** What the form shows of a stored period that an update does not mention, as it would come back. */
const unfound: RawItem = { date: '', time: '00:00:00' };

type Sides = Record<'value' | 'value2', RawItem>;

/** Start and end as the form reads them: the end is the start unless it is requested. Null: no such pair. */
const sidesOf = ({ value, value2, show_todate }: RawItem): Sides | null => {
  if (!isObject(value)) return null;
  const hasEnd = !['', '0'].includes(textOf(show_todate) ?? '');
  return { value, value2: hasEnd && isObject(value2) ? value2 : value };
};

const sideErrors = (field: Field, sides: Sides): Record<string, string> => {
  const wrong = (['value', 'value2'] as const).filter(
    (name) => formDate(sides[name]) === null && (name === 'value' || sides.value2 !== sides.value),
  );
  return Object.fromEntries(
    wrong.map((name) => {
      const { date, time } = sides[name];
      const shown = escapeHtml(`${textOf(date) ?? ''} ${textOf(time) ?? ''}`);
      const which = em(`${labelOf(field)} ${name === 'value' ? 'Start' : 'End'} date`);
      const message = `The value input for field ${which} is invalid:<br />The value ${shown} does not match the expected format.`;
      return [`${field.name}][und][0][${name}`, message];
    }),
  );
};

const periodFault = (field: Field, message: string): Seen => {
  const list = `<div class="item-list"><ul><li class="first last">${message}</li>\n</ul></div>`;
  const text = `There are errors in ${labelOf(field)} value #1:${list}`;
  return { items: null, errors: { [`${field.name}][und][0`]: text } };
};

/**
 * A period in two texts each. The form does not find the stored period again: an update that does not send it is refused
 * where there is one, and where there is none leaves an item of nulls behind at every second time.
 */
const dates: Widget = (field, und, context) => {
  const [sent] = rowsOf(und);
  const [held] = heldItems(field, context);
  if (sent === undefined && !textOf(held?.value)) {
    return { items: context.node === null || held !== undefined ? [] : [emptyPeriod] };
  }
  const sides = sidesOf(sent ?? { value: unfound, value2: { ...unfound }, show_todate: 1 });
  if (sides === null) return periodFault(field, 'The dates are invalid.');
  if (Object.values(sides).every(({ date, time }) => !textOf(date) && !textOf(time))) return { items: [] };
  const [start, end] = [formDate(sides.value), formDate(sides.value2)];
  if (start === null || end === null) return { items: null, errors: sideErrors(field, sides) };
  if (end < start) return periodFault(field, 'The End date must be greater than the Start date.');
  return { items: [dateItem(start, end)] };
};

/** Groups by nid: `[nid, …]` or `{target_id: nid}`. The form has no such field while there is no group. */
const groups: Widget = (field, und, { store }) => {
  if ((!Array.isArray(und) && !isObject(und)) || store.nodes.countOfType('group') === 0) return nothing;
  if (rowsOf(und).length > 0) return nothing;
  const nids = scalarsOf(und).map((value) => idOf(value));
  const isGroup = (nid: number | null): boolean => nid !== null && store.nodes.byNid(nid)?.type === 'group';
  if (!nids.every(isGroup)) return { items: null, errors: { [`${field.name}][und`]: illegal } };
  return { items: nids.map((nid) => ({ target_id: String(nid) })) };
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
  group: groups,
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

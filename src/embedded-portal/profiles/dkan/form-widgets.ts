// The widgets of the editing form of release C and how each reads its input (recorded behaviour 8a).
import { escapeHtml } from '../../../util/html.ts';
import { isObject, recordOf } from '../../../util/json.ts';
import type { Field, ReadContext } from '../../content/fields.ts';
import { catchFault, dateItem, idOf, type RawItem, readDate, readItem, textOf, tidOf } from '../../content/items.ts';
import { isTextFormat } from '../../content/safe-text.ts';
import { namesIn } from '../../content/shapes.ts';
import { tooLong } from '../../content/spec-input.ts';
import { em, exceptionFault } from '../../refusal.ts';
import { untyped } from './faults.ts';

/** Options of the frequency field: integers as text (recorded behaviour 8a). */
const formFrequencies: readonly string[] = Array.from({ length: 19 }, (_, number) => String(number));

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

const heldItems = ({ name, kind }: Field, { node, store }: ReadContext): RawItem[] => {
  if (node === null) return [];
  if (kind !== 'node') return node.fields[name] ?? [];
  return store.nodes.targets(node.nid).map((nid) => ({ target_id: String(nid) }));
};

/** What a widget made of its input: new items, or null where it saw nothing. */
interface Seen {
  items: RawItem[] | null;
  /** What is wrong, by element. */
  errors?: Record<string, string>;
  /** What the database says where there are no errors. */
  fault?: Error;
}

const nothing: Seen = { items: null };

const illegal = (element: string): Seen => ({
  items: null,
  errors: { [element]: 'An illegal choice has been detected. Please contact the site administrator.' },
});

type Widget = (field: Field, und: unknown, context: ReadContext) => Seen;

export const rowsOf = (und: unknown): RawItem[] => {
  if (typeof und !== 'object' || und === null) return [];
  return Object.entries(und).flatMap(([key, row]) => (/^\d+$/.test(key) && isObject(row) ? [row] : []));
};

/** A row of a field, with its element and where errors are noted. */
interface Place {
  field: Field;
  context: ReadContext;
  element: string;
  errors: Record<string, string>;
}

/**
 * A field of many values, place by place: the form shows one empty place beside those that are filled, and drops what is
 * sent beyond it; places that are not sent keep their item, and null empties one.
 */
const inPlaces =
  (read: (row: RawItem, place: Place) => RawItem | null): Widget =>
  (field, und, context) => {
    const rows = rowsOf(und);
    if (rows.length === 0) return nothing;
    const errors: Record<string, string> = {};
    const held: (RawItem | null)[] = [...heldItems(field, context)];
    for (const [index, row] of rows.slice(0, field.many ? held.length + 1 : 1).entries()) {
      held[index] = read(row, { field, context, element: `${field.name}][und][${index}`, errors });
    }
    return { items: held.filter((item) => item !== null), errors };
  };

const texts = inPlaces((row, { field, element, errors }) => {
  const value = textOf(row.value) ?? '';
  const fault = tooLong(labelOf(field), value, field.maxLength);
  if (fault !== null) errors[`${element}][value`] = fault;
  return value === '' ? null : { value, format: null, safe_value: escapeHtml(value) };
});

const pairs = inPlaces((row, { field, context }) => {
  const item = readItem(field, row, context);
  return item.first === '' && item.second === '' ? null : item;
});

const links = inPlaces((row, { field, context, element, errors }) => {
  const url = textOf(row.url) ?? '';
  if (url === '') {
    if ((textOf(row.title) ?? '') !== '') errors[`${element}][url`] = 'You cannot enter a title without a link url.';
    return null;
  }
  const item = catchFault(
    () => {
      const { title, attributes } = readItem(field, { url, title: row.title }, context);
      return { url, title, attributes };
    },
    () => {
      const words = `The value ${em(url)} provided for ${em(labelOf(field))} is not a valid URL.`;
      errors[`${element}][url`] = words;
      return null;
    },
  );
  if (field.name === 'field_link_api' && !/^(?:https?|ftp):\/\//i.test(url)) {
    errors[field.name] = 'Please enter a full url (include http:// or https://)';
  }
  return item;
});

/** References in text form; an empty text clears one. */
const references = inPlaces((row, { field, context, element, errors }) => {
  const text = textOf(row.target_id) ?? '';
  if (text === '') return null;
  if (/^\d+$/.test(text)) {
    errors[`${element}][target_id`] = `There are no entities matching "${em(text)}"`;
    return null;
  }
  return catchFault(
    () => readItem(field, { target_id: text }, context),
    ({ message }) => {
      const isUnknown = message.startsWith('The referenced entity');
      if (isUnknown && context.node === null) throw untyped();
      errors[isUnknown ? element : `${element}][target_id`] = message;
      return null;
    },
  );
});

const formattedText: Widget = (field, und, context) => {
  const [sent] = rowsOf(und);
  if (sent === undefined) return nothing;
  const row = { ...heldItems(field, context)[0], ...sent };
  const format = textOf(row.format) ?? 'html';
  if (!isTextFormat(format)) return illegal(`${field.name}][und][0][format`);
  const value = textOf(row.value) ?? '';
  if (value === '') return { items: [] };
  const summary = field.kind === 'body' ? { summary: textOf(row.summary) ?? '' } : {};
  return { items: [readItem(field, { value, format, ...summary }, context)] };
};

export const scalarsOf = (und: unknown): unknown[] => {
  if (Array.isArray(und)) return und;
  return isObject(und) ? Object.values(und) : [und];
};

const hasOption = (field: Field, value: string | null): boolean =>
  value !== null && (field.name === 'field_frequency' ? formFrequencies : (field.options ?? [])).includes(value);

const select: Widget = (field, und) => {
  const scalars = scalarsOf(und);
  if (scalars.length === 0) return nothing;
  const value = textOf(scalars[0]);
  if (value === '_none') return { items: [] };
  return hasOption(field, value) ? { items: [{ value }] } : illegal(`${field.name}][und`);
};

const selectOrOther: Widget = (field, und) => {
  if (!isObject(und) || !('select' in und)) return nothing;
  const value = textOf(scalarsOf(und.select)[0]) ?? '';
  const isOther = value === 'select_or_other';
  if (!isOther && !hasOption(field, value)) return illegal(`${field.name}][und][select`);
  const chosen = isOther ? (textOf(und.other) ?? '') : value;
  return { items: chosen === '' ? [] : [{ value: chosen, format: null, safe_value: escapeHtml(chosen) }] };
};

/** Options of a list: texts, or numbers of terms. */
const checkboxes: Widget = (field, und, { store }) => {
  if (!Array.isArray(und) && !isObject(und)) return nothing;
  const values = scalarsOf(und).map(textOf);
  const isTerm = field.kind === 'term';
  const isKnown = (value: string | null): boolean =>
    isTerm ? store.terms.byTid(idOf(value) ?? 0)?.vocabulary === field.vocabulary : value !== null;
  if (!values.every(isKnown)) return illegal(`${field.name}][und`);
  return { items: values.map((value) => (isTerm ? { tid: value } : { value })) };
};

const autocomplete: Widget = (field, und, { store }) => {
  if (!isObject(und) || !('value_field' in und)) return nothing;
  const names = namesIn(textOf(und.value_field) ?? '').flatMap((name) => namesIn(name.replaceAll('"', '')));
  return { items: names.map((name) => ({ tid: tidOf(store, field.vocabulary ?? '', name) })) };
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

const periodFault = (field: Field, message: string): Seen => {
  const list = `<div class="item-list"><ul><li class="first last">${message}</li>\n</ul></div>`;
  const text = `There are errors in ${labelOf(field)} value #1:${list}`;
  return { items: null, errors: { [`${field.name}][und][0`]: text } };
};

const sideError = (field: Field, { date, time }: RawItem, index: number): [element: string, words: string] => {
  const [name, side] = index === 0 ? ['value', 'Start'] : ['value2', 'End'];
  const shown = escapeHtml(`${textOf(date) ?? ''} ${textOf(time) ?? ''}`);
  const words = `The value input for field ${em(`${labelOf(field)} ${side} date`)} is invalid:<br />The value ${shown} does not match the expected format.`;
  return [`${field.name}][und][0][${name}`, words];
};

/**
 * A period in two texts each; its end is the start unless it is requested. The form does not find the stored period again:
 * an update that does not send it is refused where there is one, and where there is none leaves an item of nulls behind at
 * every second time.
 */
const dates: Widget = (field, und, context) => {
  const [sent] = rowsOf(und);
  const [held] = heldItems(field, context);
  if (sent === undefined && !textOf(held?.value)) {
    return { items: context.node === null || held !== undefined ? [] : [emptyPeriod] };
  }
  const { value, value2, show_todate } = sent ?? { value: unfound, value2: unfound, show_todate: 1 };
  if (!isObject(value)) return periodFault(field, 'The dates are invalid.');
  const hasEnd = isObject(value2) && !['', '0'].includes(textOf(show_todate) ?? '');
  const sides = hasEnd ? [value, value2] : [value];
  if (sides.every(({ date, time }) => !textOf(date) && !textOf(time))) return { items: [] };
  const errors = sides.flatMap((side, index) => (formDate(side) === null ? [sideError(field, side, index)] : []));
  const [start = null, end = start] = sides.map(formDate);
  if (start === null || end === null) return { items: null, errors: Object.fromEntries(errors) };
  if (end < start) return periodFault(field, 'The End date must be greater than the Start date.');
  return { items: [dateItem(start, end)] };
};

/** Groups by nid: `[nid, …]` or `{target_id: nid}`. The form has no such field while there is no group. */
const groups: Widget = (field, und, { store }) => {
  if ((!Array.isArray(und) && !isObject(und)) || store.nodes.countOfType('group') === 0) return nothing;
  if (rowsOf(und).length > 0) return nothing;
  const nids = scalarsOf(und).map(idOf);
  if (!nids.every((nid) => store.nodes.byNid(nid ?? 0)?.type === 'group')) return illegal(`${field.name}][und`);
  return { items: nids.map((nid) => ({ target_id: String(nid) })) };
};

const noSettings: Seen = {
  items: null,
  fault: exceptionFault(
    '22007',
    "SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect integer value: '' for column `dkan3`.`field_data_field_upload`.`field_upload_grid` at row 1",
  ),
};

/**
 * The file with how its preview is shown, of which the database takes numbers only. A file that the body does not show is
 * one without these numbers; a body that shows the settings alone takes the file off.
 */
const upload: Widget = (_field, und, context) => {
  const { node, store } = context;
  const [row] = rowsOf(und);
  if (row === undefined) return node === null || store.files.ofNode(node.nid).length === 0 ? nothing : noSettings;
  const known = idOf(row.fid);
  if (known === null || store.files.byFid(known) === null) return { items: [] };
  const { grid, graph, map } = recordOf(row.view);
  const numbers = Object.entries({ grid, graph, map, embed: row.embed });
  if (!numbers.every(([, number]) => /^-?\d+$/.test(textOf(number) ?? ''))) return noSettings;
  const settings = numbers.map(([name, number]) => [name, String(Number(textOf(number)))]);
  const item = { fid: String(known), delimiter: textOf(row.delimiter) ?? '', ...Object.fromEntries(settings) };
  return { items: [item] };
};

/** By kind of field; a kind that is missing is one that the form does not show. */
const widgets: Partial<Record<Field['kind'], Widget>> = {
  body: formattedText,
  long: formattedText,
  text: texts,
  choice: select,
  term: autocomplete,
  node: references,
  link: links,
  pair: pairs,
  period: dates,
  file: upload,
  group: groups,
};

const special: Record<string, Widget> = {
  field_license: selectOrOther,
  field_language: checkboxes,
  field_topic: checkboxes,
};

const unseen = ['field_is_part_of', 'field_pod_theme', 'field_orphan'];

/** What the form sees of a field in a body. It shows periods and files in any case, and takes them as they come back. */
export const seenBy = (field: Field, value: unknown, context: ReadContext): Seen => {
  const isSent = isObject(value) && 'und' in value;
  if (!isSent && field.kind !== 'period' && field.kind !== 'file') return nothing;
  const widget = unseen.includes(field.name) ? undefined : (special[field.name] ?? widgets[field.kind]);
  return widget === undefined ? nothing : widget(field, isSent ? value.und : undefined, context);
};

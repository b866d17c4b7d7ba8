// How release C reads the body of a node: as its editing form does (recorded behaviour 8a, 9, 10).
import type { Field } from '../content/fields.ts';
import { FieldFault, type RawItem, readItem, textOf } from '../content/items.ts';
import { readReference } from '../content/links.ts';
import { isTextFormat } from '../content/safe-text.ts';
import { namesIn } from '../content/shapes.ts';
import { escapeHtml } from '../refusal.ts';
import { formFrequencies } from './form-values.ts';
import type { FieldChanges, ReadContext } from './profile.ts';
import { formRefusal } from './spec-input.ts';

const illegal = 'An illegal choice has been detected. Please contact the site administrator.';

const em = (text: string): string => `<em class="placeholder">${escapeHtml(text)}</em>`;

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
interface Seen {
  items: RawItem[] | null;
  errors?: Record<string, string>;
}

const nothing: Seen = { items: null };

type Widget = (field: Field, und: unknown, context: ReadContext) => Seen;

const isMap = (value: unknown): value is RawItem =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const rowsOf = (und: unknown): RawItem[] => {
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
const tidOf = ({ store }: ReadContext, vocabulary: string, name: string): string =>
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

const referenceRows = (und: unknown): (string | null)[] => rowsOf(und).map((row) => textOf(row.target_id));

/** References in text form; items that are not sent keep their old value, an empty text clears one. */
const readReferences = (
  field: Field,
  und: unknown,
  context: ReadContext,
): { targets?: number[]; errors: Record<string, string> } => {
  const { store, node } = context;
  const errors: Record<string, string> = {};
  const sent = referenceRows(und);
  if (sent.length === 0) return { errors };
  const kept: (number | null)[] = node === null ? [] : store.nodes.targets(node.nid);
  for (const [index, text] of sent.entries()) {
    const key = `${field.name}][und][${index}][target_id`;
    if (text === null || text === '') kept[index] = null;
    else if (/^\d+$/.test(text)) errors[key] = `There are no entities matching "${em(text)}"`;
    else {
      try {
        kept[index] = readReference(store, { ...field, target: field.target }, { target_id: text });
      } catch (error) {
        if (!(error instanceof FieldFault)) throw error;
        errors[key] = error.message.replace(
          /\(node: (\d+)\)/,
          '(<em class="placeholder">node</em>: <em class="placeholder">$1</em>)',
        );
      }
    }
  }
  return { targets: kept.filter((nid) => typeof nid === 'number'), errors };
};

const needsRights = (body: Record<string, unknown>, items: FieldChanges['items']): boolean => {
  if (!('field_public_access_level' in body)) return false;
  const level = items.field_public_access_level?.[0]?.value;
  return level !== 'public' && (items.field_rights ?? []).length === 0;
};

const sources: [string, string][] = [
  ['field_link_api', 'API or Website URL'],
  ['field_link_remote_file', 'Link File'],
  ['field_upload', 'Upload'],
];

const isPopulated = (body: Record<string, unknown>, name: string): boolean => {
  const value = body[name];
  return isMap(value) && rowsOf(value.und).length > 0;
};

const sourceErrors = (body: Record<string, unknown>): Record<string, string> => {
  const used = sources.filter(([name]) => isPopulated(body, name));
  if (used.length < 2) return {};
  return Object.fromEntries(
    used.map(([name, label]) => [
      name,
      `<strong>${label}</strong> is populated - only one resource type can be used at a time.`,
    ]),
  );
};

/** The format that the form gives a resource: none is sent in a shape that it sees, so a term of its own. */
const defaultFormat = (context: ReadContext, changes: FieldChanges): void => {
  const has = (changes.items.field_format ?? context.node?.fields.field_format ?? []).length > 0;
  if (context.type !== 'resource' || has) return;
  const name = (changes.items.field_link_api ?? []).length > 0 ? 'api' : 'data';
  changes.items.field_format = [{ tid: tidOf(context, 'format', name) }];
};

const harvestDates = ({ node, type, now }: ReadContext, changes: FieldChanges): void => {
  if (type !== 'dataset' || node !== null) return;
  const value = new Date(now * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const item = { value, timezone: 'UTC', timezone_db: 'UTC', date_type: 'datetime' };
  changes.items.field_harvest_source_issued = [item];
  changes.items.field_harvest_source_modified = [item];
};

/** Fields as the editing form of release C sees them; `errors` are those of the core properties. Throws 406 with all errors. */
export const readFormFields = (
  body: Record<string, unknown>,
  context: ReadContext,
  errors: Record<string, string>,
): FieldChanges => {
  const changes: FieldChanges = { items: {} };
  for (const field of context.fields) {
    const value = body[field.name];
    if (!isMap(value) || !('und' in value)) continue;
    if (field.kind === 'node') {
      const { targets, errors: found } = readReferences(field, value.und, context);
      Object.assign(errors, found);
      if (targets !== undefined) changes.targets = targets;
      continue;
    }
    const { items, errors: found } = (special[field.name] ?? widgets[field.kind])(field, value.und, context);
    Object.assign(errors, found ?? {});
    if (items !== null) changes.items[field.name] = items;
  }
  if (needsRights(body, changes.items)) errors.field_rights = 'Rights field is required.';
  Object.assign(errors, sourceErrors(body));
  if (Object.keys(errors).length > 0) throw formRefusal(errors);
  defaultFormat(context, changes);
  harvestDates(context, changes);
  return changes;
};

// The two dialects of node fields: one table from the entity shape to the editing form's shape; and which one a portal speaks.
import { type FieldItem, itemsOfField, itemText } from '../dataset-api/fields.ts';
import { paths } from '../dataset-api/paths.ts';
import { frequencies, licenses } from '../dataset-api/values.ts';
import type { PortalError } from '../model/errors.ts';
import type { NodeFields } from '../model/wish.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import { isAnswer } from './answers.ts';
import { nodeRowsSchema, type PortalNode } from './replies.ts';
import type { Caller } from './session.ts';
import type { Dialect, Traits } from './settings.ts';

/** Node fields ready to be sent, and why others, by name, are left out: the dialect cannot express them. */
type ShapedFields = { fields: NodeFields; problems: Record<string, string[]> };

/** Node fields, in entity shape (`{und: [{…}]}`), in the shape a dialect takes; values written in another way stay as they are. */
export const fieldsFor = (dialect: Dialect, fields: NodeFields): ShapedFields => {
  if (dialect === 'entity') return { fields, problems: {} };
  const shaped: NodeFields = {};
  const problems: Record<string, string[]> = {};
  for (const [field, value] of Object.entries(fields)) {
    const shape = Object.hasOwn(formShapes, field) ? formShapes[field] : undefined;
    const items = shape === undefined ? null : itemsOf(value);
    const report = (problem: string) => {
      problems[field] = [...(problems[field] ?? []), problem];
    };
    const usual = shape === undefined && itemsOf(value)?.length === 0 ? emptied(field) : value;
    const own = shape && items ? shape(items, report) : usual;
    if (!problems[field]) shaped[field] = own;
  }
  return { fields: shaped, problems };
};

/** What an editing form removes or refuses unless every update has it: the file, and the period with its time. */
export const echoedFields = (node: PortalNode, changes: NodeFields): NodeFields => {
  const echoed: NodeFields = {};
  const file = itemsOf(node.field_upload)?.[0];
  if (file?.fid !== undefined && !('field_upload' in changes)) {
    const flag = (name: string): number => (file[name] === null || file[name] === undefined ? 1 : Number(file[name]));
    const view = { grid: flag('grid'), graph: flag('graph'), map: flag('map') };
    const delimiter = typeof file.delimiter === 'string' ? file.delimiter : ',';
    echoed.field_upload = { und: [{ fid: String(file.fid), view, embed: flag('embed'), delimiter }] };
  }
  const period = (itemsOf(node.field_temporal_coverage) ?? []).filter(({ value }) => itemText(value));
  if (period.length > 0 && !('field_temporal_coverage' in changes)) {
    echoed.field_temporal_coverage = periods(period, () => undefined);
  }
  return echoed;
};

type Report = (problem: string) => void;
type Shape = (items: FieldItem[], report: Report) => unknown;

const firstValue = ([item]: FieldItem[]): string | undefined => itemText(item?.value);

/** Select lists take ids only, and no endpoint gives the id of a name. */
const tids: Shape = (items, report) => ({
  und: items.map((item) => {
    const tid = textOf(item, 'tid', report);
    const setting = `terms: {topics: {${item.name ?? 'NAME'}: N}}`;
    if (!/^\d+$/.test(tid))
      report(`this older portal accepts topics by number only: set \`${setting}\` of this portal`);
    return tid;
  }),
});

const each =
  (property: string): Shape =>
  (items, report) => ({ und: items.map((item) => textOf(item, property, report)) });

/** Only the nid in the last brackets counts, the title may be anything (recorded behaviour 9). */
const references: Shape = (items, report) => ({
  und: (items.length === 0 ? [{ target_id: '' }] : items).map((item) => {
    const target = textOf(item, 'target_id', report);
    return { target_id: /^\d+$/.test(target) ? `node (${target})` : target };
  }),
});

/** A select list that also offers own text; an emptied one falls back to the portal's default. */
const license: Shape = (items) => {
  const value = firstValue(items) ?? 'notspecified';
  return { und: Object.hasOwn(licenses, value) ? { select: value } : { select: 'select_or_other', other: value } };
};

const frequency: Shape = (items, report) => {
  const value = firstValue(items);
  if (value === undefined) return { und: '_none' };
  const known = frequencies.filter(({ form }) => form !== null);
  const option = known.find(({ code, form }) => code === value || String(form) === value);
  if (!option)
    report(`"${value}" has no number on this older portal; it knows ${known.map(({ code }) => code).join(' ')}`);
  return { und: { value: String(option?.form) } };
};

/** Terms go by name; the form makes those that do not exist. */
const terms: Shape = (items, report) => ({
  und: {
    textfield: '',
    value_field: items.map((item) => `""${textOf(item, 'name', report).replaceAll('"', '')}""`).join(' '),
  },
});

/** What an editing form makes of fields that it takes, by name. */
export const changedByForm = ({ field_tags: tags }: NodeFields): Record<string, string[]> => {
  const isSplit = (itemsOf(tags) ?? []).some(({ name }) => typeof name === 'string' && /[,"]/.test(name));
  return isSplit ? { field_tags: ['the portal splits tags that contain a comma or quotes'] } : {};
};

/** The date widget takes day and time apart, the day as in the United States. */
const periods: Shape = (items, report) => ({
  und: items.map((item) => {
    const value = dayAndTime(textOf(item, 'value', report));
    return { value, value2: typeof item.value2 === 'string' ? dayAndTime(item.value2) : value, show_todate: 1 };
  }),
});

const dayAndTime = (text: string): { date: string; time: string } => {
  const [day = '', time = '00:00:00'] = text.split(/[T ]/);
  const [year = '', month = '', date = ''] = day.split('-');
  return { date: `${month}/${date}/${year}`, time: time.length === 5 ? `${time}:00` : time.slice(0, 8) };
};

/** The form leaves a field alone that has no items; an item without content empties it (recorded behaviour 8a, 9). */
const emptied = (field: string): unknown => ({ und: [linkFields.has(field) ? { url: '', title: '' } : { value: '' }] });

const linkFields = new Set(['field_landing_page', 'field_conforms_to', 'field_related_content', 'field_link_api']);

/** The form-shape of every field that differs (recorded behaviour 8a, recording `form_input_create`). */
const formShapes: Record<string, Shape> = {
  field_license: license,
  field_frequency: frequency,
  field_public_access_level: (items) => ({ und: { value: firstValue(items) ?? 'public' } }),
  field_tags: terms,
  field_format: terms,
  field_topic: tids,
  field_language: each('value'),
  field_resources: references,
  field_dataset_ref: references,
  og_group_ref: each('target_id'),
  field_temporal_coverage: periods,
};

/** The items of a field in entity shape, of which PHP sends an empty one as a list; null for a value that is written in another way. */
const itemsOf = (value: unknown): FieldItem[] | null =>
  Array.isArray(value) && value.length === 0 ? [] : itemsOfField(value);

const textOf = (item: FieldItem, property: string, report: Report): string => {
  const value = item[property];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  report(`an item has no "${property}", which this older portal's editing form needs`);
  return '';
};

interface DialectParts {
  set: 'auto' | Dialect;
  traits: Traits;
  caller: Caller;
  datastore: { isOffered(signal: AbortSignal): Promise<boolean> };
}

export const dialectChoice = ({ set, traits, caller, datastore }: DialectParts) => {
  /** Dialect of writes until a reply proves it. */
  let guess: Dialect | null = null;
  /** The uuids sent with creates that have not been read back, by nid. */
  const created = new BoundedMap<string, string>(100);

  /** The dialect to write in; found by at most two harmless reads, once per portal. */
  const current = async (signal: AbortSignal): Promise<Dialect> => {
    const before = known();
    if (before !== null) return before;
    const { dialect, isCertain } = await find(signal);
    if (isCertain) learn(dialect);
    else guess = dialect;
    return dialect;
  };

  const known = (): Dialect | null => (set === 'auto' ? (traits.get('dialect') ?? guess) : set);

  /** Remembers a create, so that its read-back can show whether the portal kept the uuid. */
  const noteCreate = (nid: string, uuid: string): void => {
    if (set === 'auto' && traits.get('dialect') === undefined) created.set(nid, uuid);
  };

  /** An entity portal keeps the uuid of a create, a form portal makes its own and writes language `und`. */
  const noteRead = (node: PortalNode): void => {
    const sent = created.get(node.nid);
    if (sent === undefined || node.uuid === '') return;
    created.delete(node.nid);
    if (node.uuid.toLowerCase() === sent.toLowerCase()) learn('entity');
    else if (node.language === 'und') learn('form');
  };

  /**
   * Learns from a refused write. True where it may be sent once more, in the dialect of forms: a form validates before it
   * saves anything, and only forms answer `form_errors` (recorded behaviour 2, 8a).
   */
  const noteRefusal = (error: PortalError): boolean => {
    if (set !== 'auto') return false;
    // Errors about fields that the two dialects write differently reveal the dialect.
    const isShaped = error.request.formErrors?.some((field) => Object.hasOwn(formShapes, field)) === true;
    const isForm = known() === 'entity' && isShaped;
    if (isForm) learn('form');
    // An entity portal takes the keys of a form shape for item numbers and fails with this (recorded behaviour 8).
    else if (known() === 'form' && isAnswer(error, 'form-shape')) learn('entity');
    return isForm;
  };

  const learn = (dialect: Dialect): void => {
    created.clear();
    traits.learn({ dialect });
  };

  /** Datastore endpoints came after the entity dialect (7.16.1), so they prove it; an empty language does as well. */
  const find = async (signal: AbortSignal): Promise<{ dialect: Dialect; isCertain: boolean }> => {
    if (await datastore.isOffered(signal)) return { dialect: 'entity', isCertain: true };
    const path = `${paths.nodes}?fields=nid,language&pagesize=20`;
    const call = { action: 'list nodes', method: 'GET', path } as const;
    const rows = await caller.body(call, nodeRowsSchema, 'a list of nodes', signal);
    const isEntity = rows.some((row) => row.language === '' && 'language' in row);
    return { dialect: isEntity ? 'entity' : 'form', isCertain: isEntity };
  };

  return { current, noteCreate, noteRead, noteRefusal };
};

export type DialectChoice = ReturnType<typeof dialectChoice>;

// Node fields in the API's own structure, and one table between them and friendly keys, read both ways, in the shape of entity
// portals (spec 2.1 to 2.3, recorded-behaviour 8). The client's dialect turns that shape into the one of form portals.
import type { NodeFields, ResourceSource } from '../model/wish.ts';
import { isObject, recordOf } from '../util/json.ts';
import type { DatasetMetadata, ResourceMetadata } from './metadata.ts';
import { frequencyCode, keptFrequency } from './values.ts';

export type FieldItem = Record<string, unknown>;

/** The items of a field that is written as `{und: [{…}]}`; null for any other value. */
export const itemsOfField = (value: unknown): FieldItem[] | null => {
  const items = isObject(value) ? value.und : undefined;
  return Array.isArray(items) && items.every(isObject) ? items : null;
};

/** The items of a node field in whatever language it has; none where it is empty or absent. */
export const fieldItems = (node: Readonly<Record<string, unknown>>, field: string): FieldItem[] => {
  const value = node[field];
  if (!isObject(value)) return [];
  const items: unknown = value.und ?? Object.values(value)[0];
  return Array.isArray(items) ? items.filter(isObject) : [];
};

/** Numbers of the terms in a field, in their order. */
export const tidsOf = (node: Readonly<Record<string, unknown>>, field: string): string[] =>
  fieldItems(node, field).flatMap(({ tid }) => (tid === undefined || tid === null ? [] : [String(tid)]));

/** Machine names of the vocabularies whose terms are given by name. */
export type Vocabulary = 'tags' | 'format' | 'dkan_topics';

/** A term given by name; portals that accept names find or create the term (recorded-behaviour 8). */
export type NamedTerm = { tid: 'autocreate'; name: string; vocabulary_machine_name: Vocabulary };

/** How a key of a manifest stands in a field of a node. */
interface Row {
  field: string;
  write: (value: unknown) => FieldItem[];
  /** Undefined, or something empty, where there is nothing; absent for terms and groups, which nodes hold as ids. */
  read?: (items: readonly FieldItem[]) => unknown;
  /** Plain text, which refers to nothing, releases nothing and chooses no text format. */
  plain?: boolean;
  /** Most items that editing forms of older portals take (recorded behaviour 8a); any number where absent. */
  mostInForms?: 0 | 1;
}

/** Rows by key of the manifest; a dot leads into a mapping. */
type Rows = Readonly<Record<string, Row>>;

const text = (field: string, property = 'value'): Row => ({
  field,
  write: (value) => [{ [property]: String(value) }],
  read: ([item]) => itemText(item?.[property]),
  plain: true,
});

const texts = (field: string): Row => ({
  field,
  write: (values) => listOf(values).map((value) => ({ value: String(value) })),
  read: (items) => items.flatMap(({ value }) => itemText(value) ?? []),
  plain: true,
});

/** Terms by name, of which nodes hold the ids. */
const terms = (field: string, vocabulary: Vocabulary): Row => ({
  field,
  write: (names) =>
    [...new Set(listOf(names))].map((name) => ({ tid: 'autocreate', name, vocabulary_machine_name: vocabulary })),
});

const description: Row = { ...text('body'), plain: false, write: (value) => [{ value, format: 'html' }] };

const datasetRows: Rows = {
  description,
  summary: { ...text('body', 'summary'), plain: false, write: (summary) => [{ value: '', summary, format: 'html' }] },
  tags: terms('field_tags', 'tags'),
  topics: terms('field_topic', 'dkan_topics'),
  license: text('field_license'),
  frequency: {
    field: 'field_frequency',
    write: (value) => [{ value: frequencyCode(String(value)) ?? value }],
    read: ([item]) => keptFrequency(itemText(item?.value)),
    plain: true,
  },
  'contact.name': text('field_contact_name'),
  'contact.email': text('field_contact_email'),
  author: text('field_author'),
  access: text('field_public_access_level'),
  rights: text('field_rights'),
  'spatial.wkt': { ...text('field_spatial', 'wkt'), plain: false, mostInForms: 0 },
  'spatial.label': text('field_spatial_geographical_cover'),
  temporal: {
    field: 'field_temporal_coverage',
    write: (period) => {
      const { from, to = from } = recordOf(period);
      return [{ value: dateTime(from), value2: dateTime(to) }];
    },
    read: ([item]) => {
      const [from, to] = [dayOf(item?.value), dayOf(item?.value2)];
      return from && { from, ...(to === undefined || to === from ? {} : { to }) };
    },
  },
  granularity: text('field_granularity'),
  language: texts('field_language'),
  groups: {
    field: 'og_group_ref',
    write: (groups) =>
      listOf(groups).map((group) => (/^\d+$/.test(String(group)) ? { target_id: String(group) } : { title: group })),
  },
  landingPage: text('field_landing_page', 'url'),
  additionalInfo: {
    field: 'field_additional_info',
    write: (facts) => Object.entries(recordOf(facts)).map(([first, second]) => ({ first, second: String(second) })),
    read: (items) => Object.fromEntries(items.map(({ first, second }) => [first, second])),
    plain: true,
    mostInForms: 1,
  },
  dataDictionary: text('field_data_dictionary'),
  dataDictionaryType: text('field_data_dictionary_type'),
  conformsTo: text('field_conforms_to', 'url'),
  isPartOf: { ...text('field_is_part_of'), mostInForms: 0 },
  relatedContent: {
    field: 'field_related_content',
    write: (links) => listOf(links).map(recordOf),
    read: (items) => items.map(({ title, url }) => ({ title, url })),
    plain: true,
    mostInForms: 1,
  },
  themes: { ...texts('field_pod_theme'), mostInForms: 0 },
  modified: {
    field: 'field_modified_source_date',
    write: (day) => [{ value: dateTime(day) }],
    read: ([item]) => dayOf(item?.value),
    mostInForms: 0,
  },
};

const resourceRows: Rows = { description, format: terms('field_format', 'format') };

/** Fields that anyone may set who may describe a dataset. */
export const plainFields = new Set(Object.values(datasetRows).flatMap(({ field, plain }) => (plain ? field : [])));

/** Fields of which editing forms of older portals take no item, or one. */
export const limitedInForms = Object.values(datasetRows).flatMap(({ field, mostInForms: most }) =>
  most === undefined ? [] : { field, most },
);

/** Node fields of a dataset. `fields` is merged last, so it overrides the friendly keys. */
export const datasetFields = (metadata: DatasetMetadata, fields: NodeFields = {}): NodeFields => ({
  ...written(datasetRows, metadata),
  ...fields,
});

/**
 * Node fields of a resource, without its file and dataset. An address that portals accept goes into `field_link_api`:
 * entity portals silently drop the other link field (recorded-behaviour 8). `fields` is merged last.
 */
export const resourceFields = (
  { format, ...metadata }: ResourceMetadata,
  source: ResourceSource,
  fields: NodeFields = {},
): NodeFields => ({
  ...written(resourceRows, format === undefined ? metadata : { ...metadata, format: [format] }),
  ...((source.kind === 'link' || source.kind === 'api') && isLinkable(source.url)
    ? { field_link_api: { und: [{ url: source.url }] } }
    : {}),
  ...fields,
});

/** What a dataset as read says in friendly keys, unchecked; `named` has those that nodes hold as ids. */
export const datasetValues = (node: NodeFields, named: Record<string, unknown>): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const [key, { field, read }] of Object.entries(datasetRows)) {
    const value = named[key] ?? read?.(fieldItems(node, field));
    const [outer = '', inner] = key.split('.');
    if (value === undefined) continue;
    values[outer] = inner === undefined ? value : { ...recordOf(values[outer]), [inner]: value };
  }
  return values;
};

const written = (rows: Rows, metadata: object): NodeFields => {
  const fields: Record<string, { und: FieldItem[] }> = {};
  for (const [key, { field, write }] of Object.entries(rows)) {
    const value = key.split('.').reduce<unknown>((outer, part) => recordOf(outer)[part], metadata);
    if (value === undefined) continue;
    const before = fields[field]?.und ?? [];
    fields[field] = { und: write(value).map((item, index) => ({ ...item, ...before[index] })) };
  }
  return fields;
};

/** True for an address that every portal accepts in a link field; any other may get the whole node refused. */
export const isLinkable = (url: string): boolean => url.length <= longestUrl && /^https?:\/\/[^\s<>"]+$/i.test(url);

const longestUrl = 2048;

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The text of a property of an item; undefined where it says nothing. */
export const itemText = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined;

/** `2026-01-31` or `2026-01-31T09:30` as the date fields hold it: `2026-01-31 09:30:00`. */
const dateTime = (text: unknown): string => {
  const [day, time = '00:00'] = String(text).split(/[T ]/);
  return `${day} ${time.length === 5 ? `${time}:00` : time}`;
};

/** The day of a date field, with its time where it has one. */
const dayOf = (value: unknown): string | undefined =>
  itemText(value)
    ?.replace('T', ' ')
    .replace(/ 00:00:00$/, '');

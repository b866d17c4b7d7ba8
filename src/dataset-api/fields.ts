// Node fields in the API's own structure: reads their items, and builds them from friendly keys in the shape of entity
// portals (spec 2.1 to 2.3, recorded-behaviour 8). The client's dialect turns that shape into the one of form portals.
import type { NodeFields, ResourceSource } from '../model/wish.ts';
import { isObject } from '../util/json.ts';
import type { DatasetMetadata, ResourceMetadata } from './metadata.ts';
import { frequencyCode } from './values.ts';

/** One value of a field: its properties by name. */
export type FieldItem = Record<string, unknown>;

/** The items of a field that is written as `{und: [{…}]}`; null for any other value. */
export const itemsOfField = (value: unknown): FieldItem[] | null => {
  const items = isObject(value) ? value.und : undefined;
  return Array.isArray(items) && items.every(isObject) ? items : null;
};

/** Machine names of the vocabularies whose terms are given by name. */
export type Vocabulary = 'tags' | 'format' | 'dkan_topics';

/** A term given by name; portals that accept names find or create the term (recorded-behaviour 8). */
export interface NamedTerm {
  tid: 'autocreate';
  name: string;
  vocabulary_machine_name: Vocabulary;
}

/** A field of terms by name: manifests name terms, the API expects their ids. */
const namedTerms = (vocabulary: Vocabulary, names: readonly string[]): { und: NamedTerm[] } => ({
  und: [...new Set(names)].map((name) => ({ tid: 'autocreate', name, vocabulary_machine_name: vocabulary })),
});

/** Node fields of a dataset. `fields` is merged last, so it overrides the friendly keys. */
export const datasetFields = (metadata: DatasetMetadata, fields: NodeFields = {}): NodeFields => ({
  ...body(metadata.description, metadata.summary),
  ...made('field_tags', metadata.tags, (names) => namedTerms('tags', names)),
  ...made('field_topic', metadata.topics, (names) => namedTerms('dkan_topics', names)),
  ...made('field_license', metadata.license, value),
  ...made('field_frequency', metadata.frequency, (text) => value(frequencyCode(text) ?? text)),
  ...made('field_contact_name', metadata.contact?.name, value),
  ...made('field_contact_email', metadata.contact?.email, value),
  ...made('field_author', metadata.author, value),
  ...made('field_public_access_level', metadata.access, value),
  ...made('field_rights', metadata.rights, value),
  ...made('field_spatial', metadata.spatial?.wkt, (wkt) => ({ und: [{ wkt }] })),
  ...made('field_spatial_geographical_cover', metadata.spatial?.label, value),
  ...made('field_temporal_coverage', metadata.temporal, ({ from, to }) => ({
    und: [{ value: dateTime(from), value2: dateTime(to ?? from) }],
  })),
  ...made('field_granularity', metadata.granularity, value),
  ...made('field_language', metadata.language, values),
  ...made('og_group_ref', metadata.groups, (groups) => ({
    und: groups.map((group) => (/^\d+$/.test(String(group)) ? { target_id: String(group) } : { title: String(group) })),
  })),
  ...made('field_landing_page', metadata.landingPage, link),
  ...made('field_additional_info', metadata.additionalInfo, (facts) => ({
    und: Object.entries(facts).map(([first, second]) => ({ first, second: String(second) })),
  })),
  ...made('field_data_dictionary', metadata.dataDictionary, value),
  ...made('field_data_dictionary_type', metadata.dataDictionaryType, value),
  ...made('field_conforms_to', metadata.conformsTo, link),
  ...made('field_is_part_of', metadata.isPartOf, value),
  ...made('field_related_content', metadata.relatedContent, (links) => ({
    und: links.map(({ title, url }) => ({ url, title })),
  })),
  ...made('field_pod_theme', metadata.themes, values),
  ...made('field_modified_source_date', metadata.modified, (day) => value(dateTime(day))),
  ...fields,
});

/**
 * Node fields of a resource, without its file and the reference to its dataset. An address (`link` or `api`) goes into
 * `field_link_api`, "API or Website URL": entity portals silently drop the other link field (recorded-behaviour 8). An
 * address that portals refuse is left out. `fields` is merged last.
 */
export const resourceFields = (
  metadata: ResourceMetadata,
  source: ResourceSource,
  fields: NodeFields = {},
): NodeFields => ({
  ...body(metadata.description),
  ...made('field_format', metadata.format, (name) => namedTerms('format', [name])),
  ...((source.kind === 'link' || source.kind === 'api') && isLinkable(source.url)
    ? { field_link_api: link(source.url) }
    : {}),
  ...fields,
});

/** True for an address that every portal accepts in a link field; any other may get the whole node refused. */
export const isLinkable = (url: string): boolean => url.length <= longestUrl && /^https?:\/\/[^\s<>"]+$/i.test(url);

const longestUrl = 2048;

/** One field, or none where the manifest gives no value for it. */
const made = <T>(name: string, from: T | undefined, make: (from: T) => unknown): NodeFields =>
  from === undefined ? {} : { [name]: make(from) };

const body = (description?: string, summary?: string): NodeFields => {
  if (description === undefined && summary === undefined) return {};
  const item = { value: description ?? '', ...(summary === undefined ? {} : { summary }), format: 'html' };
  return { body: { und: [item] } };
};

const value = (text: string): { und: { value: string }[] } => values([text]);
const values = (texts: readonly string[]): { und: { value: string }[] } => ({
  und: texts.map((text) => ({ value: text })),
});
const link = (url: string): { und: { url: string }[] } => ({ und: [{ url }] });

/** `2026-01-31` or `2026-01-31T09:30` as the date fields hold it: `2026-01-31 09:30:00`. */
const dateTime = (text: string): string => {
  const [day, time = '00:00'] = text.split(/[T ]/);
  return `${day} ${time.length === 5 ? `${time}:00` : time}`;
};

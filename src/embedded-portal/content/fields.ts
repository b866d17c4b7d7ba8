// The fields of datasets and resources as data (spec 2.1-2.3; values: recorded 15), and what a body says of them.
import { accessLevels, frequencies, licenses } from '../../dataset-api/values.ts';
import type { FieldItems, NodeType, StoredFile, StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { User } from '../store/users.ts';

/** `long` is formatted text, `period` a date with an end, `pair` two texts, `remote` a file elsewhere; see `kinds`. */
export type FieldKind =
  | ('body' | 'text' | 'long' | 'choice' | 'number' | 'date' | 'period' | 'link' | 'pair' | 'geo' | 'remote')
  | ('term' | 'node' | 'group' | 'file');

export interface Field {
  name: string;
  kind: FieldKind;
  many?: true;
  maxLength: number;
  /** Allowed values; absent: any. */
  options?: readonly string[];
  vocabulary?: 'tags' | 'format' | 'dkan_topics';
  target?: NodeType;
  initial?: string;
}

const field = (name: string, kind: FieldKind, rest: Partial<Field> = {}): Field => ({
  name,
  kind,
  maxLength: kind === 'text' ? 255 : 1_000_000,
  ...rest,
});

/** The name of a license; the code itself where it is unknown. */
export const licenseName = (code: string): string =>
  Object.entries(licenses).find(([known]) => known === code)?.[1] ?? code;

const frequencyCodes = frequencies.map(({ code }) => code);

const orphan = field('field_orphan', 'choice', { options: ['0', '1'], initial: '0' });
const groups = field('og_group_ref', 'group', { many: true, target: 'group' });

/** Fields of a dataset in the order of a read, as release B has them. */
export const datasetFields: readonly Field[] = [
  field('body', 'body'),
  field('field_additional_info', 'pair', { many: true }),
  field('field_author', 'text'),
  field('field_conforms_to', 'link'),
  field('field_contact_email', 'text'),
  field('field_contact_name', 'text'),
  field('field_data_dictionary', 'long'),
  field('field_data_dictionary_type', 'text'),
  field('field_frequency', 'choice', { options: frequencyCodes }),
  field('field_granularity', 'text'),
  field('field_harvest_source_issued', 'date'),
  field('field_harvest_source_modified', 'date'),
  field('field_harvest_source_ref', 'text'),
  field('field_is_part_of', 'text', { maxLength: 512 }),
  field('field_landing_page', 'link'),
  field('field_language', 'choice', { many: true }),
  field('field_license', 'text', { options: Object.keys(licenses), initial: 'notspecified' }),
  field('field_pod_theme', 'text', { many: true }),
  field('field_public_access_level', 'choice', { options: accessLevels, initial: 'public' }),
  field('field_related_content', 'link', { many: true }),
  field('field_resources', 'node', { many: true, target: 'resource' }),
  field('field_rights', 'text', { maxLength: 1_000_000 }),
  field('field_spatial', 'geo', { many: true }),
  field('field_spatial_geographical_cover', 'text'),
  field('field_tags', 'term', { many: true, vocabulary: 'tags' }),
  field('field_temporal_coverage', 'period'),
  groups,
  field('field_topic', 'term', { many: true, vocabulary: 'dkan_topics' }),
  orphan,
];

/** Fields of a resource in the order of a read, as release B has them. */
export const resourceFields: readonly Field[] = [
  field('field_datastore_status', 'number', { initial: '0' }),
  field('body', 'body'),
  field('field_dataset_ref', 'node', { many: true, target: 'dataset' }),
  field('field_format', 'term', { vocabulary: 'format' }),
  field('field_link_api', 'link'),
  field('field_link_remote_file', 'remote'),
  field('field_upload', 'file'),
  orphan,
  groups,
];

/**
 * The dataset fields as specified: one more than release B has; harvest sources are not nodes of this portal, and a
 * frequency may also be the integer of the editing form (spec 4.6).
 */
export const specifiedDatasetFields: readonly Field[] = datasetFields.flatMap((one) => {
  if (one.name === 'field_license') return [one, field('field_modified_source_date', 'date')];
  if (one.name === 'field_harvest_source_ref') return { ...one, kind: 'group' };
  const numbers = frequencies.flatMap(({ form }) => (form === null ? [] : String(form)));
  return one.name === 'field_frequency' ? { ...one, options: [...frequencyCodes, ...numbers] } : one;
});

export const otherFields: Readonly<Record<'group' | 'page', readonly Field[]>> = {
  group: [field('body', 'body'), field('group_group', 'number', { initial: '1' })],
  page: [field('body', 'body')],
};

export const isNodeType = (type: unknown): type is NodeType =>
  type === 'dataset' || type === 'resource' || type === 'group' || type === 'page';

/** What a body says about the fields of a node; what it does not mention is not there. */
export interface FieldChanges {
  /** Items by field; an empty list clears the field. References and files are kept beside the node. */
  items: FieldItems;
  /** Fields that stay empty although created nodes have a default for them. */
  undefaulted?: string[];
}

type CoreName = 'title' | 'uid' | 'status' | 'language' | 'created' | 'log' | 'promote' | 'sticky' | 'comment' | 'uuid';

/** Core properties of a node as a body sets them; all that it may have. Times are Unix seconds. */
export type CoreChanges = Partial<Pick<StoredNode, CoreName>> & {
  /** False: written over the current revision. */
  newRevision?: boolean;
};

export interface NodeChanges {
  core: CoreChanges;
  changes: FieldChanges;
  /** What is answered although the node is saved; null: success. */
  late?: Error | null;
}

/** What a reader of bodies may look at. It runs inside the write, so what it adds (terms) is undone when it throws. */
export interface ReadContext {
  store: Store;
  user: User;
  type: NodeType;
  /** The node as it is, null on create. */
  node: StoredNode | null;
  fields: readonly Field[];
  /** HTML of the long texts in the body. */
  rendered: ReadonlyMap<string, string>;
  /** Value of `field_datastore_status` as a read shows it. */
  shownStatus: string;
  /** Unix seconds. */
  now: number;
  /** The nodes and files that the caller may name; all of them where absent. */
  mayRefer?: (node: StoredNode) => boolean;
  mayUse?: (file: StoredFile) => boolean;
}

export type NodeReader = (body: Record<string, unknown>, context: ReadContext) => NodeChanges;

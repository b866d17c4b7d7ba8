// An exported node in the keys of a manifest, by `datasetValues`. Other fields are kept unchanged.
import {
  datasetFields,
  datasetValues,
  type FieldItem,
  fieldItems,
  isLinkable,
  itemText,
  resourceFields,
  tidsOf,
} from '../../dataset-api/fields.ts';
import {
  type DatasetMetadata,
  datasetMetadataFaults,
  datasetMetadataShape,
  type ResourceMetadata,
  resourceMetadataShape,
} from '../../dataset-api/metadata.ts';
import { keptFrequency } from '../../dataset-api/values.ts';
import type { NodeFields } from '../../model/wish.ts';
import { isObject } from '../../util/json.ts';
import type { DatasetRecord, ExportedNode, Finding } from './record.ts';

export interface Described<Metadata> {
  title: string;
  published: boolean;
  /** Everything that friendly keys can say, for people and catalogues. */
  shown: Partial<Metadata>;
  /** Those of the friendly keys that give exactly the portal's values again, … */
  metadata: Partial<Metadata>;
  /** … and what they do not give, as the API takes it. */
  fields: NodeFields;
  findings: Finding[];
}

type Names = Pick<DatasetRecord, 'terms' | 'groups'>;

/** Fields that a portal fills in itself, or that are written in another way than as a field. */
const ownFields = new Set(
  `field_resources field_dataset_ref field_upload field_link_remote_file field_datastore_status field_orphan
   field_harvest_source_ref field_harvest_source_issued field_harvest_source_modified field_tags field_topic field_format
   og_group_ref`.split(/\s+/),
);

export const describeDataset = (node: ExportedNode, names: Names): Described<DatasetMetadata> => {
  const findings: Finding[] = [];
  const shown = checked(
    datasetMetadataShape,
    datasetValues(node, {
      tags: termsOf(node, 'field_tags', names, findings),
      topics: termsOf(node, 'field_topic', names, findings),
      groups: targetsOf(node, 'og_group_ref').flatMap((nid) => {
        const message = `group ${nid} is not listed by the portal`;
        if (!names.groups[nid]) findings.push({ code: 'group-unknown', message });
        return names.groups[nid] ?? [];
      }),
    }),
  );
  const faulty = new Set(datasetMetadataFaults(shown).map(({ path }) => path[0]));
  const sound = Object.fromEntries(Object.entries(shown).filter(([key]) => !faulty.has(key)));
  return { ...common(node, findings), shown, ...split(node, sound, (metadata) => datasetFields(metadata)), findings };
};

/** A resource in the keys of a manifest; `link` is the address that it consists of, '' for one with a file. */
export const describeResource = (node: ExportedNode, names: Names, link: string): Described<ResourceMetadata> => {
  const findings: Finding[] = [];
  const [format] = termsOf(node, 'field_format', names, findings);
  const shown = checked(resourceMetadataShape, { description: firstOf(node, 'body', 'value'), format });
  const source = link === '' ? ({ kind: 'file', path: '', name: '' } as const) : ({ kind: 'link', url: link } as const);
  const parts = split(node, shown, (metadata) => resourceFields(metadata, source));
  return { ...common(node, findings), shown, ...parts, findings };
};

/** The addresses that a resource consists of, by the field in which they stand. */
export const linksOf = (node: ExportedNode): { api: string | undefined; remote: string | undefined } => ({
  api: firstOf(node, 'field_link_api', 'url'),
  remote: firstOf(node, 'field_link_remote_file', 'uri') ?? firstOf(node, 'field_link_remote_file', 'url'),
});

/** The address that a resource consists of, in whichever field it stands; '' where there is none. */
export const linkOf = (node: ExportedNode): string => {
  const { api, remote } = linksOf(node);
  return api ?? remote ?? '';
};

/** An uploaded file; `version` is another one for another file. */
export type Upload = { name: string; uri: string; bytes: number; version: string };

export const uploadOf = (node: Readonly<Record<string, unknown>>): Upload | null => {
  const [item] = fieldItems(node, 'field_upload');
  const [uri, filename] = [itemText(item?.uri), itemText(item?.filename)];
  if (item === undefined || (uri === undefined && filename === undefined)) return null;
  const name = filename ?? uri?.split('/').at(-1) ?? 'file';
  const version = [item.fid, item.uri, item.filesize, item.timestamp].map(String).join(' ');
  return { name, uri: uri ?? '', bytes: Number(item.filesize), version };
};

export const targetsOf = (node: Readonly<Record<string, unknown>>, field: string): string[] => [
  ...new Set(fieldItems(node, field).flatMap(({ target_id }) => (target_id ? [String(target_id)] : []))),
];

const common = (node: ExportedNode, findings: Finding[]): { title: string; published: boolean } => {
  const plain = node.title.replaceAll(/\s+/g, ' ').trim();
  if (plain === '') findings.push({ code: 'no-title', message: `node ${node.nid} has no title` });
  const title = [...(plain || `Untitled ${node.nid}`)].slice(0, 255).join('');
  if (plain !== '' && title !== node.title) {
    const message = `is called "${title}" in manifest.yaml, which keeps no other spaces`;
    findings.push({ code: 'title-changed', message });
  }
  const published = String(node.status) === '1';
  if (!published) findings.push({ code: 'draft', message: 'is not published; it is exported as a draft' });
  return { title, published };
};

type Shape = Record<string, { safeParse(value: unknown): { success: boolean; data?: unknown } }>;

/** Those values that a manifest takes; of a mapping or list those parts. */
const checked = <S extends Shape>(shape: S, values: Record<string, unknown>): Record<string, never> => {
  const sound = Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    if (isObject(value) && Object.keys(value).length === 0) return [];
    const whole = shape[key]?.safeParse(value);
    if (whole?.success) return [[key, whole.data]];
    if (!isObject(value)) return [];
    const parts = Object.entries(value).filter(([name, part]) => shape[key]?.safeParse({ [name]: part }).success);
    return parts.length > 0 ? [[key, Object.fromEntries(parts)]] : [];
  });
  return Object.fromEntries(sound);
};

/** Keeps of the metadata what gives the values of the node again, and adds what it does not give as fields. */
const split = <Metadata extends object>(
  node: ExportedNode,
  shown: Metadata,
  make: (metadata: Metadata) => NodeFields,
): { metadata: Metadata; fields: NodeFields } => {
  const made = make(shown);
  const fields = unsaid(node, made);
  const isWrong = (key: string): boolean => {
    const { [key as keyof Metadata]: _left, ...rest } = shown;
    const without = make(rest as Metadata); // all keys are optional
    return Object.keys(fields).some((name) => JSON.stringify(made[name]) !== JSON.stringify(without[name]));
  };
  const metadata = Object.fromEntries(Object.entries(shown).filter(([key]) => !isWrong(key))) as Metadata; // as above
  return { metadata, fields: unsaid(node, make(metadata)) };
};

/** The fields of a node whose values are not among those made. */
const unsaid = (node: ExportedNode, made: NodeFields): NodeFields => {
  const fields: NodeFields = {};
  for (const name of Object.keys(node)) {
    if (ownFields.has(name) || !(name === 'body' || name.startsWith('field_'))) continue;
    const items = fieldItems(node, name)
      .map(inputOf)
      .filter((item) => Object.keys(item).length > 0);
    if (items.length > 0 && !isSame(name, items, fieldItems(made, name).map(inputOf))) fields[name] = { und: items };
  }
  return fields;
};

/** What of an item is input; everything else is computed by the portal. */
const inputOf = (item: FieldItem): FieldItem =>
  Object.fromEntries(
    Object.entries(item).filter(
      ([key, value]) =>
        !computed.has(key) && value !== null && value !== undefined && value !== '' && typeof value !== 'object',
    ),
  );

const computed = new Set(
  `safe_value safe_summary attributes original_url original_title timezone timezone_db date_type db geo_type lat lon left
   top right bottom srid accuracy source geom geohash tid_name vid vocabulary_machine_name display`.split(/\s+/),
);

const isSame = (name: string, items: FieldItem[], made: FieldItem[]): boolean =>
  items.length === made.length && items.every((item, index) => sameText(name, item) === sameText(name, made[index]));

const sameText = (name: string, item: FieldItem = {}): string => {
  const entries = Object.entries(item).map(([key, value]): [string, string] => {
    const text = String(value).replaceAll('\r\n', '\n');
    if (name === 'field_frequency') return [key, keptFrequency(text) ?? text];
    return [key, text.replace(/^(\d{4}-\d\d-\d\d)T/, '$1 ')];
  });
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
};

const firstOf = (node: ExportedNode, field: string, property: string): string | undefined =>
  itemText(fieldItems(node, field)[0]?.[property]);

const termsOf = (node: ExportedNode, field: string, { terms }: Names, findings: Finding[]): string[] =>
  tidsOf(node, field).flatMap((tid) => {
    const message = `term ${tid} in ${field} has no name that the portal shows, as one in a wrong vocabulary`;
    if (!terms[tid]) findings.push({ code: 'term-unknown', message });
    return terms[tid] ?? [];
  });

/** True for an address that a link of a manifest takes. */
export const isLink = (url: string): boolean => isLinkable(url) && URL.canParse(url);

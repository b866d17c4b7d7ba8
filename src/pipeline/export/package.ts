// An exported dataset as a Frictionless data package, as an entry of a DCAT-US 1.1 catalogue, and as one of a manifest.

import { fieldItems } from '../../dataset-api/fields.ts';
import { contentTypeOf, extensionOf } from '../../dataset-api/file-types.ts';
import type { DatasetMetadata } from '../../dataset-api/metadata.ts';
import { catalogueAccess, frequencyCode, licenseAddress, licenses } from '../../dataset-api/values.ts';
import type { ImportMode } from '../../model/policy.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import { defined } from '../../util/json.ts';
import { describeDataset, describeResource, isLink, linkOf, uploadOf } from './describe.ts';
import { datasetsName } from './folder.ts';
import type { DatasetRecord, ExportedNode, ExportedResource, Finding } from './record.ts';

/** What is said of the portal that was exported. */
export interface ExportedPortal {
  name: string;
  /** Address of a file by its `uri`; null where it has none. */
  fileUrl: (uri: string) => string | null;
}

/** The `datapackage.json` of a dataset; `name` is that of its folder. */
export const packageOf = (name: string, record: DatasetRecord, portal: ExportedPortal): Record<string, unknown> => {
  const { node } = record;
  const about = node ? describedPackage(node, record) : { title: 'Resource without a dataset' };
  const resources = record.resources.map((resource) => packageResource(resource, record, portal));
  return defined({
    profile: 'data-package',
    name,
    ...about,
    // A package has at least one resource.
    resources: resources.length > 0 ? resources : [{ name: 'no-resources', data: [] }],
    sluice: record,
  });
};

const describedPackage = (node: ExportedNode, record: DatasetRecord): Record<string, unknown> => {
  const { title, shown } = describeDataset(node, record);
  const { license, contact, author } = shown;
  const contributors = [
    ...(author === undefined ? [] : [{ title: author, role: 'author' }]),
    ...(contact?.name === undefined
      ? []
      : [defined({ title: contact.name, email: contact.email, role: 'maintainer' })]),
  ];
  return {
    id: node.uuid,
    title,
    description: shown.description,
    homepage: addressOf(node.path),
    created: momentOf(node.created),
    keywords: listOf(shown.tags),
    licenses: license === undefined ? undefined : [{ name: license, title: licenses[license] }],
    contributors: listed(contributors),
  };
};

const packageResource = (
  resource: ExportedResource,
  record: DatasetRecord,
  portal: ExportedPortal,
): Record<string, unknown> => {
  const { name, node, file, table } = resource;
  const { title, shown } = describeResource(node, record, linkOf(node));
  const columns = [...new Set(table?.columns ?? [])];
  return defined({
    name,
    title,
    description: shown.description,
    format: shown.format,
    ...(file === null
      ? placeOf(remoteFile(resource, portal) ?? linkOf(node))
      : {
          path: file.path,
          mediatype: contentTypeOf(file.name),
          bytes: file.bytes,
          hash: `sha256:${file.sha256}`,
        }),
    schema: columns.length === 0 ? undefined : { fields: columns.map((column) => ({ name: column, type: 'string' })) },
  });
};

/** The specification allows no path with two points in a row. */
const placeOf = (link: string): Record<string, unknown> =>
  isLink(link) && !link.includes('..') ? { path: link } : { data: link === '' ? [] : { url: link } };

/** Everything odd about a dataset and its resources. */
export const findingsOf = (
  record: DatasetRecord,
  portal: ExportedPortal,
): (Finding & { resource: string | null })[] => {
  if (record.removed !== null) return [];
  const ofDataset = record.node ? describeDataset(record.node, record).findings : [];
  const all = [...record.findings, ...ofDataset].map((finding) => ({ ...finding, resource: null as string | null }));
  for (const resource of record.resources) {
    const { findings } = describeResource(resource.node, record, linkOf(resource.node));
    const lacks = sourceOf('', resource, portal) === null && record.node !== null ? [manifestLacks(resource)] : [];
    all.push(
      ...[...resource.findings, ...findings, ...lacks].map((finding) => ({ ...finding, resource: resource.name })),
    );
  }
  return all.map((finding) => ({ ...finding, message: lineOf(finding.message) }));
};

/** A portal decides what its names are made of, and how long they are. */
const lineOf = (message: string): string => [...message.replaceAll(/\p{C}+/gu, '_')].slice(0, longestMessage).join('');

const longestMessage = 500;

const manifestLacks = ({ node }: ExportedResource): Finding => {
  const link = linkOf(node);
  const none = uploadOf(node) === null ? 'it has neither file nor link' : 'its file could not be exported';
  const what = link === '' ? none : `a manifest cannot have a link such as ${link.slice(0, 200)}`;
  return { code: 'manifest-lacks', message: `is not in manifest.yaml: ${what}` };
};

/** A dataset as it is in a manifest; null for one that cannot, or is gone. */
export const manifestEntry = (
  folder: string,
  record: DatasetRecord,
  portal: ExportedPortal,
): Record<string, unknown> | null => {
  const { node, removed } = record;
  if (node === null || removed !== null) return null;
  const { title, published, metadata, fields } = describeDataset(node, record);
  const resources = record.resources.flatMap((resource) => manifestResource(folder, resource, record, portal) ?? []);
  return defined({
    id: folder,
    title,
    ...metadata,
    published: published ? undefined : false,
    fields: Object.keys(fields).length > 0 ? fields : undefined,
    resources: resources.length > 0 ? resources : undefined,
  });
};

const manifestResource = (
  folder: string,
  resource: ExportedResource,
  record: DatasetRecord,
  portal: ExportedPortal,
): Record<string, unknown> | null => {
  const source = sourceOf(folder, resource, portal);
  if (source === null) return null;
  const { title, published, metadata, fields } = describeResource(resource.node, record, source.link ?? '');
  return defined({
    id: resource.name,
    title,
    ...source,
    ...metadata,
    published: published ? undefined : false,
    import: source.link === undefined ? importOf(resource) : undefined,
    fields: Object.keys(fields).length > 0 ? fields : undefined,
  });
};

/** Files other than tables would be made into tables, and one that the portal has not imported would be imported. */
const importOf = ({ node, table, findings }: ExportedResource): ImportMode | undefined => {
  if (findings.some(({ code }) => code === 'file-faulty')) return 'unchecked';
  return table !== null && isTabular(uploadOf(node)?.name ?? '') ? undefined : 'never';
};

/** A file that was left out is fetched from where it is. */
const sourceOf = (
  folder: string,
  resource: ExportedResource,
  portal: ExportedPortal,
): { file?: string; url?: string; link?: string } | null => {
  const { node, file } = resource;
  if (file !== null) return { file: `${datasetsName}/${folder}/${file.path}` };
  const url = remoteFile(resource, portal);
  if (url !== null) return { url };
  const link = linkOf(node);
  return isLink(link) ? { link } : null;
};

/** Address of a file that was not requested; null for one that was, or is none. */
const remoteFile = ({ node, file, findings }: ExportedResource, { fileUrl }: ExportedPortal): string | null => {
  const upload = file === null && findings.every(({ code }) => !code.startsWith('file-')) ? uploadOf(node) : null;
  return upload && fileUrl(upload.uri);
};

/** A dataset as an entry of a catalogue; null for one that is not public. */
export const catalogueEntry = (record: DatasetRecord, portal: ExportedPortal): Record<string, unknown> | null => {
  const { node, removed } = record;
  if (node === null || removed !== null || String(node.status) !== '1') return null;
  const { title, shown } = describeDataset(node, record);
  const { tags = [], topics = [], themes = [], groups = [] } = shown;
  return defined({
    '@type': 'dcat:Dataset',
    identifier: node.uuid || node.nid,
    title,
    description: shown.description ?? title,
    keyword: listOf([...tags, ...topics, ...themes]) ?? ['data'],
    modified: (shown.modified ?? momentOf(node.changed) ?? '1970-01-01').replace(' ', 'T'),
    issued: momentOf(node.created),
    publisher: { '@type': 'org:Organization', name: groups.join(', ') || portal.name },
    contactPoint: contactOf(shown, portal),
    // A level that is not known is none that opens anything.
    accessLevel: shown.access ? catalogueAccess[shown.access] : isSaid(node) ? 'non-public' : 'public',
    ...optionalKeys(shown),
    landingPage: addressOf(shown.landingPage) ?? addressOf(node.path),
    distribution: listed(record.resources.flatMap((resource) => distributionOf(resource, record, portal) ?? [])),
  });
};

const optionalKeys = (shown: Partial<DatasetMetadata>): Record<string, unknown> => ({
  rights: shown.rights,
  license: shown.license && licenseAddress(shown.license),
  accrualPeriodicity: shown.frequency && frequencyCode(shown.frequency),
  spatial: shown.spatial?.wkt ?? shown.spatial?.label,
  temporal: shown.temporal && period(shown.temporal),
  language: shown.language,
  theme: listOf(shown.themes),
  conformsTo: addressOf(shown.conformsTo),
  isPartOf: shown.isPartOf,
  references: listOf(shown.relatedContent?.flatMap(({ url }) => addressOf(url) ?? [])),
  describedBy: addressOf(shown.dataDictionary),
  describedByType: mediaType.test(shown.dataDictionaryType ?? '') ? shown.dataDictionaryType : undefined,
});

const isSaid = (node: ExportedNode): boolean => fieldItems(node, 'field_public_access_level').length > 0;

/** The schema of catalogues wants a name and an address, whatever the portal knows. */
const contactOf = ({ contact, author }: Partial<DatasetMetadata>, portal: ExportedPortal): Record<string, string> => ({
  '@type': 'vcard:Contact',
  fn: contact?.name ?? author ?? portal.name,
  hasEmail: `mailto:${contact?.email ?? 'unknown@example.org'}`,
});

const distributionOf = (
  { node, file }: ExportedResource,
  record: DatasetRecord,
  { fileUrl }: ExportedPortal,
): Record<string, unknown> | null => {
  if (String(node.status) !== '1') return null;
  const { title, shown } = describeResource(node, record, linkOf(node));
  const upload = uploadOf(node);
  const downloadURL = upload && fileUrl(upload.uri);
  const link = linkOf(node);
  if (downloadURL === null && !isLink(link)) return null;
  return defined({
    '@type': 'dcat:Distribution',
    title,
    description: shown.description,
    format: shown.format ?? (extensionOf(file?.name ?? '') || undefined),
    ...(downloadURL === null
      ? { accessURL: addressOf(link) }
      : { downloadURL, mediaType: contentTypeOf(upload?.name ?? '') }),
  });
};

const period = ({ from, to }: { from: string; to?: string | undefined }): string =>
  [from, to ?? from].map((day) => day.replace(' ', 'T')).join('/');

/** A web address as RFC 3986 has it: browsers take more, such as brackets in a query. */
const addressOf = (text: unknown): string | undefined => {
  if (typeof text !== 'string' || !isLink(text)) return undefined;
  const { href, host } = new URL(text);
  const start = href.indexOf(host) + host.length;
  const rest = href.slice(start).replaceAll(/[[\]|^`{}<>"\\]|%(?![0-9a-f]{2})/gi, encodeURIComponent);
  return href.slice(0, start) + rest;
};

/** Values once each; undefined for none. */
const listOf = (values: readonly string[] = []): string[] | undefined => listed([...new Set(values)]);

const listed = <T>(values: T[]): T[] | undefined => (values.length > 0 ? values : undefined);

const mediaType = /^[-\w]+\/[-\w]+(?:\.[-\w]+)*(?:[+][-\w]+)?$/;

/** Unix seconds as ISO 8601. */
const momentOf = (seconds: unknown): string | undefined => {
  const value = Number(seconds);
  return value > 0 && value < 8e12 / 1000 ? new Date(value * 1000).toISOString().replace('.000Z', 'Z') : undefined;
};

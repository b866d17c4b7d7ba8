// An exported dataset as a Frictionless data package, and as an entry of a manifest.
import { contentTypeOf } from '../../dataset-api/file-types.ts';
import type { DatasetMetadata, ResourceMetadata } from '../../dataset-api/metadata.ts';
import { licenses } from '../../dataset-api/values.ts';
import type { ImportMode } from '../../model/policy.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { Portal } from '../../portal-client/client.ts';
import { defined, unlessEmpty } from '../../util/json.ts';
import {
  type Described,
  describeDataset,
  describeResource,
  isLink,
  linkOf,
  type Upload,
  uploadOf,
} from './describe.ts';
import { datasetsName } from './folder.ts';
import type { DatasetRecord, ExportedNode, ExportedResource, Finding } from './record.ts';

export type Entry = Record<string, unknown>;

export type ExportedPortal = Pick<Portal, 'name' | 'fileUrl'>;

/** A resource, described once for every file that names it. */
export interface ResourceView extends ExportedResource {
  upload: Upload | null;
  link: string;
  /** Where a manifest has it from; a file that was left out is fetched from where it is. Null where it has it from nowhere. */
  source: { file?: string; url?: string; link?: string } | null;
  described: Described<ResourceMetadata>;
}

/** A dataset and its resources, described once for every file that names them; `dataset` is null for resources without one. */
export interface DatasetView {
  folder: string;
  record: DatasetRecord;
  dataset: (Described<DatasetMetadata> & { node: ExportedNode }) | null;
  resources: ResourceView[];
}

export const viewOf = (folder: string, record: DatasetRecord, portal: ExportedPortal): DatasetView => ({
  folder,
  record,
  dataset: record.node && { ...describeDataset(record.node, record), node: record.node },
  resources: record.resources.map((resource) => {
    const { node, file, findings } = resource;
    const [upload, link] = [uploadOf(node), linkOf(node)];
    const isLeftOut = file === null && findings.every(({ code }) => !code.startsWith('file-'));
    const url = isLeftOut && upload ? portal.fileUrl(upload.uri) : null;
    const elsewhere = isLink(link) ? { link } : null;
    const here = file && { file: `${datasetsName}/${folder}/${file.path}` };
    const source: ResourceView['source'] = here ?? (url === null ? elsewhere : { url });
    return { ...resource, upload, link, source, described: describeResource(node, record, source?.link ?? '') };
  }),
});

/** The `datapackage.json` of a dataset; `name` is that of its folder. */
export const packageOf = (name: string, record: DatasetRecord, portal: ExportedPortal): Entry => {
  const { dataset, resources } = viewOf(name, record, portal);
  return defined({
    profile: 'data-package',
    name,
    ...(dataset ? describedPackage(dataset) : { title: 'Resource without a dataset' }),
    // A package has at least one resource.
    resources: unlessEmpty(resources.map(packageResource)) ?? [{ name: 'no-resources', data: [] }],
    sluice: record,
  });
};

const describedPackage = ({ node, title, shown }: NonNullable<DatasetView['dataset']>): Entry => {
  const { license, contact, author } = shown;
  const contributors = [
    { title: author, role: 'author' },
    { title: contact?.name, email: contact?.email, role: 'maintainer' },
  ];
  return {
    id: node.uuid,
    title,
    description: shown.description,
    homepage: addressOf(node.path),
    created: momentOf(node.created),
    keywords: listOf(shown.tags),
    licenses: license === undefined ? undefined : [{ name: license, title: licenses[license] }],
    contributors: unlessEmpty(contributors.filter((each) => each.title !== undefined).map(defined)),
  };
};

const packageResource = ({ name, file, table, source, link, described }: ResourceView): Entry => {
  const columns = [...new Set(table?.columns ?? [])].map((column) => ({ name: column, type: 'string' }));
  return defined({
    name,
    title: described.title,
    description: described.shown.description,
    format: described.shown.format,
    ...(file === null
      ? placeOf(source?.url ?? link)
      : {
          path: file.path,
          mediatype: contentTypeOf(file.name),
          bytes: file.bytes,
          hash: `sha256:${file.sha256}`,
        }),
    schema: columns.length === 0 ? undefined : { fields: columns },
  });
};

/** The specification allows no path with two points in a row. */
const placeOf = (link: string): Entry =>
  isLink(link) && !link.includes('..') ? { path: link } : { data: link === '' ? [] : { url: link } };

/** Everything odd about a dataset (`resource` is null), and about its resources by name. */
export const findingsOf = (view: DatasetView): (Finding & { resource: string | null })[] => {
  const { record, dataset, resources } = view;
  if (record.removed !== null) return [];
  const all = [
    ...[...record.findings, ...(dataset?.findings ?? [])].map((finding) => ({ ...finding, resource: null })),
    ...resources.flatMap((resource) => {
      const lacks = resource.source === null && dataset !== null ? [manifestLacks(resource)] : [];
      const found = [...resource.findings, ...resource.described.findings, ...lacks];
      return found.map((finding) => ({ ...finding, resource: resource.name }));
    }),
  ];
  // A portal decides what its names are made of, and how long they are.
  return all.map((finding) => ({ ...finding, message: [...printable(finding.message)].slice(0, 500).join('') }));
};

/** A text that may hold names of the portal, without what a terminal would obey. */
export const printable = (message: string): string => message.replaceAll(/\p{C}+/gu, '_');

const manifestLacks = ({ link, upload }: ResourceView): Finding => {
  const none = upload === null ? 'it has neither file nor link' : 'its file could not be exported';
  const what = link === '' ? none : `a manifest cannot have a link such as ${link.slice(0, 200)}`;
  return { code: 'manifest-lacks', message: `is not in manifest.yaml: ${what}` };
};

/** A dataset as it is in a manifest; null for one that cannot, or is gone. */
export const manifestEntry = ({ folder, record, dataset, resources }: DatasetView): Entry | null => {
  if (dataset === null || record.removed !== null) return null;
  return defined({
    id: folder,
    title: dataset.title,
    ...dataset.metadata,
    ...keptParts(dataset),
    resources: unlessEmpty(resources.flatMap((resource) => manifestResource(resource) ?? [])),
  });
};

const manifestResource = (resource: ResourceView): Entry | null => {
  const { name, source, described } = resource;
  if (source === null) return null;
  const { published, fields } = keptParts(described);
  return defined({
    id: name,
    title: described.title,
    ...source,
    ...described.metadata,
    published,
    import: source.link === undefined ? importOf(resource) : undefined,
    fields,
  });
};

/** What friendly keys do not say. */
const keptParts = ({ published, fields }: Described<object>): { published?: false; fields?: NodeFields } => ({
  ...(published ? {} : { published }),
  ...(Object.keys(fields).length > 0 ? { fields } : {}),
});

/** Files other than tables would be made into tables, and one that the portal has not imported would be imported. */
const importOf = ({ upload, table, findings }: ResourceView): ImportMode | undefined => {
  if (findings.some(({ code }) => code === 'file-faulty')) return 'unchecked';
  return table !== null && isTabular(upload?.name ?? '') ? undefined : 'never';
};

/** A web address as RFC 3986 has it: browsers take more, such as brackets in a query. */
export const addressOf = (text: unknown): string | undefined => {
  if (typeof text !== 'string' || !isLink(text)) return undefined;
  const { href, host } = new URL(text);
  const start = href.indexOf(host) + host.length;
  const rest = href.slice(start).replaceAll(/[[\]|^`{}<>"\\]|%(?![0-9a-f]{2})/gi, encodeURIComponent);
  return href.slice(0, start) + rest;
};

/** Values once each; undefined for none. */
export const listOf = (values: readonly string[] = []): string[] | undefined => unlessEmpty([...new Set(values)]);

/** Unix seconds as ISO 8601. */
export const momentOf = (seconds: unknown): string | undefined => {
  const value = Number(seconds);
  return value > 0 && value < 8e12 / 1000 ? new Date(value * 1000).toISOString().replace('.000Z', 'Z') : undefined;
};

// A dataset in the catalogues of a site: as a package of CKAN, and as an entry of data.json.
import { createHash } from 'node:crypto';
import { licenseName } from '../content/fields.ts';
import { textOf, vocabularyIds } from '../content/items.ts';
import { fileUrl, publicPath, termsOf } from '../content/view.ts';
import type { Call } from '../portal.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { Term } from '../store/terms.ts';

/** The uuid of a term: made of its number, so that it stays. */
const termUuid = ({ tid }: Term): string => {
  const hex = createHash('sha256').update(`term ${tid}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** `Sun, 11/22/2026 - 22:16` in UTC. */
const moment = (seconds: number): string => {
  const date = new Date(seconds * 1000);
  const [year, month, day] = date.toISOString().slice(0, 10).split('-');
  return `${date.toUTCString().slice(0, 3)}, ${month}/${day}/${year} - ${date.toISOString().slice(11, 16)}`;
};

const day = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** `16 bytes`, `4.78 KB`. */
const sizeOf = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} bytes`;
  const isKilo = bytes < 1024 * 1024;
  return `${Number((bytes / (isKilo ? 1024 : 1024 * 1024)).toFixed(2))} ${isKilo ? 'KB' : 'MB'}`;
};

const first = (node: StoredNode, field: string, property = 'value'): string =>
  textOf(node.fields[field]?.[0]?.[property]) ?? '';

/** The same without the keys that say nothing. */
const filled = (entries: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== '' && (!Array.isArray(value) || value.length > 0)),
  );

const addressOf = (call: Call, node: StoredNode, file: StoredFile | undefined): string => {
  if (file !== undefined) return fileUrl(file, call.baseUrl);
  return first(node, 'field_link_api', 'url') || first(node, 'field_link_remote_file', 'uri');
};

const resourcesOf = ({ portal }: Call, node: StoredNode): StoredNode[] =>
  portal.store.nodes.targets(node.nid).flatMap((nid) => {
    const resource = portal.store.nodes.byNid(nid);
    return resource?.type === 'resource' && resource.status === 1 ? [resource] : [];
  });

/** The name of a dataset: the end of its public address. */
export const nameOf = ({ alias, nid }: StoredNode): string => alias?.split('/').at(-1) ?? `node-${nid}`;

const packageResource = (call: Call, node: StoredNode): Record<string, unknown> => {
  const [file] = call.portal.store.files.ofNode(node.nid);
  const format = termsOf(call.portal, node, 'field_format')[0]?.name ?? '';
  return {
    id: node.uuid,
    revision_id: '',
    url: addressOf(call, node, file),
    description: first(node, 'body', 'safe_value'),
    format,
    state: 'Active',
    revision_timestamp: moment(node.changed),
    name: node.title,
    mimetype: file?.filemime ?? '',
    size: file === undefined ? '' : sizeOf(file.filesize),
    created: moment(node.created),
    resource_group_id: '',
    last_modified: `Date changed  ${moment(node.changed)}`,
  };
};

/** A dataset as CKAN shows it. */
export const packageOf = (call: Call, node: StoredNode): Record<string, unknown> => ({
  ...filled({
    id: node.uuid,
    name: nameOf(node),
    title: node.title,
    author: first(node, 'field_contact_name'),
    author_email: first(node, 'field_contact_email'),
    maintainer: call.portal.profile.siteName,
    license_title: licenseName(first(node, 'field_license')),
    notes: first(node, 'body', 'safe_value'),
    url: publicPath(node, call.baseUrl),
    state: 'Active',
    log_message: node.log,
    private: true,
    revision_timestamp: moment(node.changed),
    metadata_created: moment(node.created),
    metadata_modified: moment(node.changed),
    creator_user_id: call.portal.store.users.byUid(node.uid)?.uuid ?? '',
    type: 'Dataset',
  }),
  resources: resourcesOf(call, node).map((resource) => packageResource(call, resource)),
  ...filled({
    tags: termsOf(call.portal, node, 'field_tags').map((term) => ({
      id: termUuid(term),
      vocabulary_id: vocabularyIds[term.vocabulary] ?? term.vocabulary,
      name: term.name,
    })),
    extras: (node.fields.field_additional_info ?? []).map((item) => ({ key: item.first, value: item.second })),
  }),
});

const distributionOf = (call: Call, node: StoredNode): Record<string, unknown> => {
  const [file] = call.portal.store.files.ofNode(node.nid);
  const address = addressOf(call, node, file);
  const place = file === undefined ? { accessURL: address } : { downloadURL: address, mediaType: file.filemime };
  const description = first(node, 'body', 'safe_value');
  return filled({ '@type': 'dcat:Distribution', ...place, description, title: node.title });
};

/** A dataset as an entry of `data.json`. */
export const entryOf = (call: Call, node: StoredNode): Record<string, unknown> => {
  // Deployed portals list them by name.
  const tags = termsOf(call.portal, node, 'field_tags')
    .map(({ vocabulary, name }) => (vocabulary === 'tags' ? name : ''))
    .sort((a, b) => a.localeCompare(b, 'en'));
  const email = first(node, 'field_contact_email') || 'noemailprovided@usa.gov';
  const author = call.portal.store.users.byUid(node.uid)?.name ?? '';
  const period = [first(node, 'field_temporal_coverage'), first(node, 'field_temporal_coverage', 'value2')];
  return filled({
    '@type': 'dcat:Dataset',
    accessLevel: first(node, 'field_public_access_level'),
    rights: first(node, 'field_rights'),
    accrualPeriodicity: first(node, 'field_frequency'),
    contactPoint: { fn: first(node, 'field_contact_name') || author, hasEmail: `mailto:${email}` },
    description: first(node, 'body', 'safe_value'),
    distribution: resourcesOf(call, node).map((resource) => distributionOf(call, resource)),
    identifier: node.uuid,
    issued: day(node.created),
    keyword: tags,
    landingPage: first(node, 'field_landing_page', 'url') || publicPath(node, call.baseUrl),
    license: first(node, 'field_license'),
    modified: day(node.changed),
    publisher: { '@type': 'org:Organization', name: call.portal.profile.siteName },
    spatial: first(node, 'field_spatial', 'wkt'),
    theme: termsOf(call.portal, node, 'field_topic').map(({ name }) => name),
    temporal: period[0] === '' ? '' : period.map((date) => `${date?.replace(' ', 'T')}+00:00`).join('/'),
    title: node.title,
  });
};

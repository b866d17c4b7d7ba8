// What a site publishes of its datasets beside the service, as deployed portals do: package_show, lists and data.json.
import { createHash, randomUUID } from 'node:crypto';
import { slugOf } from '../../dataset-api/names.ts';
import { type Answer, redirectTo } from '../answer.ts';
import { licenseName } from '../content/fields.ts';
import { textOf, vocabularyIds } from '../content/items.ts';
import { fileUrl, publicPath, termsOf } from '../content/view.ts';
import { escapeUnit } from '../media/value.ts';
import type { Call } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { StoredFile, StoredNode } from '../store/nodes.ts';
import type { Term } from '../store/terms.ts';

const encode = (value: unknown): string =>
  JSON.stringify(value).replace(/[/<>&'\u0080-\uffff]/g, (char) => (char === '/' ? '\\/' : escapeUnit(char)));

const jsonAnswer = (body: string, status = 200): Answer => ({ status, contentType: 'application/json', body });

export const answerOf = (value: unknown, status = 200): Answer => jsonAnswer(encode(value), status);

/** Most text of a catalogue, in characters; what is longer would end the process rather than be sent. */
const longestCatalogue = 100_000_000;

/** The catalogue; it is whole or none (null), because whoever harvests it takes down what it lacks. */
const catalogue: List = (call, page) => {
  const entries: string[] = [];
  let length = 0;
  for (const node of published(call, 'dataset', page)) {
    const entry = encode(entryOf(call, node));
    length += entry.length + 1;
    if (length > longestCatalogue) return null;
    entries.push(entry);
  }
  const head = encode({
    '@context': 'https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld',
    '@id': `${call.baseUrl}/data.json`,
    '@type': 'dcat:Catalog',
    conformsTo: 'https://project-open-data.cio.gov/v1.1/schema',
    describedBy: 'https://project-open-data.cio.gov/v1.1/schema/catalog.json',
  });
  return `${head.slice(0, -1)},"dataset":[${entries.join(',')}]}`;
};

/** A part of the list of all datasets. */
const allOfThem = { limit: -1, offset: 0 };

type Page = typeof allOfThem;

function* published({ portal: { store } }: Call, type: string, page: Page = allOfThem): Generator<StoredNode> {
  const sql = 'SELECT nid FROM node WHERE type = ? AND status = 1 ORDER BY nid LIMIT ? OFFSET ?';
  for (const { nid } of store.nodes.list(sql, [type, page.limit, page.offset])) {
    const node = store.nodes.byNid(Number(nid));
    if (node !== null) yield node;
  }
}

const success = (help: string, result: unknown): Record<string, unknown> => ({ help, success: true, result });

const packagePath = '/api/3/action/package_show';

const shownPackage = (call: Call): Answer => {
  const help = 'The metadata of a dataset and its resources. :param id: uuid of the dataset';
  const answer = (result: unknown, status?: number): Answer => answerOf(success(help, [result]), status);
  const id = textOf(call.query.id) ?? '';
  if (id === '') return answer({ __type: 'Validation Error', name_or_id: ['Missing Value'] }, 400);
  const node = call.portal.store.nodes.byUuid(id);
  if (node?.type === 'dataset' && node.status === 1) return answer(packageOf(call, node));
  return answer({ __type: 'Query Error', name_or_id: `Query '${id}' doesn't return results` }, 404);
};

/** The text of a list; null where it is too long. It is the same for everybody. */
type List = (call: Call, page: Page) => string | null;

const namesOf =
  (type: 'dataset' | 'group'): List =>
  (call) =>
    encode(success(`The names of the ${type}s of this site.`, Array.from(published(call, type), nameOf)));

const lists: Readonly<Record<string, List>> = {
  '/api/3/action/package_list': namesOf('dataset'),
  '/api/3/action/group_list': namesOf('group'),
  '/api/3/action/current_package_list_with_resources': (call, page) => {
    const packages = Array.from(published(call, 'dataset', page), (node) => packageOf(call, node));
    return encode(success('The datasets of this site with their resources.', [packages]));
  },
  '/data.json': catalogue,
};

/** Stands in kept lists for the address of the portal, which a client chooses by its Host. */
const anyAddress = randomUUID();

/** A list takes long to make, and anybody may ask for it. */
const listed = (call: Call, path: string, page: Page): Answer => {
  const text = call.portal.store.kept(
    `${path} ${page.limit} ${page.offset}`,
    () => lists[path]?.({ ...call, baseUrl: anyAddress }, page) ?? null,
  );
  if (text === null) throw new Refusal(413, 'The catalogue is too large for one answer.');
  return jsonAnswer(text.replaceAll(anyAddress, () => encode(call.baseUrl).slice(1, -1)));
};

const searchFields: Readonly<Record<string, string>> = { tags: 'field_tags', dkan_topics: 'field_topic' };

/** Deployed portals send the page of a term to a search for it. */
const termAnswer = (call: Call, path: string): Answer | null => {
  const tid = /^\/taxonomy\/term\/(\d{1,9})$/.exec(path)?.[1];
  const term = tid === undefined ? null : call.portal.store.terms.byTid(Number(tid));
  if (term === null) return null;
  const field = Object.hasOwn(searchFields, term.vocabulary) ? searchFields[term.vocabulary] : undefined;
  const slug = slugOf(term.name) ?? term.name;
  const address = field === undefined ? `/format/${slug}` : `/search/${field}/${slug}-${tid}`;
  return redirectTo(`${call.baseUrl}${address}`);
};

export const pagedPaths = ['/api/3/action/current_package_list_with_resources', '/data.json'];

export const isCataloguePath = (path: string): boolean => path === packagePath || Object.hasOwn(lists, path);

/** Answers at the paths of the catalogue, with a page of the lists that come in pages; sends a term on to the datasets that have it. */
export const catalogueHandler = (call: Call, path: string, page = allOfThem): Answer | null => {
  if (path === packagePath) return shownPackage(call);
  return Object.hasOwn(lists, path) ? listed(call, path, page) : termAnswer(call, path);
};

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
const nameOf = ({ alias, nid }: StoredNode): string => alias?.split('/').at(-1) ?? `node-${nid}`;

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

const packageOf = (call: Call, node: StoredNode): Record<string, unknown> => ({
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

const entryOf = (call: Call, node: StoredNode): Record<string, unknown> => {
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

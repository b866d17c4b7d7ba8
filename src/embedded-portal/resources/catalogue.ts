// What a site publishes about its datasets beside the service: package_show, package_list, group_list and data.json, as deployed
// portals answer them.
import { createHash } from 'node:crypto';
import { slugOf } from '../../dataset-api/names.ts';
import { type Answer, redirectTo } from '../answer.ts';
import { licenseName } from '../content/fields.ts';
import { textOf, vocabularyIds } from '../content/items.ts';
import { fileUrl, publicPath } from '../content/view.ts';
import { escapeUnit } from '../media/value.ts';
import type { Call, Portal, SiteHandler } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { Term } from '../store/terms.ts';

/** The uuid of a term: made of its number, so that it stays. */
const termUuid = ({ tid }: Term): string => {
  const hex = createHash('sha256').update(`term ${tid}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

const escapes = /[/<>&'\u0080-\uffff]/g;

const encode = (value: unknown): string =>
  JSON.stringify(value).replace(escapes, (char) => (char === '/' ? '\\/' : escapeUnit(char)));

/** A value as JSON of the site. */
export const answerOf = (value: unknown, status = 200): Answer => ({
  status,
  contentType: 'application/json',
  body: encode(value),
});

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
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== '' && value !== undefined));

const addressOf = (call: Call, node: StoredNode, file: StoredFile | undefined): string => {
  if (file !== undefined) return fileUrl(file, call.baseUrl);
  return first(node, 'field_link_api', 'url') || first(node, 'field_link_remote_file', 'uri');
};

const resourcesOf = ({ portal }: Call, node: StoredNode): StoredNode[] =>
  portal.store.nodes.targets(node.nid).flatMap((nid) => {
    const resource = portal.store.nodes.byNid(nid);
    return resource?.type === 'resource' && resource.status === 1 ? [resource] : [];
  });

/** The terms in a field that have a name in its vocabulary: a term that strayed into another one has none here. */
const termsOf = ({ portal }: Call, node: StoredNode, field: string): Term[] =>
  (node.fields[field] ?? []).flatMap(({ tid }) => portal.store.terms.byTid(Number(tid)) ?? []);

const nameOf = ({ alias, nid }: StoredNode): string => alias?.split('/').at(-1) ?? `node-${nid}`;

const packageResource = (call: Call, node: StoredNode): Record<string, unknown> => {
  const [file] = call.portal.store.files.ofNode(node.nid);
  const format = termsOf(call, node, 'field_format')[0]?.name ?? '';
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

const packageOf = (call: Call, node: StoredNode): Record<string, unknown> => {
  const author = call.portal.store.users.byUid(node.uid);
  const extras = (node.fields.field_additional_info ?? []).map((item) => ({ key: item.first, value: item.second }));
  return {
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
      creator_user_id: author?.uuid,
      type: 'Dataset',
    }),
    resources: resourcesOf(call, node).map((resource) => packageResource(call, resource)),
    ...(node.fields.field_tags?.length
      ? {
          tags: termsOf(call, node, 'field_tags').map((term) => ({
            id: termUuid(term),
            vocabulary_id: vocabularyIds[term.vocabulary] ?? term.vocabulary,
            name: term.name,
          })),
        }
      : {}),
    ...(extras.length === 0 ? {} : { extras }),
  };
};

const distributionOf = (call: Call, node: StoredNode): Record<string, unknown> => {
  const [file] = call.portal.store.files.ofNode(node.nid);
  const address = addressOf(call, node, file);
  const place = file === undefined ? { accessURL: address } : { downloadURL: address, mediaType: file.filemime };
  const description = first(node, 'body', 'safe_value');
  return filled({ '@type': 'dcat:Distribution', ...place, description, title: node.title });
};

const entryOf = (call: Call, node: StoredNode): Record<string, unknown> => {
  // Deployed portals list them by name.
  const tags = termsOf(call, node, 'field_tags')
    .map(({ vocabulary, name }) => (vocabulary === 'tags' ? name : ''))
    .sort((a, b) => a.localeCompare(b, 'en'));
  const topics = termsOf(call, node, 'field_topic').map(({ name }) => name);
  const email = first(node, 'field_contact_email') || 'noemailprovided@usa.gov';
  const author = call.portal.store.users.byUid(node.uid)?.name ?? '';
  const period = [first(node, 'field_temporal_coverage'), first(node, 'field_temporal_coverage', 'value2')];
  const distribution = resourcesOf(call, node).map((resource) => distributionOf(call, resource));
  return filled({
    '@type': 'dcat:Dataset',
    accessLevel: first(node, 'field_public_access_level'),
    rights: first(node, 'field_rights'),
    accrualPeriodicity: first(node, 'field_frequency'),
    contactPoint: { fn: first(node, 'field_contact_name') || author, hasEmail: `mailto:${email}` },
    description: first(node, 'body', 'safe_value'),
    distribution: distribution.length === 0 ? undefined : distribution,
    identifier: node.uuid,
    issued: day(node.created),
    keyword: tags.length === 0 ? undefined : tags,
    landingPage: first(node, 'field_landing_page', 'url') || publicPath(node, call.baseUrl),
    license: first(node, 'field_license'),
    modified: day(node.changed),
    publisher: { '@type': 'org:Organization', name: call.portal.profile.siteName },
    spatial: first(node, 'field_spatial', 'wkt'),
    theme: topics.length === 0 ? undefined : topics,
    temporal: period[0] === '' ? '' : period.map((date) => `${date?.replace(' ', 'T')}+00:00`).join('/'),
    title: node.title,
  });
};

/** Most text of a catalogue, in characters; what is longer would end the process rather than be sent. */
const longestCatalogue = 100_000_000;

/** The entries of all datasets; a catalogue is whole or none, because whoever harvests it takes down what it lacks. */
const entriesOf = (call: Call, page: Page): string => {
  const entries: string[] = [];
  let length = 0;
  for (const node of published(call, 'dataset', page)) {
    const entry = encode(entryOf(call, node));
    length += entry.length + 1;
    if (length > longestCatalogue) throw new Refusal(413, 'The catalogue is too large for one answer.');
    entries.push(entry);
  }
  return entries.join(',');
};

const catalogueText = (call: Call, page: Page): string => {
  const head = encode({
    '@context': 'https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld',
    '@id': `${call.baseUrl}/data.json`,
    '@type': 'dcat:Catalog',
    conformsTo: 'https://project-open-data.cio.gov/v1.1/schema',
    describedBy: 'https://project-open-data.cio.gov/v1.1/schema/catalog.json',
  });
  return `${head.slice(0, -1)},"dataset":[${entriesOf(call, page)}]}`;
};

/** Catalogues by page and address, for the state of the store after so many changes. */
const kept = new WeakMap<Portal, { changes: number; texts: Map<string, string> }>();

/** It takes long and is the same for everybody, so it is made once for each state of the store. */
const catalogue = (call: Call, page: Page): Answer => {
  const changes = call.portal.store.changes();
  let known = kept.get(call.portal);
  if (known?.changes !== changes) known = { changes, texts: new Map() };
  kept.set(call.portal, known);
  const key = `${page.limit} ${page.offset} ${call.baseUrl}`;
  const body = known.texts.get(key) ?? catalogueText(call, page);
  if (known.texts.size < mostKept) known.texts.set(key, body);
  return { status: 200, contentType: 'application/json', body };
};

const mostKept = 20;

/** A part of the list of all datasets. */
export interface Page {
  limit: number;
  offset: number;
}

const allOfThem: Page = { limit: -1, offset: 0 };

function* published({ portal: { store } }: Call, type: string, page: Page = allOfThem): Generator<StoredNode> {
  const sql = 'SELECT nid FROM node WHERE type = ? AND status = 1 ORDER BY nid LIMIT ? OFFSET ?';
  for (const { nid } of store.nodes.list(sql, [type, page.limit, page.offset])) {
    const node = store.nodes.byNid(Number(nid));
    if (node !== null) yield node;
  }
}

const success = (help: string, result: unknown): Record<string, unknown> => ({ help, success: true, result });

const shownPackage = (call: Call): Answer => {
  const help = 'The metadata of a dataset and its resources. :param id: uuid of the dataset';
  const id = textOf(call.query.id) ?? '';
  if (id === '') {
    return answerOf(success(help, [{ __type: 'Validation Error', name_or_id: ['Missing Value'] }]), 400);
  }
  const found = call.portal.store.nodes.byUuid(id);
  const node = found === null ? null : call.portal.store.nodes.byNid(found.nid);
  if (node?.type !== 'dataset' || node.status !== 1) {
    const fault = { __type: 'Query Error', name_or_id: `Query '${id}' doesn't return results` };
    return answerOf(success(help, [fault]), 404);
  }
  return answerOf(success(help, [packageOf(call, node)]));
};

const names = (call: Call, type: 'dataset' | 'group'): Answer =>
  answerOf(success(`The names of the ${type}s of this site.`, Array.from(published(call, type), nameOf)));

const packages = (call: Call, page: Page): Answer =>
  answerOf(
    success('The datasets of this site with their resources.', [
      Array.from(published(call, 'dataset', page), (node) => packageOf(call, node)),
    ]),
  );

/** What can be split into pages, by path. */
export const paged: Readonly<Record<string, (call: Call, page: Page) => Answer>> = {
  '/api/3/action/current_package_list_with_resources': packages,
  '/data.json': catalogue,
};

const whole: Readonly<Record<string, (call: Call) => Answer>> = {
  '/api/3/action/package_show': shownPackage,
  '/api/3/action/package_list': (call) => names(call, 'dataset'),
  '/api/3/action/group_list': (call) => names(call, 'group'),
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

/** True for the paths of the catalogue. */
export const isCataloguePath = (path: string): boolean => Object.hasOwn(whole, path) || Object.hasOwn(paged, path);

/** Answers at the paths of the catalogue, and sends a term on to the datasets that have it. */
export const catalogueHandler: SiteHandler = (call, path) => {
  if (!isCataloguePath(path)) return termAnswer(call, path);
  return whole[path]?.(call) ?? paged[path]?.(call, allOfThem) ?? null;
};

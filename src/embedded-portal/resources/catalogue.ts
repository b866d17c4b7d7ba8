// What a site publishes of its datasets beside the service, as deployed portals do: package_show, lists and data.json.
import { randomUUID } from 'node:crypto';
import { slugOf } from '../../dataset-api/names.ts';
import { type Answer, redirectTo } from '../answer.ts';
import { textOf } from '../content/items.ts';
import { escapeUnit } from '../media/value.ts';
import type { Call } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { StoredNode } from '../store/nodes.ts';
import { entryOf, nameOf, packageOf } from './catalogue-entries.ts';

const escapes = /[/<>&'\u0080-\uffff]/g;

const encode = (value: unknown): string =>
  JSON.stringify(value).replace(escapes, (char) => (char === '/' ? '\\/' : escapeUnit(char)));

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
  const id = textOf(call.query.id) ?? '';
  if (id === '') {
    return answerOf(success(help, [{ __type: 'Validation Error', name_or_id: ['Missing Value'] }]), 400);
  }
  const node = call.portal.store.nodes.byUuid(id);
  if (node?.type !== 'dataset' || node.status !== 1) {
    const fault = { __type: 'Query Error', name_or_id: `Query '${id}' doesn't return results` };
    return answerOf(success(help, [fault]), 404);
  }
  return answerOf(success(help, [packageOf(call, node)]));
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

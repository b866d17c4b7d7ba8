// What a site publishes about its datasets beside the service: package_show, package_list, group_list and data.json, as deployed
// portals answer them.
import { slugOf } from '../../dataset-api/names.ts';
import { type Answer, redirectTo } from '../answer.ts';
import { textOf } from '../content/items.ts';
import { escapeUnit } from '../media/value.ts';
import type { Call, Portal, SiteHandler } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { StoredNode } from '../store/nodes.ts';
import { entryOf, nameOf, packageOf } from './catalogue-entries.ts';

const escapes = /[/<>&'\u0080-\uffff]/g;

const encode = (value: unknown): string =>
  JSON.stringify(value).replace(escapes, (char) => (char === '/' ? '\\/' : escapeUnit(char)));

/** A value as JSON of the site. */
export const answerOf = (value: unknown, status = 200): Answer => ({
  status,
  contentType: 'application/json',
  body: encode(value),
});

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

// What the portal publishes outside the service: datasets as readers see them, names and ids of terms.
import { z } from 'zod';
import { itemsOfField, type Vocabulary } from '../dataset-api/fields.ts';
import { slugOf, titleOfName } from '../dataset-api/names.ts';
import { maxPageSize, paths } from '../dataset-api/paths.ts';
import { PortalError, PortalReplyError } from '../model/errors.ts';
import { parsedJson } from '../util/json.ts';
import type { Http } from './http.ts';
import type { Nodes } from './nodes.ts';
import type { NodeRow, PortalNode } from './replies.ts';
import type { Caller, Session } from './session.ts';
import type { Terms } from './terms.ts';
import type { Traits } from './traits.ts';

const catalogueSchema = z.looseObject({
  dataset: z.array(
    z.looseObject({
      identifier: z.string(),
      keyword: z.array(z.string()).catch([]),
      theme: z.array(z.string()).catch([]),
    }),
  ),
});
const termsSchema = z.array(z.looseObject({ tid: z.coerce.string(), name: z.string() }));

/** Most terms of the service that are listed. */
const mostPages = 500;

/** Topics of a usual installation (recorded behaviour 15). */
const usualTopics = [
  'City Planning',
  'Education',
  'Finance and Budgeting',
  'Health Care',
  'Public Safety',
  'Transportation',
];

/** Sources of the names of terms, each empty where the portal does not offer it. */
export class TermNames {
  readonly #session: Session;
  readonly #caller: Caller;

  constructor(session: Session, caller: Caller) {
    this.#session = session;
    this.#caller = caller;
  }

  /** All terms by id where the service lists them; null elsewhere. */
  async listed(signal: AbortSignal): Promise<Map<string, string> | null> {
    const names = new Map<string, string>();
    for (let page = 0; page < mostPages; page++) {
      const terms = termsSchema.safeParse(await this.#json('list terms', `${paths.terms}?page=${page}`, signal)).data;
      if (!terms) return page === 0 ? null : names;
      for (const { tid, name } of terms) names.set(tid, name);
      if (terms.length < maxPageSize) break;
    }
    return names;
  }

  /** Names of tags and topics of the public datasets by uuid, in no order; a tag in another vocabulary is ''. */
  async ofDatasets(signal: AbortSignal): Promise<Map<string, { tags: string[]; topics: string[] }>> {
    const value = await this.#json('read catalogue', '/data.json?page=0', signal);
    const { dataset = [] } = catalogueSchema.safeParse(value).data ?? {};
    return new Map(
      dataset.map(({ identifier, keyword, theme }) => [identifier.toLowerCase(), { tags: keyword, topics: theme }]),
    );
  }

  /** The name of a term as the address of its page tells it, so without its capitals; null where it has none. */
  async ofPage(tid: string, signal: AbortSignal): Promise<string | null> {
    const request = { method: 'GET', path: `/taxonomy/term/${tid}`, keepsRedirect: true, retries: 0 } as const;
    const reply = await this.#session.http.exchange(request, signal).catch(orNone);
    const [, slug = ''] = /\/(?:field_\w+|format)\/(.+?)(?:-\d+)?$/.exec(reply?.headers.location ?? '') ?? [];
    if (slug === '') return null;
    return usualTopics.find((topic) => slugOf(topic) === slug) ?? titleOfName(decodeURIComponent(slug));
  }

  async #json(action: string, path: string, signal: AbortSignal): Promise<unknown> {
    const reply = await this.#caller.call({ action, method: 'GET', path }, signal).catch(orNone);
    return reply === null ? null : parsedJson(reply.text);
  }
}

/** Null where the portal does not offer it, or more than is read at once. Rethrows any other fault. */
const orNone = (error: unknown): null => {
  if (error instanceof PortalReplyError) return null;
  if (error instanceof PortalError && error.request.status !== undefined && error.request.status < 500) return null;
  throw error;
};

/** Datasets that are checked, and where terms were lost; each costs two requests, and its first resource two more. */
const datasets = 4;
const datasetsOfLost = 20;

/** What a survey asks of a portal. */
interface Surveyed {
  readonly traits: Traits;
  readonly terms: Terms;
  readonly nodes: Pick<Nodes, 'list' | 'read'>;
  dialectInUse(signal: AbortSignal): Promise<string>;
  findByUuid(uuid: string, signal: AbortSignal): Promise<NodeRow | null>;
  publicDataset(uuid: string, signal: AbortSignal): Promise<PublicDataset | null>;
}

/** See `Portal.surveyTerms`. */
export const surveyTerms = async (portal: Surveyed, signal: AbortSignal, isLost: boolean): Promise<void> => {
  const { traits } = portal;
  if (
    (traits.get('surveyed') && !isLost) ||
    traits.get('packages') === false ||
    (await portal.dialectInUse(signal)) === 'form'
  )
    return;
  const orderBy = { column: 'nid', direction: 'DESC' } as const;
  const query = {
    fields: ['nid', 'uuid'],
    parameters: { type: 'dataset', status: '1' },
    pageSize: isLost ? datasetsOfLost : datasets,
    orderBy,
  };
  for (const { nid, uuid } of await portal.nodes.list(query, signal)) {
    const seen = await portal.publicDataset(uuid, signal);
    if (seen === null) continue;
    const names = seen.tags.map(({ name, vocabulary }) =>
      vocabulary === portal.terms.vocabularyId('tags') ? name : '',
    );
    await learn(portal, 'tags', names, tidsInOrder(await portal.nodes.read(nid, signal), 'field_tags'));
    const resource = seen.resources.find(({ format }) => format !== '');
    const row = resource && (await portal.findByUuid(resource.uuid, signal));
    if (row)
      await learn(
        portal,
        'format',
        [resource.format],
        tidsInOrder(await portal.nodes.read(row.nid, signal), 'field_format'),
      );
  }
  traits.learn({ surveyed: true });
};

/** Ids of the terms in a field, in order; none where an item is unclear, because names are matched to them by position. */
const tidsInOrder = (node: PortalNode, field: string): string[] =>
  (itemsOfField(node[field]) ?? []).flatMap(({ tid }) => (tid === undefined ? [] : [String(tid)]));

/** Names and ids are in the same order; where they are not as many, nothing is learned. Of two terms of one name the older counts. */
const learn = async (portal: Surveyed, vocabulary: Vocabulary, names: string[], tids: string[]): Promise<void> => {
  if (names.length !== tids.length) return;
  const found = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const [tid = '', known] = [tids[index], found.get(name) ?? (await portal.terms.idOf(vocabulary, name))];
    if (name !== '' && (known === undefined || known === null || Number(tid) < Number(known))) found.set(name, tid);
  }
  await portal.terms.remember(vocabulary, Object.fromEntries(found));
};

/** Ids that are checked: topics are among the first terms of a portal. */
const mostIds = 60;

/** After so many unknown ids in a row the portal does not list topics. */
const enoughMisses = 12;

const topicAddress = /\/field_topic\/(.+)-(\d+)$/;

/** Ids of topics by the slug of their name, the lower one of two; empty where the portal does not list them. */
export const topicIds = async (http: Http, signal: AbortSignal): Promise<Map<string, string>> => {
  const found = new Map<string, string>();
  for (let id = 1, misses = 0; id <= mostIds && misses < enoughMisses; id++) {
    const request = { method: 'GET', path: `/taxonomy/term/${id}`, keepsRedirect: true, retries: 0 } as const;
    const reply = await http.exchange(request, signal).catch((error: unknown) => {
      if (error instanceof PortalError && error.request.status !== undefined) return null;
      throw error;
    });
    const address = reply?.headers.location ?? '';
    misses = address === '' ? misses + 1 : 0;
    const [, slug = '', tid = ''] = topicAddress.exec(address) ?? [];
    if (slug !== '' && !found.has(slug)) found.set(slug, tid);
  }
  return found;
};

/** Ids of those of the names that are topics of the portal; `ids` by slug. */
export const topicsNamed = (ids: ReadonlyMap<string, string>, names: readonly string[]): Record<string, string> => {
  const found = names.flatMap((name) => {
    const tid = ids.get(slugOf(name) ?? '');
    return tid === undefined ? [] : [[name, tid] as const];
  });
  return Object.fromEntries(found);
};

const termSchema = z.looseObject({ vocabulary_id: z.coerce.string().catch(''), name: z.string().catch('') });
const packageSchema = z.looseObject({
  id: z.string(),
  tags: z.array(termSchema).catch([]),
  resources: z.array(z.looseObject({ id: z.string(), format: z.string().catch('') })).catch([]),
});
const resultSchema = z.looseObject({
  result: z.union([
    packageSchema,
    z
      .array(packageSchema)
      .min(1)
      .transform(([first]) => first),
  ]),
});

/** What readers see of a dataset. */
export interface PublicDataset {
  uuid: string;
  /** Tags with the id of their vocabulary; a term that is in none has no name. */
  tags: { name: string; vocabulary: string }[];
  /** Resources in the order of the dataset's list, with the name of their format. */
  resources: { uuid: string; format: string }[];
}

/** The public view of the dataset with that uuid; null where the portal offers none, or not of this one. */
export const publicDataset = async (
  caller: Caller,
  traits: Traits,
  uuid: string,
  signal: AbortSignal,
): Promise<PublicDataset | null> => {
  if (traits.get('packages') === false) return null;
  // Without a page some releases answer with a redirect to the first one.
  const path = `/api/3/action/package_show?id=${encodeURIComponent(uuid)}&page=0`;
  try {
    const reply = await caller.call({ action: 'show package', method: 'GET', path }, signal);
    const parsed = resultSchema.safeParse(parsedJson(reply.text));
    if (!parsed.success || !parsed.data.result) return null;
    traits.learn({ packages: true });
    const { id, tags, resources } = parsed.data.result;
    return {
      uuid: id,
      tags: tags.map(({ name, vocabulary_id }) => ({ name, vocabulary: vocabulary_id })),
      resources: resources.map((resource) => ({ uuid: resource.id, format: resource.format })),
    };
  } catch (error) {
    if (!(error instanceof PortalError) || error.request.status !== 404) throw error;
    // A portal with the route says in JSON that there is no such dataset.
    if (error.request.isPage && traits.get('packages') === undefined) traits.learn({ packages: false });
    return null;
  }
};

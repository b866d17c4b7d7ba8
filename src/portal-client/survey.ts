// Learning the ids of terms that a portal has already: from some datasets whose public view names them, and of topics from
// the addresses of their pages, such as `…/city-planning-6`.

import { itemsOfField, type Vocabulary } from '../dataset-api/fields.ts';
import { slugOf } from '../dataset-api/slug.ts';
import { PortalError } from '../model/errors.ts';
import type { Http } from './http.ts';
import type { Nodes } from './nodes.ts';
import type { PublicDataset } from './packages.ts';
import type { NodeRow, PortalNode } from './replies.ts';
import type { Terms } from './terms.ts';
import type { Traits } from './traits.ts';

/** Datasets that are looked at, and where terms were lost; each costs two requests, and its first resource two more. */
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
    await learn(portal, 'tags', names, tidsOf(await portal.nodes.read(nid, signal), 'field_tags'));
    const resource = seen.resources.find(({ format }) => format !== '');
    const row = resource && (await portal.findByUuid(resource.uuid, signal));
    if (row)
      await learn(
        portal,
        'format',
        [resource.format],
        tidsOf(await portal.nodes.read(row.nid, signal), 'field_format'),
      );
  }
  traits.learn({ surveyed: true });
};

const tidsOf = (node: PortalNode, field: string): string[] =>
  (itemsOfField(node[field]) ?? []).flatMap(({ tid }) => (tid === undefined ? [] : [String(tid)]));

/** Names and ids stand in the same order; where they are not as many, nothing is learnt. Of two terms of one name the older counts. */
const learn = async (portal: Surveyed, vocabulary: Vocabulary, names: string[], tids: string[]): Promise<void> => {
  if (names.length !== tids.length) return;
  const found = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const [tid = '', known] = [tids[index], found.get(name) ?? (await portal.terms.idOf(vocabulary, name))];
    if (name !== '' && (known === undefined || known === null || Number(tid) < Number(known))) found.set(name, tid);
  }
  await portal.terms.remember(vocabulary, Object.fromEntries(found));
};

/** Ids that are looked at: topics are among the first terms of a portal. */
const mostIds = 60;

/** So many ids in a row that lead nowhere: this portal does not list them. */
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

// Topics by name: portals tell the id of each term by the address to which its page leads, such as `…/city-planning-6`.
import { slugOf } from '../dataset-api/slug.ts';
import { PortalError } from '../model/errors.ts';
import type { Http } from './http.ts';

/** Ids that are looked at: topics are among the first terms of a portal. */
const mostIds = 60;

/** So many ids in a row that lead nowhere: this portal does not tell. */
const enoughMisses = 12;

const topicAddress = /\/field_topic\/(.+)-(\d+)$/;

/** Ids of topics by the slug of their name, the lower one of two; empty where the portal does not tell. */
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

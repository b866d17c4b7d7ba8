// Names of terms by their ids, which no node tells: from what the portal publishes beside the service.
import { z } from 'zod';
import { maxPageSize, paths } from '../dataset-api/paths.ts';
import { slugOf, titleOfName } from '../dataset-api/slug.ts';
import { PortalError, PortalReplyError } from '../model/errors.ts';
import { parsedJson } from '../util/json.ts';
import type { Caller } from './caller.ts';
import type { Session } from './session.ts';

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

/** Where names of terms are found; each way is given up for good where the portal does not offer it. */
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

/** The portal does not offer it, or more of it than is read at once. Whatever else is wrong concerns the whole work. */
const orNone = (error: unknown): null => {
  if (error instanceof PortalReplyError) return null;
  if (error instanceof PortalError && error.request.status !== undefined && error.request.status < 500) return null;
  throw error;
};

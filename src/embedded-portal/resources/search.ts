// The search in the rows of datastores, beside the service: one in a query string, or several by name in a body.
import { escapeHtml } from '../../util/html.ts';
import { parsedJson, recordOf } from '../../util/json.ts';
import { formatError } from '../answer.ts';
import { readRaw } from '../body.ts';
import { textOf } from '../content/items.ts';
import { type AnswerBudget, answerLength, demandKnown, searchRefused } from '../datastore/query.ts';
import { contentTypeOf, isFormatName } from '../media/formats.ts';
import type { Value } from '../media/value.ts';
import type { Call, SiteHandler } from '../portal.ts';
import { may, mayRead, Refusal } from '../refusal.ts';

/** Makes the value of one search; throws a Refusal in the recorded shape of such errors. */
export type Search = (call: Call, query: Record<string, unknown>, budget: AnswerBudget) => Promise<unknown>;

/** Rows of the resource whose uuid is `resource_id`, for those who may read its node. */
export const searchRows: Search = async (call, { resource_id: given, ...wish }, budget) => {
  const uuid = textOf(given) ?? '';
  if (uuid === '') throw searchRefused(400, 'The resource_id is a required parameter.');
  const node = call.portal.store.nodes.byUuid(uuid);
  if (node === null || !mayRead(call.user, node)) throw searchRefused(404, `uuid ${escapeHtml(uuid)} not found.`);
  const isUnlimited = may(call.user, 'unlimited lists');
  return call.portal.datastore.search({ ...wish, nid: String(node.nid), resourceUuid: node.uuid, budget, isUnlimited });
};

/** The same, and parameters that no search understands are refused. */
export const searchKnown: Search = (call, query, budget) => {
  demandKnown(Object.keys(query).filter((name) => name !== 'resource_id'));
  return searchRows(call, query, budget);
};

const mostSearches = 100;

/** The values of the searches that a body holds, by name; null for a body that names none, as recorded. */
export const searchAll = async (search: Search, call: Call, text: string): Promise<unknown> => {
  const queries = parsedJson(text);
  if (typeof queries !== 'object' || queries === null || Object.keys(queries).length === 0) return null;
  const searches = Object.entries(queries);
  if (searches.length > mostSearches) {
    throw searchRefused(413, `A request may hold ${mostSearches} searches, not ${searches.length}.`);
  }
  const budget = { left: answerLength };
  const answers = await Array.fromAsync(searches, ([, query]) => search(call, recordOf(query), budget));
  return Array.isArray(queries) ? answers : Object.fromEntries(searches.map(([name], at) => [name, answers[at]]));
};

/** Answers searches; `all` makes the value of a body with several. */
export const searchHandler =
  (search: Search, all: typeof searchAll = searchAll): SiteHandler =>
  async (call, path) => {
    const wanted = /^\/api\/action\/datastore\/search(?:\.([a-z]+))?$/.exec(path);
    const name = wanted?.[1] ?? 'json';
    if (wanted === null || !isFormatName(name)) return null;
    const { counts, profile } = call.portal;
    counts.reads += 1;
    const format = profile.wire.formats[name];
    const contentType = contentTypeOf(format.mimeTypes[0]);
    const headers: Record<string, string> = wanted[1] === undefined ? { vary: 'Accept' } : {};
    const { callback } = call.query;
    try {
      const value = await (call.request.method === 'POST'
        ? readRaw(call).then((bytes) => all(search, call, bytes.toString('utf8')))
        : search(call, call.query, { left: answerLength }));
      const body = format.write(value as Value, { shape: 'plain', callback }); // what JSON can say
      return { status: 200, headers, contentType, body };
    } catch (error) {
      if (error instanceof Refusal) return { ...formatError(error, { ...format, contentType, callback }), headers };
      throw error;
    }
  };

// What deployed servers answer beside the service: files as a web server sends them, and searches whose faults are values.
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../../util/bounded-map.ts';
import { redirectTo } from '../../answer.ts';
import { textOf } from '../../content/items.ts';
import type { Call, Portal, SiteHandler } from '../../portal.ts';
import { lockRefused } from '../../races.ts';
import { Refusal } from '../../refusal.ts';
import { catalogueHandler, isCataloguePath, pagedPaths } from '../../resources/catalogue.ts';
import { fileAnswer } from '../../resources/file.ts';
import { type Search, searchAll, searchHandler, searchRows } from '../../resources/search.ts';
import { fileHandler } from '../../resources/system.ts';
import { fatalFault } from './faults.ts';
import { searchFault } from './search.ts';
import { warn } from './wire.ts';

/** Files go out to everybody, even when their node is not published, bare and under their own type. */
export const bareFiles = fileHandler(({ portal }, file) => ({
  ...fileAnswer(portal, file),
  contentType: file.filemime,
  plain: true,
}));

/** A search whose faults are values that report them. */
const search: Search = async (call, query, budget) => {
  if (call.portal.races?.isLocked() === true) return searchFault('', lockRefused);
  if ((textOf(query.resource_id) ?? '') === '' || typeof query.fields === 'string') warn(call);
  try {
    return await searchRows(call, query, budget);
  } catch (error) {
    if (error instanceof Refusal) return error.details.body;
    throw error;
  }
};

/** The same where the exception is kept to the log. */
const discreetSearch: Search = async (call, query, budget) => {
  const value = await search(call, query, budget);
  const isFault = typeof value === 'object' && value !== null && 'error' in value;
  return isFault ? { error: { message: 'Exception Caught, please check logs for more information' } } : value;
};

/** Longest answer that is kept, characters. */
const longestKept = 100_000;

/** Answers to bodies with several searches, which deployed portals keep; emptied when there are many. */
const kept = new WeakMap<Portal, BoundedMap<string, unknown>>();

const searchAllOnce: typeof searchAll = async (one, call, text) => {
  const { portal, user } = call;
  const key = `${user.uid === 0} ${createHash('sha256').update(text).digest('hex')}`;
  const known = kept.get(portal) ?? new BoundedMap<string, unknown>(1000);
  if (known.has(key)) return known.get(key);
  const value = await searchAll(one, call, text);
  if (value !== null && JSON.stringify(value).length < longestKept) kept.set(portal, known.set(key, value));
  return value;
};

/** Searches of release B, which show statement and exception. */
export const openSearches: SiteHandler = searchHandler(search, searchAllOnce);

/** Searches of release A, which hint at the log. */
export const discreetSearches: SiteHandler = searchHandler(discreetSearch, searchAllOnce);

/** Searches of release C, all of which end in an error page. */
export const brokenSearches: SiteHandler = searchHandler(() => Promise.reject(fatalFault()));

const toPage = ({ baseUrl, queryText }: Call, path: string, page: number) => {
  const others = queryText.split('&').filter((part) => part !== '' && !part.startsWith('page='));
  return redirectTo(`${baseUrl}${path}?${[...others, `page=${page}`].join('&')}`, 302);
};

/** The catalogue of release A in pages of as many datasets as the site is set to; one beyond the last is sent there. */
export const pagedCatalogue: SiteHandler = (call, path) => {
  if (!isCataloguePath(path)) return catalogueHandler(call, path);
  const { query, portal } = call;
  if (query.page === undefined) return toPage(call, path, 0);
  const limit = portal.site.datasetsPerPage;
  if (limit === null || !pagedPaths.includes(path)) return catalogueHandler(call, path);
  const page = Number(/^\d{1,9}/.exec(textOf(query.page) ?? '')?.[0] ?? 0);
  const last = Math.floor(portal.store.nodes.countDatasets() / limit);
  return page > last ? toPage(call, path, last) : catalogueHandler(call, path, { limit, offset: page * limit });
};

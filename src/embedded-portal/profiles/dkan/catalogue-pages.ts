// The catalogue of release A in pages: a request without `page` is sent to the first one.
import { redirectTo } from '../../answer.ts';
import { textOf } from '../../content/items.ts';
import type { Call, SiteHandler } from '../../portal.ts';
import { catalogueHandler, isCataloguePath, paged } from '../../resources/catalogue.ts';

const toPage = ({ baseUrl, queryText }: Call, path: string, page: number) => {
  const others = queryText.split('&').filter((part) => part !== '' && !part.startsWith('page='));
  return redirectTo(`${baseUrl}${path}?${[...others, `page=${page}`].join('&')}`, 302);
};

/** The catalogue in pages of as many datasets as the site is set to; one beyond the last is sent there. */
export const pagedCatalogue: SiteHandler = (call, path) => {
  if (!isCataloguePath(path)) return catalogueHandler(call, path);
  const { query, portal } = call;
  if (query.page === undefined) return toPage(call, path, 0);
  const limit = portal.site.datasetsPerPage;
  const answer = Object.hasOwn(paged, path) ? paged[path] : undefined;
  if (answer === undefined || limit === null) return catalogueHandler(call, path);
  const page = Number(/^\d{1,9}/.exec(textOf(query.page) ?? '')?.[0] ?? 0);
  const last = Math.floor(portal.store.nodes.countDatasets() / limit);
  return page > last ? toPage(call, path, last) : answer(call, { limit, offset: page * limit });
};

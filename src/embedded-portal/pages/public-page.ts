// Routes of the public pages: the list of datasets, a dataset, a resource, a group or page.
import { type Html, html, momentHtml } from '../../util/html.ts';
import { decodedPart } from '../../util/http.ts';
import { plural } from '../../util/plural.ts';
import type { Answer } from '../answer.ts';
import { publicPath } from '../content/view.ts';
import type { Call, Portal, SiteHandler } from '../portal.ts';
import { mayRead } from '../refusal.ts';
import type { DatasetRow, StoredNode } from '../store/nodes.ts';
import { datasetAnswer } from './dataset.ts';
import { formattedHtml, itemHtml, pageAnswer, shortened, titleText } from './layout.ts';
import { type ListWish, listHtml, pageSize, pagesOf, queryOf, wishOf } from './list.ts';
import { resourceAnswer } from './resource.ts';

const datasetHtml = (row: DatasetRow, baseUrl: string): Html => {
  const by = row.publisher === null ? null : html`<bdi>${shortened(row.publisher, 100)}</bdi> · `;
  const facts = html`${by}${plural(row.resources, 'resource')} · changed ${momentHtml(row.changed * 1000)}`;
  return itemHtml(row, { tag: 'h2', longest: 240, baseUrl, facts });
};

/** The nids of the datasets that hold all words, first those that have them in their titles. */
const found = ({ store }: Portal, search: string): number[] => {
  const words = search.toLowerCase().split(' ');
  const holds = (text: string): boolean => words.every((word) => text.includes(word));
  const texts = store.kept('words of datasets', () =>
    store.nodes.words().map((row) => ({ nid: row.nid, title: row.title.toLowerCase(), text: row.words.toLowerCase() })),
  );
  const hits = texts.filter(({ text }) => holds(text)).map(({ nid, title }) => ({ nid, isLate: !holds(title) }));
  return hits.sort((a, b) => Number(a.isLate) - Number(b.isLate)).map(({ nid }) => nid);
};

/** The list of published datasets, 20 a page, newest first, or of those that are searched for; null for a page that does not exist. */
const homeAnswer = (call: Call): Answer | null => {
  const wish = wishOf(call);
  const { nodes } = call.portal.store;
  const all = wish?.search ? found(call.portal, wish.search) : null;
  const total = all?.length ?? nodes.countDatasets();
  if (wish === null || wish.page > pagesOf(total)) return null;
  const { page, search } = wish;
  const from = (page - 1) * pageSize;
  const nids = all?.slice(from, from + pageSize) ?? nodes.newest(pageSize, from);
  const path = `${call.baseUrl}/`;
  const listed =
    total === 0 ? 'Nothing is published here yet.' : `${plural(total, 'published dataset')}, the newest first.`;
  const words = all === null ? listed : `${plural(total, 'dataset')} found.`;
  const rows = html`<ul class="items">\n${nodes.datasets(nids).map((row) => datasetHtml(row, call.baseUrl))}</ul>`;
  const hrefOf = (to: ListWish): string => `${path}${queryOf(to)}`;
  const list = listHtml({ label: 'Search the datasets', words, rows, total }, wish, hrefOf);
  const title = `${search === '' ? '' : `Search: ${search}`}${page === 1 ? '' : ` Page ${page}`}`.trim();
  return pageAnswer(call, { ...(title && { title }), canonical: hrefOf(wish), main: html`<h1>Datasets</h1>\n${list}` });
};

/** The page of a node that is neither dataset nor resource; that of a group leads to its datasets. */
const plainAnswer = (call: Call, node: StoredNode): Answer => {
  const title = titleText(node);
  const search = html`<p><a href="${call.baseUrl}/${queryOf({ search: node.title })}">Datasets of this publisher</a></p>`;
  const main = html`<h1 dir="auto">${title}</h1>\n${formattedHtml(node, 'body')}${node.type === 'group' ? search : null}`;
  return pageAnswer(call, { title, canonical: publicPath(node, call.baseUrl), main });
};

const nodeOf = ({ portal }: Call, path: string): StoredNode | null => {
  const { nodes } = portal.store;
  const number = /^\/node\/(\d{1,15})$/.exec(path)?.[1];
  if (number !== undefined) return nodes.byNid(Number(number));
  const nid = nodes.aliasOwner(decodedPart(path.slice(1)));
  if (nid !== null) return nodes.byNid(nid);
  // An address from before the resource was listed in its dataset, or before that had its title.
  const uuid = /^\/dataset\/(?:[^/]+\/)?resource\/([^/]+)$/.exec(path)?.[1];
  const node = uuid === undefined ? null : nodes.byUuid(uuid);
  return node?.type === 'resource' ? node : null;
};

/** The page of an address that does not exist, with a way on. */
export const unknownPage = (call: Call): Answer => {
  const main = html`<h1>Page not found</h1>\n<p>There is nothing at this address. <a href="${call.baseUrl}/">Start page</a></p>`;
  return pageAnswer(call, { title: 'Page not found', main, status: 404 });
};

/**
 * The public page at a path: `/`, the address that a read of a node shows as `path`, or `/node/<nid>`. 403 for a node
 * the caller may not read; null where there is no page, and for all methods but GET and HEAD.
 */
export const pageHandler: SiteHandler = async (call, path) => {
  const { method } = call.request;
  if (method !== 'GET' && method !== 'HEAD') return null;
  if (path === '/') return homeAnswer(call);
  const node = nodeOf(call, path);
  if (node === null) return null;
  if (!mayRead(call.user, node)) {
    const main = html`<h1>Access denied</h1>\n<p>This page is not published.</p>`;
    return pageAnswer(call, { title: 'Access denied', main, status: 403 });
  }
  if (node.type === 'dataset') return datasetAnswer(call, node);
  return node.type === 'resource' ? resourceAnswer(call, node) : plainAnswer(call, node);
};

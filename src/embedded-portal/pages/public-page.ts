// Routes of the public pages: the list of datasets, a dataset, a resource, a group or page.
import { type Html, html, momentHtml } from '../../util/html.ts';
import { decodedPart } from '../../util/http.ts';
import { countText, plural } from '../../util/plural.ts';
import { mayRead } from '../access.ts';
import type { Answer } from '../answer.ts';
import { publicPath } from '../content/view.ts';
import type { Call, SiteHandler } from '../portal.ts';
import type { DatasetRow, StoredNode } from '../store/nodes.ts';
import { datasetAnswer } from './dataset.ts';
import { formattedHtml, itemHtml, pageAnswer, titleText } from './layout.ts';
import { resourceAnswer } from './resource.ts';

const pageSize = 20;

const datasetHtml = (row: DatasetRow, baseUrl: string): Html => {
  const facts = html`${plural(row.resources, 'resource')} · changed ${momentHtml(row.changed * 1000)}`;
  return itemHtml(row, { tag: 'h2', longest: 240, baseUrl, facts });
};

const pager = (page: number, pages: number, baseUrl: string): Html | null => {
  if (pages < 2) return null;
  const link = (to: number, rel: 'prev' | 'next', words: string): Html =>
    html`<a rel="${rel}" href="${baseUrl}/${to === 1 ? '' : `?page=${to}`}">${words}</a>`;
  return html`<nav class="pages" aria-label="Pages">
${page > 1 ? link(page - 1, 'prev', 'Newer') : null}
<span>Page ${countText(page)} of ${countText(pages)}</span>
${page < pages ? link(page + 1, 'next', 'Older') : null}
</nav>`;
};

/** The list of published datasets, 20 a page, newest first; null for a page that does not exist. */
const homeAnswer = (call: Call): Answer | null => {
  const { page: given = '1' } = call.query;
  if (typeof given !== 'string' || !/^[1-9]\d{0,6}$/.test(given)) return null;
  const page = Number(given);
  const { nodes } = call.portal.store;
  const total = nodes.countDatasets();
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (page > pages) return null;
  const rows = nodes.datasets(pageSize, (page - 1) * pageSize);
  const main = html`<h1>Datasets</h1>
<p class="soft">${total === 0 ? 'Nothing is published here yet.' : `${plural(total, 'published dataset')}, the newest first.`}</p>
<ul class="items">
${rows.map((row) => datasetHtml(row, call.baseUrl))}</ul>
${pager(page, pages, call.baseUrl)}`;
  if (page === 1) return pageAnswer(call, { canonical: `${call.baseUrl}/`, main });
  return pageAnswer(call, { title: `Page ${page}`, canonical: `${call.baseUrl}/?page=${page}`, main });
};

/** The page of a node that is neither dataset nor resource. */
const plainAnswer = (call: Call, node: StoredNode): Answer => {
  const title = titleText(node);
  const main = html`<h1 dir="auto">${title}</h1>\n${formattedHtml(node, 'body')}`;
  return pageAnswer(call, { title, canonical: publicPath(node, call.baseUrl), main });
};

const nodeOf = ({ portal }: Call, path: string): StoredNode | null => {
  const { nodes } = portal.store;
  const number = /^\/node\/(\d{1,15})$/.exec(path)?.[1];
  if (number !== undefined) return nodes.byNid(Number(number));
  const nid = nodes.aliasOwner(decodedPart(path.slice(1)));
  return nid === null ? null : nodes.byNid(nid);
};

const denied = (call: Call): Answer => {
  const main = html`<h1>Access denied</h1>\n<p>This page is not published.</p>`;
  return pageAnswer(call, { title: 'Access denied', main, status: 403 });
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
  if (!mayRead(call.user, node)) return denied(call);
  if (node.type === 'dataset') return datasetAnswer(call, node);
  return node.type === 'resource' ? resourceAnswer(call, node) : plainAnswer(call, node);
};

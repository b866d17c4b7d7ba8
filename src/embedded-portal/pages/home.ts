// The front page: which datasets this portal holds.
import type { Call } from '../call.ts';
import { publicPath } from '../content/view.ts';
import type { DatasetRow } from '../store/public-nodes.ts';
import { counted, countText, excerpt, type Html, html, momentHtml, titleText } from './html.ts';
import { pageText } from './layout.ts';

const pageSize = 20;

const datasetHtml = (row: DatasetRow, baseUrl: string): Html => {
  const words = excerpt(row);
  return html`<li>
<h2><a href="${publicPath(row, baseUrl)}"><bdi>${titleText(row)}</bdi></a></h2>
${words === '' ? null : html`<p dir="auto">${words}</p>\n`}<p class="soft">${counted(row.resources, 'resource')} · changed ${momentHtml(row.changed)}</p>
</li>
`;
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

/** The list of published datasets, 20 a page, newest first; null for a page that does not exist. `page` counts from 1. */
export const homeText = (call: Call, page: number): string | null => {
  const { publicNodes } = call.portal.store;
  const total = publicNodes.count();
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (page > pages) return null;
  const rows = publicNodes.datasets({ limit: pageSize, offset: (page - 1) * pageSize });
  const main = html`<h1>Datasets</h1>
<p class="soft">${total === 0 ? 'Nothing is published here yet.' : `${counted(total, 'published dataset')}, the newest first.`}</p>
<ul class="items">
${rows.map((row) => datasetHtml(row, call.baseUrl))}</ul>
${pager(page, pages, call.baseUrl)}`;
  const canonical = `${call.baseUrl}/${page === 1 ? '' : `?page=${page}`}`;
  return pageText(call, { title: page === 1 ? null : `Page ${page}`, canonical, main });
};

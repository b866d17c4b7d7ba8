// Lists on the public pages: a field to search in them, and links from page to page.
import { type Html, html } from '../../util/html.ts';
import { countText } from '../../util/plural.ts';
import type { Call } from '../portal.ts';

export type ListWish = NonNullable<ReturnType<typeof wishOf>>;

const longestSearch = 200;

/** The words that must all occur in what a list shows, and which page of it; null for a query that has no such wish. */
export const wishOf = ({ query: { search = '', page = '1' } }: Call) => {
  if (typeof search !== 'string' || typeof page !== 'string' || !/^[1-9]\d{0,6}$/.test(page)) return null;
  const words = search.slice(0, longestSearch).match(/\S+/g) ?? [];
  return { search: words.slice(0, 20).join(' '), page: Number(page) };
};

/** The query string of a list, with the question mark; of it as it is without a wish, an empty text. */
export const queryOf = ({ page = 1, ...texts }: { search: string; page?: number; chart?: string }): string => {
  const query = new URLSearchParams(Object.entries(texts).filter(([, text]) => text !== ''));
  if (page > 1) query.set('page', String(page));
  return query.size === 0 ? '' : `?${query}`;
};

export const pageSize = 20;

export const pagesOf = (total: number): number => Math.max(1, Math.ceil(total / pageSize));

/** A page of a list, with a field to search in it and links to its other pages; `words` say how much there is. */
export const listHtml = (
  { label, words, rows, total }: { label: string; words: string; rows: Html; total: number },
  { search, page }: ListWish,
  hrefOf: (wish: ListWish) => string,
): Html => {
  const pages = pagesOf(total);
  const link = (to: number, text: string): Html => html`<a href="${hrefOf({ search, page: to })}">${text}</a>\n`;
  const links = html`<nav class="pages" aria-label="Pages">
${page > 2 ? link(1, 'First') : null}${page > 1 ? link(page - 1, 'Previous') : null}<span>Page ${countText(page)} of ${countText(pages)}</span>
${page < pages ? link(page + 1, 'Next') : null}${page < pages - 1 ? link(pages, 'Last') : null}</nav>`;
  const all = html` <a href="${hrefOf({ search: '', page: 1 })}">Show all</a>`;
  return html`<form class="search" role="search">
<input type="search" name="search" value="${search}" maxlength="${longestSearch}" aria-label="${label}" placeholder="${label}">
<button>Search</button>
</form>
<p class="soft">${words}${search === '' ? null : all}</p>
${rows}
${pages < 2 ? null : links}`;
};

// The frame of the pages, the words and figures that all of them use, and a page as the answer to a request.
import { URL } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ItemFate, type ItemState, itemStateOf, stateWords } from '../../model/ledger-entry.ts';
import { dropAgain, faultyLine, type Reason } from '../../model/report.ts';
import { fileNameOf, type KnownEntry } from '../../service/items.ts';
import { documentHtml, type Html, html, type Part } from '../../util/html.ts';

export interface Page {
  title: string;
  /** Exchanged when something changes; the rest stays as it is. */
  live: Part;
  /** Above what is live: forms, and what never changes. */
  fixed?: Part;
  /** Below it: forms that are filled in. */
  below?: Part;
  query?: string;
  /** True for a page of somebody who is not logged in. */
  bare?: boolean;
}

const pageText = (
  { title, live, fixed = null, below = null, query = '', bare = false }: Page,
  { session, fault }: Pick<FastifyRequest, 'session' | 'fault'>,
): string =>
  documentHtml(
    title === '' ? 'sluice' : `${title} | sluice`,
    html`<meta name="color-scheme" content="light dark">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/pages.css">
${bare ? null : html`<script src="/assets/refresh.js" type="module"></script>\n`}`,
    html`<a class="skip" href="#main">Skip to content</a>
<header>
<a class="home" href="/">sluice</a>
${bare || session === null ? null : searchForm(query)}
${session?.canLogOut ? html`<form action="/logout" method="post">${tokenField(session.token)}<button>Log out</button></form>` : null}
${bare || session ? null : html`<a href="/login">Log in</a>`}
</header>
<main id="main">
${fixed}
<p id="outdated" class="note wait" role="status" hidden>This page can no longer be refreshed and may be outdated.</p>
<div id="live">
${fault && html`<div class="note bad" role="alert"><p>The state takes no more data: work waits.</p>${session ? reasonHtml(fault) : null}</div>`}
${live}
</div>
${below}</main>`,
  ).text;

const searchForm = (query: string): Html => html`<form class="search" role="search" action="/" method="get">
<input type="search" name="q" value="${query}" aria-label="Key, title or file name" placeholder="Key, title or file name" maxlength="200">
<button>Search</button>
</form>`;

/** The field that proves that a form came from a page of ours. */
export const tokenField = (token: string): Html => html`<input type="hidden" name="token" value="${token}">`;

export const itemPath = (key: string): string => `/item/${key.split('/').map(encodeURIComponent).join('/')}`;

/** The first of some keys, each a link to its item. */
export const keysHtml = (keys: readonly string[]): Html => {
  const listed = keys.slice(0, 20).map((key) => html`<li><a href="${itemPath(key)}">${key}</a></li>`);
  return html`<ul>${listed}${keys.length > 20 ? html`<li>… and ${keys.length - 20} more</li>` : null}</ul>`;
};

export const runPath = (runId: string): string => `/run/${encodeURIComponent(runId)}`;

export const runsPath = (target: string): string => `/runs/${encodeURIComponent(target)}`;

/** How a page offers an action to whoever looks at it. */
export type Act = (text: string, action: string, parameters: Record<string, string>) => Part;

/** For readers, who may only look. */
export const noAct: Act = () => null;

/** A button that leads to the confirmation of an action. */
export const actLink: Act = (text, action, parameters) =>
  html`<a class="button" href="/act/${action}?${String(new URLSearchParams(parameters))}">${text}</a>`;

/** A table that scrolls on narrow screens; heads that begin with `#` are of numbers. */
export const tableHtml = (label: string, heads: readonly string[], rows: Part): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${heads.map((head) => (head.startsWith('#') ? html`<th scope="col" class="n">${head.slice(1)}</th>` : html`<th scope="col">${head}</th>`))}</tr></thead>
<tbody>
${rows}</tbody>
</table></div>`;

/** A link to an address of the web, or its bare text where it leads elsewhere. */
export const webLink = (url: string, text = url): Html => {
  const parsed = URL.parse(url);
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  return isWeb ? html`<a href="${parsed.href}" rel="noreferrer"><bdi>${text}</bdi></a>` : html`<bdi>${text}</bdi>`;
};

/** The tone in which what became of an item is reported: that of the state of the same name. */
export const fateTone = (fate: ItemFate): string => (fate in stateWords ? stateWords[fate as ItemState][1] : '');

export const stateBadge = (state: ItemState): Html => {
  const [word, tone] = stateWords[state];
  return html`<span class="badge ${tone}">${word}</span>`;
};

/** Items with how they stand, where they are, and the names of their files. */
export const entriesHtml = (entries: readonly KnownEntry[]): Html => html`<ul class="cards">
${entries.map((entry) => {
  const file = fileNameOf(entry);
  return html`<li>
<p class="name"><a href="${itemPath(entry.key)}"><bdi>${entry.title || entry.key}</bdi></a> ${stateBadge(itemStateOf(entry))}</p>
<p class="soft"><code>${entry.key}</code> on ${entry.portal}${file && html` · <bdi>${file}</bdi>`}</p>
</li>
`;
})}</ul>`;

/** The query of a request to a portal: encoded ids. */
const aQuery = /((?<=\s)\/[^\s?]+)\?\S*(?<![,.:;)])/g;

/** A sentence whose parts in backticks are code, with moments as everywhere on the pages. */
export const proseHtml = (text: string): Part =>
  text.split('`').map((part, at, all) => {
    if (at % 2 === 0)
      return part.replaceAll(aQuery, '$1').replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z/g, '$1 $2 UTC');
    return at === all.length - 1 ? `\`${part}` : html`<code>${part}</code>`;
  });

export const hintHtml = (hint: string | null): Part =>
  hint === null ? null : html`<p dir="auto"><strong>What to do:</strong> ${proseHtml(hint)}</p>`;

export const reasonHtml = (reason: Reason): Html => {
  const { code, message, hint } = reason;
  const faulty = faultyLine(reason);
  const todo = [hint, dropAgain(reason)].filter((one) => one !== null).join('. ');
  return html`<p dir="auto">${proseHtml(message)} <code class="soft">${code}</code></p>${faulty === null ? null : html`<pre dir="auto">${faulty}</pre>`}${hintHtml(todo || null)}`;
};

export interface Session {
  /** Is in every form of this session; a form without it does nothing. */
  token: string;
  canLogOut: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | null;
    /** Why the state takes no more data; null while it does. */
    fault: Reason | null;
  }
}

export const send = (reply: FastifyReply, page: Page, status = 200): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').send(pageText(page, reply.request));

/** A parameter of an address, cut to 500 characters; '' where it is missing. */
export const parameterOf = ({ query }: FastifyRequest, name: string): string => {
  const value = (query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.slice(0, 500) : '';
};

export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

// The frame of the public pages (head, stylesheet, header, footer, headers that keep a browser from running anything) and what they are made of.
import { createHash } from 'node:crypto';
import { paths } from '../../dataset-api/paths.ts';
import { documentHtml, type Html, html, type Part, trusted, unescapeHtml } from '../../util/html.ts';
import { plotStyle } from '../../util/plot.ts';
import type { Answer } from '../answer.ts';
import { textOf } from '../content/items.ts';
import { safeText } from '../content/safe-text.ts';
import { publicPath, termsOf } from '../content/view.ts';
import type { Call, Portal } from '../portal.ts';
import { mayRead } from '../refusal.ts';
import type { ListedRow, StoredNode } from '../store/nodes.ts';

/** True when the portal has that operation of a resource: a page names no address that is not there. */
export const isExposed = ({ expose }: Portal, resource: string, operation: string): boolean =>
  expose === undefined || (Object.hasOwn(expose, resource) && expose[resource]?.includes(operation) === true);

const stylesheet = `
:root{color-scheme:light dark;--ink:#1d2129;--soft:#59616e;--line:#d9dde3;--edge:#7b8492;--back:#fff;--band:#f4f6f8;--link:#0b57a4;--mark:#2f77c4}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#a1a9b5;--line:#383f4a;--edge:#7b8492;--back:#14171c;--band:#1d2229;--link:#86b9f5;--mark:#5b9be6}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:1rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:62rem;margin:0 auto;padding:1rem 1.25rem}
header{border-bottom:1px solid var(--line)}
header a{color:inherit;font-weight:600;text-decoration:none}
footer{margin-top:2rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
a{color:var(--link)}
a:not(.text a){display:inline-block;min-height:1.5rem}
a:focus-visible,input:focus-visible,button:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}
h1{font-size:1.75rem;line-height:1.2;margin:.75rem 0}
h2{font-size:1.2rem;margin:2rem 0 .5rem}
.crumb,.soft{color:var(--soft);font-size:.9rem}
.crumb,.soft,.items p{margin:.15rem 0}
.search{display:flex;gap:.5rem;max-width:34rem;margin:.75rem 0}
.search input{flex:1;min-width:0}
.search input,.search button{font:inherit;color:inherit;background:var(--back);border:1px solid var(--edge);border-radius:.4rem;padding:.4rem .75rem}
.search button{background:var(--band);font-weight:600;cursor:pointer}
.items{list-style:none;margin:0;padding:0}
.items>li{padding:.9rem 0;border-bottom:1px solid var(--line)}
.items h2,.items h3{font-size:1.05rem;margin:0}
.tags{display:flex;flex-wrap:wrap;gap:.35rem;list-style:none;margin:0;padding:0}
.tags li{background:var(--band);border:1px solid var(--line);border-radius:1rem;padding:0 .6rem}
.text{max-width:44rem}
.text img{max-width:100%}
.text pre,.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9375rem}
th,td{text-align:start;vertical-align:top;padding:.4rem .75rem;border-bottom:1px solid var(--line)}
.facts{width:100%}
.facts th{width:13rem;padding-inline-start:0;color:var(--soft);font-weight:500}
.scroll{border:1px solid var(--line);border-radius:.4rem;margin-top:.5rem}
.scroll table{font-size:.875rem;width:max-content;min-width:100%}
.scroll th,.scroll td{max-width:22rem;overflow-wrap:break-word}
.scroll thead th{background:var(--band);white-space:nowrap}
.n{text-align:end;font-variant-numeric:tabular-nums}
.scroll tbody tr:last-child td{border-bottom:0}
code{font:.875em ui-monospace,monospace}
.pages,.choices{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:.75rem 0}
.choices [aria-current]{color:inherit;font-weight:600;text-decoration:none}
figure{margin:0}
${plotStyle}
.plot svg{height:14rem}
.plot .line{stroke:var(--mark);stroke-width:2;stroke-linejoin:round}
rect{fill:var(--mark)}
.bars{width:100%;font-size:.875rem}
.bars th,.bars td{padding:.2rem .5rem;border:0}
.bars th{max-width:14rem;font-weight:400}
.bars .bar{width:65%}
.bar svg{display:block;width:100%;height:1.1rem}
@media(max-width:36rem){h1{font-size:1.4rem}.facts tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}.facts th,.facts td{display:block;width:auto;padding:0;border:0}.bars .bar{width:40%}}
`;

const styleHash = createHash('sha256').update(stylesheet).digest('base64');

const headers = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
};

/** A page, with a policy that lets nothing run and nothing be loaded from elsewhere. `canonical` is its one address. */
export const pageAnswer = (
  { baseUrl, portal }: Call,
  { title, canonical, main, status = 200 }: { title?: string; canonical?: string; main: Html; status?: number },
): Answer => {
  const { siteName } = portal.profile;
  const hasNodes = isExposed(portal, 'node', 'index');
  const data = html`Everything here as data: <a href="${baseUrl}${paths.nodes}.json">Dataset REST API</a>`;
  const page = documentHtml(
    title === undefined ? siteName : `${title} | ${siteName}`,
    html`${canonical === undefined ? null : html`<link rel="canonical" href="${canonical}">\n`}<style>${trusted(stylesheet)}</style>\n`,
    html`<header><a href="${baseUrl}/">${siteName}</a></header>
<main>
${main}
</main>
<footer>${hasNodes ? data : siteName}</footer>`,
  );
  return { status, contentType: 'text/html; charset=utf-8', headers: { ...headers }, body: page.text };
};

/** Who publishes a node: the groups that it belongs to and the caller may read, else its author; null where nobody is named. */
const publisherHtml = ({ portal, user, baseUrl }: Call, node: StoredNode): Html | null => {
  const names = itemsOf(node, 'og_group_ref').flatMap(({ target_id }) => {
    const group = portal.store.nodes.byNid(Number(target_id));
    if (group === null || !mayRead(user, group)) return [];
    return [html`<a href="${publicPath(group, baseUrl)}"><bdi>${titleText(group)}</bdi></a>`];
  });
  const author = firstText(node, 'field_author');
  if (names.length === 0 && author === null) return null;
  return html`<p class="soft">Published by ${names.length === 0 ? html`<bdi>${author}</bdi>` : joined(names, ', ')}</p>\n`;
};

/** The page of a dataset or resource; `crumbs` follow the link to the list, `main` its description. */
export const nodeAnswer = (call: Call, node: StoredNode, main: Html, crumbs: Html[] = []): Answer => {
  const title = titleText(node);
  const whole = html`<p class="crumb"><a href="${call.baseUrl}/">Datasets</a>${crumbs}</p>
<h1 dir="auto">${title}</h1>
${publisherHtml(call, node)}${node.status === 1 ? null : html`<p class="soft">Not published: only you and administrators see this page.</p>`}
${formattedHtml(node, 'body')}
${main}`;
  return pageAnswer(call, { title, canonical: publicPath(node, call.baseUrl), main: whole });
};

/** A row in a list of datasets or resources: its title, the beginning of its description, facts. */
export const itemHtml = (
  row: ListedRow,
  { tag, longest, baseUrl, facts }: { tag: 'h2' | 'h3'; longest: number; baseUrl: string; facts: Html | null },
): Html => {
  const words = excerpt(row, longest);
  return html`<li>
<${tag}><a href="${publicPath(row, baseUrl)}"><bdi>${titleText(row)}</bdi></a></${tag}>
${words === '' ? null : html`<p dir="auto">${words}</p>\n`}${facts === null ? null : html`<p class="soft">${facts}</p>\n`}</li>
`;
};

/** Label and value of a row; null: no row. */
export type Fact = readonly [label: string, value: Part];

export const factsHtml = (facts: readonly Fact[]): Html =>
  html`<table class="facts">
<tbody>
${facts
  .filter(([, value]) => value !== null && value !== '')
  .map(([label, value]) => html`<tr><th scope="row">${label}</th><td dir="auto">${value}</td></tr>\n`)}</tbody>
</table>`;

export const itemsOf = (node: StoredNode, field: string): Record<string, unknown>[] => node.fields[field] ?? [];

/** A property of the first item of a field as text; null where there is none. */
export const firstText = (node: StoredNode, field: string, property = 'value'): string | null => {
  const text = textOf(itemsOf(node, field)[0]?.[property]);
  return text === '' ? null : text;
};

export const termNames = ({ portal }: Call, node: StoredNode, field: string): string[] =>
  termsOf(portal, node, field).map(({ name }) => name);

const joined = (parts: readonly Part[], separator: Part): Part =>
  parts.map((part, index) => [index === 0 ? null : separator, part]);

export const linesHtml = (lines: readonly Part[]): Part => (lines.length === 0 ? null : joined(lines, html`<br>`));

/** A formatted text: what the sanitiser made of it, else its plain text with paragraphs; null where it is empty. */
export const formattedHtml = (node: StoredNode, field: string): Html | null => {
  const value = firstText(node, field);
  const safe = firstText(node, field, 'safe_value') ?? (value === null ? null : safeText(value, 'plain_text'));
  return safe === null ? null : html`<div class="text" dir="auto">${trusted(safe)}</div>`;
};

/** At most `longest` characters of a text, with an ellipsis where it was cut. */
export const shortened = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…`;

/** The beginning of a description, one line, cut between words: of its sanitised HTML, else of its plain text. */
const excerpt = ({ html: safe, plain }: ListedRow, longest: number): string => {
  const all =
    safe === null
      ? (plain ?? '')
      : unescapeHtml(safe.replace(/<\/?(?:a|b|code|em|i|strong)\b[^>]*>/g, '').replace(/<[^>]*(?:>|$)/g, ' '));
  const text = all.replace(/\s+/g, ' ').trim();
  if (text.length <= longest) return text;
  const space = text.lastIndexOf(' ', longest);
  return shortened(text, space > longest / 2 ? space : longest);
};

const schemes = new Set(['http:', 'https:', 'ftp:', 'mailto:']);
const bareDomain = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#:]|$)/i;

/** The address a stored link leads to; null where it is none that may be followed (such as `javascript:`). */
export const hrefOf = (url: string, baseUrl: string): string | null => {
  if (url === '<front>') return `${baseUrl}/`;
  if (/^\/?node\/\d+$/.test(url)) return `${baseUrl}/${url.replace('/node', 'node')}`;
  const parsed = URL.parse(bareDomain.test(url) ? `http://${url}` : url);
  return parsed !== null && schemes.has(parsed.protocol) ? parsed.href : null;
};

const linkHtml = (url: string, title: string, baseUrl: string): Html => {
  const href = hrefOf(url, baseUrl);
  const text = title.trim() === '' ? url : title;
  return href === null ? html`<bdi>${text}</bdi>` : html`<a href="${href}" rel="nofollow"><bdi>${text}</bdi></a>`;
};

/** Links to the stored addresses of a field, as bare texts where they may not be followed; null where there are none. */
export const linksHtml = (node: StoredNode, field: string, baseUrl: string): Part =>
  linesHtml(
    itemsOf(node, field).flatMap(({ url, title }) =>
      typeof url === 'string' && url !== '' ? [linkHtml(url, String(title ?? ''), baseUrl)] : [],
    ),
  );

export const titleText = ({ nid, title }: { nid: number; title: string }): string =>
  title.trim() === '' ? `Untitled (${nid})` : title;

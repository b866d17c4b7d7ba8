// What pages are made of: facts, dates, links, excerpts.

import { type Html, html, type Part, trusted } from '../../util/html.ts';
import { textOf } from '../content/items.ts';
import { safeText } from '../content/safe-text.ts';
import type { StoredNode } from '../store/nodes.ts';

/** Label and value of a row; null: no row. */
export type Fact = readonly [label: string, value: Part];

/** The rows as a table. */
export const factsHtml = (facts: readonly Fact[]): Html =>
  html`<table class="facts">
<tbody>
${facts
  .filter(([, value]) => value !== null && value !== '')
  .map(([label, value]) => html`<tr><th scope="row">${label}</th><td dir="auto">${value}</td></tr>\n`)}</tbody>
</table>`;

/** The items of a field. */
export const itemsOf = (node: StoredNode, field: string): Record<string, unknown>[] => node.fields[field] ?? [];

/** A property of the first item of a field as text; null where there is none. */
export const firstText = (node: StoredNode, field: string, property = 'value'): string | null => {
  const text = textOf(itemsOf(node, field)[0]?.[property]);
  return text === '' ? null : text;
};

/** The terms of a field by number. */
export const tidsOf = (node: StoredNode, field: string): number[] => itemsOf(node, field).map(({ tid }) => Number(tid));

/** A formatted text: what the sanitiser made of it, else its plain text with paragraphs; null where it is empty. */
export const formattedHtml = (node: StoredNode, field: string): Html | null => {
  const value = firstText(node, field);
  const safe = firstText(node, field, 'safe_value') ?? (value === null ? null : safeText(value, 'plain_text'));
  return safe === null ? null : html`<div class="text" dir="auto">${trusted(safe)}</div>`;
};

/** A moment in Unix seconds, to the minute and in UTC. */
export const momentHtml = (seconds: number): Html => {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return html`${seconds}`;
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, -8).replace('T', ' ')} UTC</time>`;
};

/** A stored date (`YYYY-MM-DD HH:MM:SS`, UTC) without the time where that is midnight. */
export const dateText = (stored: string): string => stored.replace(/[T ]00:00:00$/, '');

/** At most `longest` characters of a text, with an ellipsis where it was cut. */
export const shortened = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…`;

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#039': "'" };

/** The text of sanitised HTML, tags left out; it is text, to be escaped again. */
export const textOfHtml = (safe: string): string =>
  safe.replace(/<[^>]*(?:>|$)/g, ' ').replace(/&(amp|lt|gt|quot|#039);/g, (_, name: string) => entities[name] ?? '');

/** The beginning of a description, one line, cut between words: of its sanitised HTML, else of its plain text. */
export const excerpt = (
  { html: safe, plain }: { html: string | null; plain: string | null },
  longest = 240,
): string => {
  const text = (safe === null ? (plain ?? '') : textOfHtml(safe)).replace(/\s+/g, ' ').trim();
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

/** A link to a stored address, or its bare text where it may not be followed. */
export const linkHtml = (url: string, { title, baseUrl }: { title: string | null; baseUrl: string }): Html => {
  const href = hrefOf(url, baseUrl);
  const text = title === null || title.trim() === '' ? url : title;
  return href === null ? html`<bdi>${text}</bdi>` : html`<a href="${href}" rel="nofollow"><bdi>${text}</bdi></a>`;
};

/** A title, or words that stand for an empty one. */
export const titleText = ({ nid, title }: { nid: number; title: string }): string =>
  title.trim() === '' ? `Untitled (${nid})` : title;

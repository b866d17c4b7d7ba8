// The facts of a node as rows of a table; what is not known has no row.
import { textOf } from '../content/items.ts';
import { safeText } from '../content/safe-text.ts';
import type { StoredNode } from '../store/nodes.ts';
import { type Html, html, type Part, sanitised } from './html.ts';

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
  return safe === null ? null : html`<div class="text" dir="auto">${sanitised(safe)}</div>`;
};

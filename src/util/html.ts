// HTML as a template tag that escapes whatever it is given.
import { plural } from './plural.ts';

export const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#039;');

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#039': "'", '#39': "'" };

export const unescapeHtml = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#0?39);/g, (entity, name: string) => entities[name] ?? entity);

/** HTML that may be sent; made by {@link html} and {@link trusted} only. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What turns the direction of a text until its end: foreign words could change how ours read. */
const turns = /[\u202a-\u202e\u2066-\u2069]/g;

/** What a template may hold: HTML as it is, text and numbers escaped, null as nothing, a list one after the other. */
export type Part = Html | string | number | null | readonly Part[];

const written = (part: Part): string => {
  if (part === null) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string') return escapeHtml(part.replace(turns, ''));
  return typeof part === 'number' ? String(part) : part.map(written).join('');
};

/** The template with its parts escaped. Attributes are in double quotes. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, string, index) => `${text}${written(parts[index - 1] ?? null)}${string}`));

/** Text that is HTML already, such as what a sanitiser made. */
export const trusted = (text: string): Html => new Html(text);

/** A whole page: what its head has beside the title, and its body. */
export const documentHtml = (title: string, head: Part, body: Part): Html => html`<!DOCTYPE html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${head}</head>
<body>
${body}
</body>
</html>
`;

const reportStyle = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}th,td{text-align:start;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884;overflow-wrap:anywhere}
code{background:#8882;padding:0 .2rem}.sound{color:#1a7040}.mendable{color:#8a5a00}.faulty{color:#c2332b}del{background:#f882;color:inherit}ins{background:#8f82;text-decoration:none}`;

/** A page without scripts that is kept as a file, in pieces: a large one is never one text. */
export function* reportPage(title: string, parts: Iterable<Part>): Generator<string> {
  yield html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${trusted(reportStyle)}</style></head>
<body>
<h1>${title}</h1>
`.text;
  for (const part of parts) yield written(part);
  yield '</body></html>\n';
}

/** A table of such a page; nothing without rows. */
export function* reportTable(heads: readonly string[], rows: Iterable<readonly Part[]>): Generator<Part> {
  let isBegun = false;
  for (const cells of rows) {
    if (!isBegun)
      yield html`<table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>\n`;
    isBegun = true;
    yield html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`;
  }
  if (isBegun) yield trusted('</tbody></table>\n');
}

/** A moment (milliseconds or ISO 8601), to the minute, UTC; what is none as it is. */
export const momentHtml = (at: number | string): Html => {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`${at}`;
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, -8).replace('T', ' ')} UTC</time>`;
};

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size in powers of 1000, such as `1.2 MB`. */
export const sizeWords = (bytes: number): string => {
  if (bytes < 1000) return plural(bytes, 'byte');
  const power = Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
};

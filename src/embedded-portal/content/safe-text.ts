// Text as it may be shown: escaped, or formatted and sanitised.
import { createRequire } from 'node:module';
import type * as Marked from 'marked';
import type sanitizer from 'sanitize-html';
import { escapeHtml } from '../../util/html.ts';

/** The text formats of the portal; any other is unknown. */
type TextFormat = 'html' | 'plain_text';

export const isTextFormat = (format: unknown): format is TextFormat => format === 'html' || format === 'plain_text';

const require = createRequire(import.meta.url);

const allowed: sanitizer.IOptions = {
  allowedTags: (
    'a blockquote br cite code dd dl dt em h1 h2 h3 h4 h5 h6 hr img li ol p pre strong sub sup ' +
    'table tbody td th thead tr ul'
  ).split(' '),
  allowedAttributes: { a: ['href', 'title'], img: ['src', 'alt', 'title'], td: ['colspan'], th: ['colspan'] },
  allowedSchemes: ['http', 'https', 'mailto', 'ftp'],
  nonTextTags: [],
  disallowedTagsMode: 'discard',
};

const plain = (text: string): string => {
  const paragraphs = escapeHtml(text)
    .replace(/\bhttps?:\/\/(?:&\w+;|[^\s<>"'&])*(?:&\w+;|[^\s<>"'&.,;:!?)])/g, (url) => `<a href="${url}">${url}</a>`)
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${paragraph.trim().replaceAll('\n', '<br />\n')}</p>\n`);
  return paragraphs.join('');
};

/** Markdown as HTML with a limited set of tags. May take seconds for a long text: see `long-texts.ts`. */
export const formatted = (text: string): string => {
  // Large, and needed only where such a text is written.
  const { marked } = require('marked') as typeof Marked;
  const sanitizeHtml = require('sanitize-html') as typeof sanitizer;
  const html = sanitizeHtml(marked.parse(text, { async: false, gfm: true }), allowed)
    .replace(/<p>\s*<\/p>/g, '')
    .replaceAll('</p><p>', '</p>\n<p>')
    .trim();
  return html === '' ? '' : `${html}\n`;
};

/** Longest Markdown that is rendered at once, characters. */
const short = 500;

/** True for a text that needs no thread of its own. */
export const isShort = (text: string): boolean => text.length <= short;

/** The text as HTML that may be shown anywhere: Markdown for `html`, where long only if in `rendered`; else plain. */
export const safeText = (text: string, format: TextFormat, rendered?: ReadonlyMap<string, string>): string => {
  if (text === '') return '';
  if (format !== 'html') return plain(text);
  return isShort(text) ? formatted(text) : (rendered?.get(text) ?? plain(text));
};

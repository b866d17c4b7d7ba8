// HTML as a template tag that escapes whatever it is given, so that nothing unescaped can slip in.
import { escapeHtml } from '../refusal.ts';

/** HTML that may be sent; made by {@link html} and {@link sanitised} only. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a template may hold: HTML as it is, text and numbers escaped, null as nothing, a list one after the other. */
export type Part = Html | string | number | null | readonly Part[];

const written = (part: Part): string => {
  if (part === null) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string') return escapeHtml(part);
  return typeof part === 'number' ? String(part) : part.map(written).join('');
};

/** The template with its parts escaped. Attributes stand in double quotes. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, string, index) => `${text}${written(parts[index - 1] ?? null)}${string}`));

/** Text that the sanitiser made (`safe_value` of a formatted field), as HTML. */
export const sanitised = (text: string): Html => new Html(text);

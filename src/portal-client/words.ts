// The words of a reply: the portal's message in a body, a page or a reason phrase, as one clean line.
import { isObject, parsedJson } from '../util/json.ts';

type ReplyText = { reason: string; text: string };

export type Redact = (text: string) => string;

const maxWords = 300;

/** True for an HTML page. An empty body labelled `text/html` (how these portals answer unknown routes) is none. */
export const isHtmlPage = (text: string): boolean =>
  /^\s*(?:<!--[\s\S]*?-->\s*)?<(?:!doctype html|html|head)\b/i.test(text);

/**
 * The message of an error reply as one clean line of at most 300 characters, '' when there is none. Secrets are taken out
 * before anything is cut or stripped, which would leave parts of them, and again where entities stood for their characters.
 */
export const wordsOf = (reply: ReplyText, redact: Redact = (text) => text): string => {
  const words = allWordsOf(reply, redact);
  return words.length > maxWords ? `${words.slice(0, maxWords - 1)}…` : words;
};

/** As {@link wordsOf}, up to some 10,000 characters: database messages name their cause at the end. */
export const allWordsOf = (reply: ReplyText, redact: Redact = (text) => text): string => {
  const body = redact(clean(redact(fromBody(reply.text))));
  return body === '' ? redact(clean(redact(fromReason(reply.reason)))) : body;
};

/** The element names of a `{form_errors: {…}}` reply (`field_license`), empty for any other reply. */
export const formErrorFields = (text: string): string[] => {
  const value = parsed(text);
  const errors = isObject(value) ? value.form_errors : undefined;
  return isObject(errors) ? Object.keys(errors).map(elementName) : [];
};

const fromBody = (text: string): string => {
  if (isHtmlPage(text)) return /<title[^>]*>([\s\S]*?)<\/title>/i.exec(text)?.[1] ?? '';
  const value = parsed(text);
  if (value !== undefined) return fromValue(value);
  return text.replace(/^---\n(?:- )?/, '');
};

const fromValue = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(fromValue).filter(Boolean).join('; ');
  if (!isObject(value)) return '';
  const errors = value.form_errors;
  if (isObject(errors)) {
    return Object.entries(errors)
      .map(([element, message]) => `${elementName(element)}: ${fromValue(message)}`)
      .join('; ');
  }
  return fromValue(value.message ?? value.error);
};

/** `field_license][und][select` (the form's element path) is about `field_license`. */
const elementName = (element: string): string => element.replace(/\].*$/s, '');

/** Services puts `<standard phrase> : <message>` or `: <message>` into the status line. */
const fromReason = (reason: string): string => {
  const at = reason.search(/(?:^|\s):\s/);
  return at < 0 ? reason : reason.slice(at).replace(/^\s*:\s/, '');
};

const clean = (text: string): string =>
  text
    .slice(0, 10_000)
    .replace(/<\/(?:li|p|div|h\d)>|<br\s*\/?>/gi, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(lt|gt|quot|#0?39|amp);/g, (_, name: string) => entities[name] ?? ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a portal sends must not reach a terminal as it is
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .trim();

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#039': "'", '#39': "'", amp: '&' };

const parsed = (text: string): unknown => (/^\s*["[{]/.test(text) ? parsedJson(text) : undefined);

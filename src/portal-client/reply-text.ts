// The text of a reply: one exchange on a pool, read within limits of time and memory; and the portal's message in a body, a page
// or a reason phrase, as one clean line.
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors, type Pool } from 'undici';
import { abortable } from '../util/concurrency.ts';
import { unescapeHtml } from '../util/html.ts';
import { headersAsText } from '../util/http.ts';
import { isObject, parsedJson } from '../util/json.ts';

export interface TextReply {
  status: number;
  /** Reason phrase of the status line; these portals carry their message there. */
  reason: string;
  headers: IncomingHttpHeaders;
  /** The body as UTF-8, without a byte order mark. */
  text: string;
}

const megabyte = 1024 * 1024;

/** Largest body of most replies, and most objects and lists in it: parsed, each takes some twenty times its two bytes. */
const [usualBytes, usualValues] = [2 * megabyte, 20_000];

/** Bytes of unfinished bodies: of one portal, of all together, and what each may have in any case: one body with rows. */
const mostBytes = { ofOne: 64 * megabyte, ofAll: 128 * megabyte, ofEach: 16 * megabyte };

const reading = new Set<ReplyMemory>();

/** The memory for unfinished bodies of one portal: an equal share, so that no portal takes that of others. */
export class ReplyMemory {
  #bytes = 0;

  take(bytes: number): boolean {
    this.#bytes += bytes;
    reading.add(this);
    return this.#bytes <= Math.max(mostBytes.ofEach, Math.min(mostBytes.ofOne, mostBytes.ofAll / reading.size));
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes === 0) reading.delete(this);
  }
}

export interface Patience {
  /** Its reason is what the exchange rejects with. */
  signal: AbortSignal;
  /** Largest body that is read, where it may be larger than that of a node. */
  maxBytes?: number | undefined;
  memory: ReplyMemory;
  /** Milliseconds the whole exchange may take, and what it rejects with then. */
  total: { ms: number; error: () => Error };
}

/** Sends a request and resolves with the reply; rejects with the fault of connection or body, or as `patience` says. */
export const exchangeText = async (
  pool: Pool,
  options: Dispatcher.RequestOptions,
  { signal, maxBytes, memory, total }: Patience,
): Promise<TextReply> => {
  const ends = new AbortController(); // a combined signal costs as much as the rest of the exchange
  const onAbort = () => ends.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => ends.abort(total.error()), total.ms);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // A request that waits in the pool does not end with its signal.
    const reply = await abortable(pool.request({ ...options, signal: ends.signal }), ends.signal);
    for await (const chunk of reply.body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (!memory.take(chunk.length)) throw tooLong('all replies at once are too large');
      if (bytes > (maxBytes ?? usualBytes)) throw tooLong(`the reply has more than ${maxBytes ?? usualBytes} bytes`);
      chunks.push(chunk);
    }
    const text = utf8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    if (maxBytes === undefined && hasMoreValues(text, usualValues))
      throw tooLong(`the reply has more than ${usualValues} objects and lists`);
    return { status: reply.statusCode, reason: reply.statusText, headers: headersAsText(reply.headers), text };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    memory.giveBack(bytes);
  }
};

const tooLong = (message: string): Error => new errors.ResponseExceededMaxSizeError(message);

const hasMoreValues = (json: string, most: number): boolean => {
  let values = 0;
  let isText = false;
  for (let at = 0; at < json.length && values <= most; at++) {
    const character = json[at];
    if (character === '\\') at += 1;
    else if (character === '"') isText = !isText;
    else if (!isText && (character === '{' || character === '[')) values += 1;
  }
  return values > most;
};

/** Leaves out a byte order mark. */
const utf8 = new TextDecoder();

type ReplyText = Pick<TextReply, 'reason' | 'text'>;

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
    .replace(/&#?\w+;/g, (entity) => unescapeHtml(entity))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a portal sends must not reach a terminal as it is
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .trim();

const parsed = (text: string): unknown => (/^\s*["[{]/.test(text) ? parsedJson(text) : undefined);

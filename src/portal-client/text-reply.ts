// One exchange on a pool with its reply read as text: undici's `request` without a stream for each body.
import { type Dispatcher, errors, type Pool } from 'undici';
import { headersAsText } from '../util/http.ts';

/** A reply, whatever its status. */
export interface TextReply {
  status: number;
  /** The reason phrase. */
  reason: string;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  /** The body as UTF-8, without a byte order mark. */
  text: string;
}

/** Largest body of most replies; a node with thousands of references stays far below. */
const usualBytes = 2 * 1024 * 1024;

/** Most objects and lists in such a body: parsed, each takes some twenty times its two bytes. */
const usualValues = 20_000;

const megabyte = 1024 * 1024;

/** Bytes of unfinished bodies: of one portal, of all together, and what each may have in any case: one body with rows. */
const mostBytes = { ofOne: 64 * megabyte, ofAll: 128 * megabyte, ofEach: 16 * megabyte };

/** The portals whose replies are being read. */
const reading = new Set<ReplyMemory>();

/** The memory for unfinished bodies of one portal: an equal share, so that no portal takes that of others. */
export class ReplyMemory {
  #bytes = 0;

  /** Takes more; false where that is too much. */
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

/** When an exchange is given up. */
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
export const exchangeText = (
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  patience: Patience,
): Promise<TextReply> => {
  const { promise, resolve, reject } = Promise.withResolvers<TextReply>();
  pool.dispatch(options, new TextHandler(patience, { resolve, reject }));
  return promise;
};

interface Answer {
  resolve: (reply: TextReply) => void;
  reject: (error: unknown) => void;
}

class TextHandler implements Dispatcher.DispatchHandler {
  readonly #patience: Patience;
  readonly #answer: Answer;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#giveUp(this.#patience.signal.reason);
  #controller: Dispatcher.DispatchController | null = null;
  #head: Omit<TextReply, 'text'> | null = null;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Why it was given up; undefined while it continues. */
  #ended: { error: unknown } | undefined;

  constructor(patience: Patience, answer: Answer) {
    this.#patience = patience;
    this.#answer = answer;
    const { signal, total } = patience;
    signal.addEventListener('abort', this.#onAbort);
    this.#timer = setTimeout(() => this.#giveUp(total.error()), total.ms);
    if (signal.aborted) this.#onAbort();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(asError(this.#ended.error));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: TextReply['headers'],
    reason = '',
  ): void {
    if (status < 200) return;
    this.#head = { status, reason, headers: headersAsText(headers) };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    const { maxBytes = usualBytes, memory } = this.#patience;
    this.#bytes += chunk.length;
    const isFitting = memory.take(chunk.length);
    if (this.#bytes <= maxBytes && isFitting) this.#chunks.push(chunk);
    else this.#tooLong(isFitting ? `the reply has more than ${maxBytes} bytes` : 'all replies at once are too large');
  }

  onResponseEnd(): void {
    const text = textOf(this.#chunks);
    if (this.#patience.maxBytes === undefined && hasMoreValues(text, usualValues))
      this.#tooLong(`the reply has more than ${usualValues} objects and lists`);
    this.#stopWaiting();
    if (this.#head) this.#answer.resolve({ ...this.#head, text });
  }

  #tooLong(message: string): void {
    this.#giveUp(new errors.ResponseExceededMaxSizeError(message));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#stopWaiting();
    this.#answer.reject(error);
  }

  #giveUp(error: unknown): void {
    if (this.#ended) return;
    this.#ended = { error };
    this.#stopWaiting();
    this.#answer.reject(error);
    this.#controller?.abort(asError(error));
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    this.#patience.memory.giveBack(this.#bytes);
    this.#bytes = 0;
    this.#patience.signal.removeEventListener('abort', this.#onAbort);
  }
}

/** True for JSON that has more objects and lists. */
const hasMoreValues = (json: string, most: number): boolean => {
  let [values, isText] = [0, false];
  for (let at = 0; at < json.length && values <= most; at++) {
    const character = json[at];
    if (character === '\\') at += 1;
    else if (character === '"') isText = !isText;
    else if (!isText && (character === '{' || character === '[')) values += 1;
  }
  return values > most;
};

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

const textOf = (chunks: Buffer[]): string => {
  const [only] = chunks;
  const bytes = only && chunks.length === 1 ? only : Buffer.concat(chunks);
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
};

// HTTP connections of a portal: limits and time-outs; reads are retried, writes never.
import { Readable } from 'node:stream';
import { Pool } from 'undici';
import { paths } from '../dataset-api/paths.ts';
import { machineFault, PortalError, PortalUnreachableError, SluiceError } from '../model/errors.ts';
import { pause, Semaphore } from '../util/concurrency.ts';
import { isSystemError } from '../util/files.ts';
import { headersAsText } from '../util/http.ts';
import { FreeClient, headWithin, steady } from '../util/patience.ts';
import { inSpan } from '../util/tracing.ts';
import { answers, isFrontPage, type PortalFacts, type Reply, situationOf } from './answers.ts';
import { failureOf, isTransient, networkFailure, tooSlow } from './replies.ts';
import { exchangeText, ReplyMemory, type TextReply } from './reply-text.ts';
import type { PortalHooks, PortalSettings, RequestKind } from './settings.ts';

/** A request before session headers are added. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  /** A function makes the chunks of a streamed body, again for every time it is sent; `content-length` is among the headers then. */
  body?: string | Buffer | (() => AsyncIterable<Buffer>);
  /** Milliseconds to wait for the reply's head instead of the portal's `headersMs`. */
  headersMs?: number;
  /** How often a read is repeated, instead of the portal's `readRetries`. */
  retries?: number;
  /** Milliseconds the whole exchange may take, instead of the portal's time-outs together; for uploads and imports. */
  totalMs?: number;
  /** Largest reply body, where it may be larger than that of a node. */
  maxBytes?: number;
  /** True for a POST that changes nothing: it is repeated as a GET is. */
  isRead?: boolean;
  /** Awaited right before the request leaves; rejects when it must no longer be sent. */
  mayWrite?: () => Promise<void>;
  /** True for a check whether the portal answers at all: it does not wait for requests in flight. */
  isProbe?: boolean;
}

export type FileReply = { status: number; headers: Record<string, string | string[] | undefined>; body: Readable };

/** Bytes of an unwanted body that are read to keep its connection. */
const maxUnwantedBytes = 64 * 1024;
export const maxRedirects = 5;

export const openHttp = (settings: PortalSettings, hooks: PortalHooks, facts: PortalFacts) => {
  const silence = new Silence();
  const memory = new ReplyMemory();
  const origin = new URL(facts.url).origin;
  const basePath = facts.url.slice(origin.length);
  const { connectMs, headersMs, bodyMs } = settings.timeouts;
  const semaphore = new Semaphore(settings.connections);
  const pool = new Pool(origin, {
    connections: settings.connections + 1, // for probes
    factory: (origin, options) => new FreeClient(origin, options),
    connect: { timeout: connectMs },
    headersTimeout: headersMs,
    bodyTimeout: bodyMs,
    // HTTP/2 has no reason phrase, and these portals put their messages there.
    allowH2: false,
  });
  const filePool = pool.compose(headWithin(headersMs));

  /** Any reply that is no transient failure; reads are repeated after these, writes are sent exactly once. */
  const exchange = async (request: HttpRequest, signal: AbortSignal): Promise<Reply> => {
    const isRead = request.method === 'GET' || request.isRead === true;
    for (let attempt = 0; ; attempt++) {
      // A reply, or why there is none just now.
      const answer = await follow(request, signal).then(
        (reply) => (isTransient(reply, facts) ? failureOf(reply, facts) : reply),
        (error: unknown) => {
          if (error instanceof PortalUnreachableError && !signal.aborted) return error;
          throw error;
        },
      );
      if (!(answer instanceof PortalError)) return answer;
      const isBusy = answer.request.situation === 'busy';
      const most = isBusy ? busyRetries : (request.retries ?? settings.readRetries);
      if (!isRead || attempt >= most) throw answer;
      const waitMs = isBusy ? Math.min(longestBusyMs, span(50, attempt, Math.random())) : pauseAfter(answer, attempt);
      if (waitMs === undefined) throw answer;
      await pause(waitMs, signal);
    }
  };

  /** Milliseconds until a read is repeated; undefined when the portal asked for a longer pause than is waited out here. */
  const pauseAfter = ({ request: { retryAfterMs: askedMs, status } }: PortalError, attempt: number) => {
    const waitsFor = hooks.isPatient?.() === true ? 'command' : 'job';
    const waitMs = readPause(attempt, { askedMs, random: Math.random(), waitsFor });
    if (askedMs !== undefined && waitMs !== undefined && waitMs > 0) {
      hooks.log.warn({ portal: facts.name, status, waitMs }, 'the portal requested a pause');
    }
    return waitMs;
  };

  /** Streams a file to `take`; follows no redirects. @throws PortalUnreachableError, also when it breaks off */
  const file = async <T>(
    path: string,
    headers: Record<string, string>,
    take: (reply: FileReply) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    const request = { method: 'GET', path } as const;
    await semaphore.acquire(signal);
    let isAsked = false;
    try {
      await hooks.takeToken?.(signal);
      isAsked = true;
      const sent = filePool.request({
        ...request,
        origin,
        path: `${basePath}${path}`,
        headers: { 'user-agent': 'sluice', 'accept-encoding': 'identity', ...headers },
        signal,
      });
      const reply = await silence.until(sent);
      try {
        const { statusCode: status, statusText: reason } = reply;
        const answer = { ...request, status, reason, headers: headersAsText(reply.headers), text: '' };
        const { outcome } = answers[situationOf(answer, facts)];
        if (status >= 300 && ['wait', 'repeat'].includes(outcome)) throw failureOf(answer, facts);
        const error = (bytes: number, ms: number) =>
          tooSlow(request, `sent only ${bytes} bytes within ${ms} ms`, facts);
        const body = steady(reply.body, { pauseMs: settings.timeouts.bodyMs, error });
        return await take({ status, headers: answer.headers, body: Readable.from(body, { objectMode: false }) });
      } finally {
        // Of a file that is not wanted only so much is read; beyond that the connection is given up.
        if (!reply.body.destroyed) await reply.body.dump({ limit: maxUnwantedBytes }).catch(() => undefined);
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const known = machineFault(error); // no fault of our Redis or disk is one of the portal
      if (!isAsked || known instanceof SluiceError || isSystemFault(error)) throw known;
      throw networkFailure(request, error, facts);
    } finally {
      semaphore.release();
    }
  };

  /** Closes the connections; what is still in flight is given two seconds. */
  const close = async (): Promise<void> => {
    if (pool.destroyed) return;
    const timer = setTimeout(() => void pool.destroy(), 2000);
    await pool.close().catch(() => undefined);
    clearTimeout(timer);
  };

  /** The reply, after redirects on the same origin where the request is a read. */
  const follow = async (request: HttpRequest, signal: AbortSignal): Promise<Reply> => {
    let target = `${basePath}${request.path}`;
    for (let hops = 0; ; hops++) {
      const reply = await send(request, target, signal);
      const { location } = reply.headers;
      const redirect = reply.status >= 301 && reply.status <= 308 && reply.status !== 304 && location !== undefined;
      if (!redirect || request.method !== 'GET' || hops === maxRedirects) return reply;
      const next = URL.parse(location, `${origin}${target}`);
      // A front page is no answer: the portal leads there when it ends a session.
      if (next?.origin !== origin || isFrontPage(next, facts.url)) return reply;
      target = `${next.pathname}${next.search}`;
    }
  };

  const send = async (request: HttpRequest, target: string, signal: AbortSignal): Promise<Reply> => {
    const { takeToken, onRequest, log } = hooks;
    if (!request.isProbe) await semaphore.acquire(signal);
    try {
      await takeToken?.(signal);
      // Checked last, after all waiting.
      await request.mayWrite?.();
      const kind = kindOf(request);
      const { method, path } = request;
      const about = { 'sluice.portal': facts.name, 'sluice.kind': kind, 'http.request.method': method };
      return await inSpan(`portal ${kind}`, about, async (span) => {
        const began = performance.now();
        let status: number | null = null;
        try {
          const reply = await silence.until(exchangeOnce(request, target, signal), request.totalMs);
          status = reply.status;
          span.setAttribute('http.response.status_code', status);
          const ms = Math.round(performance.now() - began);
          log.debug({ portal: facts.name, method, path, status, ms }, 'answered');
          return { method, path, ...reply };
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          // A fault of the body, such as a file that changed, or of this machine.
          const known = machineFault(error);
          throw known instanceof SluiceError ? known : networkFailure(request, error, facts);
        } finally {
          onRequest?.(kind, performance.now() - began, status);
        }
      });
    } finally {
      if (!request.isProbe) semaphore.release();
    }
  };

  const exchangeOnce = (request: HttpRequest, target: string, signal: AbortSignal): Promise<TextReply> => {
    const { method, body, headersMs, maxBytes } = request;
    const { timeouts } = settings;
    // The pool's own time-outs begin anew with each byte.
    const ms = request.totalMs ?? timeouts.connectMs + (headersMs ?? timeouts.headersMs) + timeouts.bodyMs;
    const error = () => tooSlow(request, `did not end within ${ms} ms`, facts);
    const options = {
      method,
      path: target,
      headers: { accept: 'application/json', 'user-agent': 'sluice', ...request.headers },
      ...(body === undefined ? {} : { body: bodyFor(body, () => silence.heard()) }),
      ...(headersMs === undefined ? {} : { headersTimeout: headersMs }),
    };
    return exchangeText(pool, options, { signal, maxBytes, memory, total: { ms, error } });
  };

  return { settings, hooks, facts, silence, exchange, file, close };
};

export type Http = ReturnType<typeof openHttp>;

/** True for what the file system of this machine refuses while a file is stored; sockets fail by `write`, too. */
const isSystemFault = (error: unknown): boolean =>
  isSystemError(error) &&
  ['open', 'write', 'fsync', 'rename'].includes(error.syscall ?? '') &&
  !['EPIPE', 'ECONNRESET'].includes(error.code);

const kindOf = ({ method, path, isRead, isProbe }: HttpRequest): RequestKind => {
  if (isProbe) return 'probe';
  if (path.startsWith(paths.login)) return 'login';
  if (method === 'GET' || isRead) return 'read';
  if (path.endsWith('/attach_file')) return 'upload';
  return path.endsWith('/import') ? 'import' : 'write';
};

/** undici takes any async iterable as body; its types name streams only. `onSent` is called as the portal takes it. */
const bodyFor = (body: NonNullable<HttpRequest['body']>, onSent: () => void): string | Buffer | Readable =>
  typeof body === 'function' ? (told(body(), onSent) as unknown as Readable) : body;

async function* told(chunks: AsyncIterable<Buffer>, onSent: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onSent();
    yield chunk;
  }
}

/** A longer `Retry-After` is left to the job's own retry, which everybody can see; where there is no job, it ends the command. */
const longestPauseMs = { job: 10_000, command: 60_000 } as const;

/** How often a read is repeated that a busy database did not take, and how long it waits at most in between. */
const [busyRetries, longestBusyMs] = [12, 2000];

/** A span that doubles with every attempt (from 0), of which `random` (0 to 1) takes away up to half. */
const span = (firstMs: number, attempt: number, random: number): number => firstMs * 2 ** attempt * (0.5 + random / 2);

/** Milliseconds before the next try of a read: what the portal asked for (undefined where that is too long), else a span. */
export const readPause = (
  attempt: number,
  { askedMs, random, waitsFor = 'job' }: { askedMs?: number | undefined; random: number; waitsFor?: 'job' | 'command' },
): number | undefined => {
  if (askedMs !== undefined) return askedMs <= longestPauseMs[waitsFor] ? askedMs : undefined;
  return span(250, attempt, random);
};

/** How long a portal has owed every reply that is waited for. */
class Silence {
  readonly #grants = new Set<{ ms: number }>();
  #since = 0;

  /** Milliseconds since it last gave a sign of life; null while it owes nothing. `grantedMs`: what an upload or import may take. */
  get state(): { ms: number; grantedMs: number } | null {
    if (this.#grants.size === 0) return null;
    const grantedMs = Math.max(...[...this.#grants].map(({ ms }) => ms));
    return { ms: Math.round(performance.now() - this.#since), grantedMs };
  }

  /** It has answered something, or taken a part of an upload. */
  heard(): void {
    this.#since = performance.now();
  }

  async until<T>(reply: Promise<T>, grantedMs = 0): Promise<T> {
    const grant = { ms: grantedMs };
    if (this.#grants.size === 0) this.heard();
    this.#grants.add(grant);
    try {
      const heard = await reply;
      this.heard();
      return heard;
    } finally {
      this.#grants.delete(grant);
    }
  }
}

// An HTTP client with a rate limit per host, which pauses hosts that fail or ask for it.
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { credentialsFor } from '../../config/source-credentials.ts';
import { SourceRefusedError, SourceUnreachableError } from '../../model/errors.ts';
import { pause } from '../../util/concurrency.ts';
import { isErrno } from '../../util/files.ts';
import { hasCredentials, headersAsText, retryAfterMs } from '../../util/http.ts';
import { headWithin } from '../../util/patience.ts';
import { withoutSecrets } from '../../util/secrets.ts';
import { addressGuard, guardedConnector, refusalOfHost, refusalOfName } from './connect.ts';
import { type FetchOptions, type FetchPolicy, networkFailure, shown } from './policy.ts';
import { oneOf } from './response-headers.ts';

/** A shorter pause that a host requested is waited out here; a longer one is left to the retry of the job. */
const longestWaitMs = 5_000;

const paceOf = (requestsPerSecond: number) => {
  const spacingMs = requestsPerSecond === 0 ? 0 : 1000 / requestsPerSecond;
  const next = new Map<string, number>();
  const quiets = new Map<string, { until: number; why: string }>();
  /** Resolves when the next request to a host may be sent. @throws SourceUnreachableError in a longer pause */
  const turn = async (host: string, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    const now = Date.now();
    const { until = 0, why = '' } = quiets.get(host) ?? {};
    if (until - now > longestWaitMs)
      throw new SourceUnreachableError(`${host} ${why}: paused for ${Math.ceil((until - now) / 1000)} s`, {
        hint: 'no requests are sent until then; sluice retries, after a long pause in the next run',
        retryAfterMs: until - now,
      });
    const at = Math.max(now, until, next.get(host) ?? 0);
    next.set(host, at + spacingMs);
    if (at > now) await pause(at - now, signal);
  };
  /** Pauses a host for `ms` milliseconds; `why` follows its name: `requested a pause`. */
  const quiet = (host: string, ms: number, why: string): void => {
    const until = Date.now() + ms;
    if (until > (quiets.get(host)?.until ?? 0)) quiets.set(host, { until, why });
  };
  return { turn, quiet };
};

/** The answer where the redirects ended. Its body must be read to the end or destroyed. */
export interface Answer {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: Dispatcher.ResponseData['body'];
  url: URL;
  /** The address as messages show it, with where it came from. */
  where: string;
  /** The address of the login that was sent, as configured; null where none was. */
  login: string | null;
}

/** `headersFor` gives the headers for the request to an address, and is called again after each redirect. */
type Question = Pick<FetchOptions, 'signal' | 'log'> & { headersFor(url: URL): Record<string, string> };

export interface Posting {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

export const guardedClient = (policy: FetchPolicy, lookup: LookupFunction = systemLookup) => {
  /** Names that did not resolve here, until when (Unix ms) they are not looked up again. */
  const unknownUntil = new Map<string, number>();
  const guard = addressGuard(policy.allowPrivate);
  const pace = paceOf(policy.requestsPerSecond);
  const { connectMs, headersMs, bodyMs, proxy } = policy;
  const connect = guardedConnector(guard, { connectMs, lookup });
  const options = { connect, connections: connectionsPerHost, headersTimeout: headersMs, bodyTimeout: bodyMs };
  // The connection to a proxy itself is not guarded, since proxies lie inside.
  const bare = proxy ? new EnvHttpProxyAgent({ ...options, ...proxy }) : new Agent(options);
  const agent = bare.compose(headWithin(headersMs));

  /** A server that echoes a login brings it into no message, log or name. */
  const redact = (text: string): string =>
    withoutSecrets(text, policy.credentials?.flatMap(({ secrets }) => secrets) ?? []);

  /** Sends a GET and follows redirects. @throws SourceRefusedError, SourceUnreachableError */
  const ask = async (address: string, question: Question): Promise<Answer> => {
    const trail: URL[] = [];
    let url = admitted(URL.parse(address), trail);
    for (;;) {
      const where = redact(placed(url, trail));
      // Who redirects to another server, or back from there, does not get a login to it.
      const isHome = trail.every(({ origin }) => origin === url.origin);
      const credentials = isHome ? credentialsFor(url, policy.credentials ?? []) : null;
      const headersFor = (): Record<string, string> => ({ ...credentials?.headers, ...question.headersFor(url) });
      const reply = await send(url, where, { ...question, headersFor });
      const login = credentials?.name ?? null;
      const { statusCode: status, body } = reply;
      const headers = headersAsText(reply.headers);
      const location = oneOf(headers.location);
      if (!redirects.has(status) || location === undefined) return { status, headers, body, url, where, login };
      release(body);
      trail.push(url);
      const { maxRedirects } = policy;
      const hint = 'open the address in a browser, and give the final one instead';
      if (trail.length > maxRedirects)
        throw new SourceRefusedError(`${shown(trail[0] ?? url)} redirects more than ${maxRedirects} times`, { hint });
      url = admitted(URL.parse(location, url.href), trail);
    }
  };

  /**
   * Sends one POST and resolves with the status of the answer, whatever it is; no redirect is followed.
   * @throws SourceRefusedError for an address that must not be reached; rejects as undici does when no answer comes
   */
  const post = async (address: string, { headers, body, signal }: Posting): Promise<number> => {
    const url = new URL(address);
    const refusal = refusalOfHost(guard, url.hostname);
    if (refusal !== null) throw refusal;
    if (proxy) await judgeName(url, url.origin);
    const path = `${url.pathname}${url.search}`;
    const reply = await agent.request({ method: 'POST', origin: url.origin, path, headers, body, signal });
    release(reply.body);
    return reply.statusCode;
  };

  /** Pauses a host that sent Retry-After, and returns the milliseconds that it asked for. */
  const heed = (answer: Answer): number | undefined => {
    const ms = retryAfterMs(oneOf(answer.headers['retry-after']), Date.now());
    if (ms !== undefined) pace.quiet(answer.url.host, ms, 'requested a pause');
    return ms;
  };

  const close = (): Promise<void> => agent.destroy();

  const send = async (url: URL, where: string, { headersFor, signal, log }: Question) => {
    await pace.turn(url.host, signal);
    if (proxy) await judgeName(url, where);
    const begun = performance.now();
    try {
      const reply = await agent.request({
        method: 'GET',
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        headers: { 'user-agent': policy.userAgent, ...headersFor(url) },
        signal,
      });
      log?.debug({ url: where, status: reply.statusCode, ms: Math.round(performance.now() - begun) }, 'answered');
      return reply;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // Further requests to a dead host need not run into the same time-out.
      if (isErrno(error, 'UND_ERR_CONNECT_TIMEOUT')) pace.quiet(url.host, deadMs, 'was unreachable a moment ago');
      throw error instanceof SourceRefusedError ? inPlace(where, error) : networkFailure(where, error);
    }
  };

  /** A proxy resolves names itself: a name is checked as far as it resolves here; for others, the proxy must block. */
  const judgeName = async ({ hostname }: URL, where: string): Promise<void> => {
    // Where only the proxy resolves names, every lookup here takes seconds.
    if ((unknownUntil.get(hostname) ?? 0) > Date.now()) return;
    const refusal = await refusalOfName(guard, hostname, lookup);
    if (refusal === 'unknown') unknownUntil.set(hostname, Date.now() + 60_000);
    else if (refusal !== null) throw inPlace(where, refusal);
  };

  /** The address where it may be fetched. Throws SourceRefusedError where it may not. */
  const admitted = (url: URL | null, trail: readonly URL[]): URL => {
    const from = trail.at(-1);
    const refused = (what: string, hint: string): SourceRefusedError =>
      new SourceRefusedError(`${from === undefined ? '' : `${shown(from)} redirects: `}${what}`, { hint });
    if (url === null) throw refused('invalid address', 'use a full address: https://host/path');
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw refused(
        `addresses that begin with ${url.protocol} are not fetched`,
        'only http:// and https:// are; use `file` for local files',
      );
    if (hasCredentials(url))
      throw refused(
        `${shown(url)} holds a user name or password: it is not fetched`,
        'addresses are published and logged; write the login into `sources.credentials` of the configuration',
      );
    const refusal = refusalOfHost(guard, url.hostname);
    if (refusal !== null) throw inPlace(placed(url, trail), refusal);
    return url;
  };

  return { redact, ask, post, heed, close };
};

/** Releases an answer: a small rest is read to its end, so that the connection can be reused. */
export const release = (body: Answer['body']): void => {
  body.on('error', () => undefined);
  void body.dump({ limit: 64 * 1024 }).catch(() => undefined);
};

const [connectionsPerHost, deadMs] = [6, 10_000];

const redirects = new Set([301, 302, 303, 307, 308]);

const placed = (url: URL, trail: readonly URL[]): string =>
  trail[0] === undefined ? shown(url) : `${shown(url)} (redirected from ${shown(trail[0])})`;

/** A refusal of the guard names only the host; this one names the address, too, and how the client got there. */
const inPlace = (where: string, { message, hint, cause }: SourceRefusedError): SourceRefusedError =>
  new SourceRefusedError(`${where}: ${message}`, { hint, cause });

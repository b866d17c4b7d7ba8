// The session with one portal: login on demand, its cookies, shared by all calls, renewed once when the portal forgets it.
import { type Cookie, CookieJar, pathMatch } from 'tough-cookie';
import type { z } from 'zod';
import { paths } from '../dataset-api/paths.ts';
import { PortalBusyError, PortalLoginError, PortalRefusedError, PortalUnreachableError } from '../model/errors.ts';
import { type AdaptiveSlots, abortable, adaptiveSlots } from '../util/concurrency.ts';
import { withoutSecrets } from '../util/secrets.ts';
import { answers, type PortalFacts, type Reply, situationOf } from './answers.ts';
import { type FileReply, type Http, type HttpRequest, maxRedirects, openHttp } from './http.ts';
import { bodyOf, failureOf, loginResultSchema, wrongShape } from './replies.ts';
import { isHtmlPage } from './reply-text.ts';
import type { PortalHooks, PortalSettings } from './settings.ts';

/** A request of the API in the name of the logged-in user. */
export interface Call extends HttpRequest {
  /** Names the kind of request, such as `create node`, to know whether it worked before. */
  action: string;
  upload?: string;
  /** True for what saves a node: overlapping saves deadlock on many portals, then fewer are sent at once. */
  isSave?: boolean;
  /** Runs between a renewed login and the repeat; a write checks there whether it must still be sent. */
  beforeRepeat?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** How long an unused session is kept, and how long a log-out may take, milliseconds. */
const [idleMs, logoutMs] = [60_000, 2000];

/** Repeats of a request whose session was over: at most, and before any write has proven that cookies arrive. */
const [mostRenewals, mostUnproven] = [10, 3];

/** A session is renewed before a portal ends it in the middle of the work (embedded ones after twelve hours), milliseconds. */
const renewMs = 6 * 3_600_000;

export class Session {
  readonly http: Http;
  readonly saves: AdaptiveSlots;
  /** What errors about replies need to know of this portal. */
  readonly portal: PortalFacts;
  /** The highest node id that a list or a create has shown, 0 before, and the request that asks for it. */
  readonly nids: { highest: number; asked?: Promise<unknown> } = { highest: 0 };
  private readonly closing = new AbortController();
  /** Ends with the portal; for work that several calls share. */
  readonly signal: AbortSignal = this.closing.signal;
  private readonly worked = new Set<string>();
  private hasWritten = false;
  private doubtsToken = false;
  private live: Live | null = null;
  private pending: Promise<Live> | null = null;
  private refused: PortalLoginError | null = null;
  private idle: NodeJS.Timeout | undefined;

  constructor(settings: PortalSettings, hooks: PortalHooks) {
    const { origin, pathname } = new URL(settings.url);
    const url = `${origin}${pathname.replace(/\/+$/, '')}`;
    this.portal = { name: settings.name, url, proven: false, user: null, redact: (text) => this.redact(text) };
    this.http = openHttp(settings, hooks, this.portal);
    this.saves = adaptiveSlots(settings.connections);
  }

  /** Who is logged in; logs in when no one is. @throws PortalLoginError when that was refused, now or earlier */
  async identity(signal: AbortSignal): Promise<Identity> {
    return (await this.current(signal)).identity;
  }

  /** Forgets session and refusal and logs in again; calls made at once share one login. */
  async login(signal: AbortSignal): Promise<Identity> {
    if (this.pending === null) {
      this.refused = null;
      this.live = null;
    }
    return (await this.current(signal)).identity;
  }

  /** The successful reply. A session that is over is renewed by one login for all waiting calls, and the request sent again. */
  async call(call: Call, signal: AbortSignal): Promise<Reply> {
    this.logoutLater();
    for (let renewals = 0; ; renewals++) {
      const live = await this.current(signal);
      const isWrite = call.method !== 'GET' && !call.isRead;
      if (live.isAnonymous && isWrite) {
        // Not a refused login: that would pause a portal whose exports need none.
        throw new PortalRefusedError(
          `portal ${this.portal.name}: it has no login, so it can only be exported`,
          { method: call.method, path: call.path, mayHaveHappened: false },
          { hint: credentialsHint },
        );
      }
      if (renewals > 0) await call.beforeRepeat?.(signal);
      const { reply, portal } = await this.send(call, live, signal);
      // What is forbidden to a fresh session as well is no fault of the session.
      const known = { ...portal, worked: renewals === 0 && this.worked.has(call.action) };
      const isLost = !live.isAnonymous && answers[situationOf(reply, known)].logsIn === true;
      if (isLost && renewals < (this.hasWritten ? mostRenewals : mostUnproven)) {
        this.drop(live, reply, call);
        continue;
      }
      if (reply.status < 200 || reply.status >= 300) throw failureOf(reply, known);
      this.worked.add(call.action);
      this.hasWritten ||= isWrite;
      return reply;
    }
  }

  /** Forgets a session that is over, so that the next call logs in. @throws PortalLoginError where a token replaces it */
  private drop(live: Live, reply: Reply, { action }: Call): void {
    if (live.authorization !== null) {
      const failure = failureOf(reply, this.portal);
      this.refused = new PortalLoginError(failure.message, failure.request, {
        hint: 'the portal rejected the configured token; create a new one, then start again',
      });
      throw this.refused;
    }
    if (this.live !== live) return;
    this.live = null;
    this.doubtsToken ||= !this.hasWritten;
    this.http.hooks.log.warn(
      { portal: this.portal.name, action, status: reply.status },
      'session was lost, logging in again',
    );
  }

  /** See {@link Http.file}; asked for in the session, and wherever on this portal it leads to. */
  async file<T>(path: string, take: (reply: FileReply) => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let at = path, hops = 0; ; hops++) {
      const from = at;
      const follow = async (reply: FileReply) => {
        const next = hops < maxRedirects ? this.#pathBehind(reply, from) : null;
        return next === null ? { taken: await take(reply) } : { next };
      };
      const answer = await this.http.file(from, credentialsFor(await this.current(signal), from), follow, signal);
      if ('taken' in answer) return answer.taken;
      at = answer.next;
    }
  }

  /** Where on this portal a redirect leads; null for one that leads elsewhere, and for none. */
  #pathBehind({ status, headers: { location } }: FileReply, from: string): string | null {
    if (status < 300 || status >= 400 || typeof location !== 'string') return null;
    const { url } = this.portal;
    const next = URL.parse(location, `${url}${from}`);
    return next?.href.startsWith(`${url}/`) ? next.href.slice(url.length).replace(/#.*/s, '') : null;
  }

  /** An unused session is ended, but not while the portal owes a reply: portals keep one for weeks. */
  private logoutLater(): void {
    clearTimeout(this.idle);
    const end = () => (this.http.silence.state ? this.logoutLater() : void this.logout());
    this.idle = setTimeout(end, idleMs);
    this.idle.unref();
  }

  /** Ends the session on the portal, where there is one; the next call logs in again. Never rejects. */
  async logout(): Promise<void> {
    const { live } = this;
    this.live = null;
    if (live === null || live.authorization !== null || live.isAnonymous) return;
    const call = { action: 'log out', method: 'POST', path: paths.logout, body: '' } as const;
    await this.send(call, live, AbortSignal.timeout(logoutMs)).catch((err: unknown) =>
      this.http.hooks.log.debug({ portal: this.portal.name, err }, 'could not log out'),
    );
  }

  async close(): Promise<void> {
    clearTimeout(this.idle);
    if (!this.signal.aborted) {
      const { live } = this;
      this.closing.abort(new Error(`the client of portal ${this.portal.name} was closed`));
      await this.logout();
      this.live = live; // later calls find the connections closed
    }
    await this.http.close();
  }

  private async current(signal: AbortSignal): Promise<Live> {
    signal.throwIfAborted();
    if (this.refused !== null) throw this.refused;
    if (this.live !== null && performance.now() - this.live.since < renewMs) return this.live;
    this.pending ??= this.logIn().finally(() => {
      this.pending = null;
    });
    return abortable(this.pending, signal);
  }

  private async send(call: Call, live: Live, signal: AbortSignal): Promise<{ reply: Reply; portal: PortalFacts }> {
    const own = call.method === 'GET' ? {} : { ...json, ...(live.token && { 'x-csrf-token': live.token }) };
    const headers: Record<string, string> = { ...own, ...call.headers, ...credentialsFor(live, call.path) };
    const reply = await this.http.exchange({ ...call, headers }, signal);
    live.cookies.store(call.path, reply.headers['set-cookie']);
    const isLoggedOut = 'cookie' in headers && live.cookies.header(call.path) === '';
    const user = live.isAnonymous ? null : live.identity.name;
    return { reply, portal: { ...this.portal, user, isLoggedOut, upload: call.upload } };
  }

  private async logIn(): Promise<Live> {
    try {
      this.live = await logIn(this.http, this.doubtsToken, this.signal);
      this.portal.proven = true;
      return this.live;
    } catch (error) {
      // Never tried again by itself: five failures block the account (recorded behaviour 5).
      if (error instanceof PortalLoginError) this.refused = error;
      throw error;
    }
  }

  private redact(text: string): string {
    const { password, token } = this.http.settings;
    return withoutSecrets(text, [
      password,
      token ?? '',
      this.live?.token ?? '',
      ...(this.live?.cookies.values() ?? []),
    ]);
  }
}

const json = { 'content-type': 'application/json' };

const credentialsFor = ({ cookies, authorization }: Live, path: string): Record<string, string> => {
  const cookie = cookies.header(path);
  return { ...(cookie === '' ? {} : { cookie }), ...(authorization === null ? {} : { authorization }) };
};

/** The right of a job to write; `check` rejects once another worker has the job. */
export type WriteLease = { check(): Promise<void> };

/** Sends calls in the session; writes only while the lease of a job is valid. */
export class Caller {
  readonly session: Session;
  readonly #lease: WriteLease | null;

  constructor(session: Session, lease: WriteLease | null) {
    this.session = session;
    this.#lease = lease;
  }

  call(call: Call, signal: AbortSignal): Promise<Reply> {
    const lease = this.#lease;
    const mayWrite = lease && call.method !== 'GET' && !call.isRead ? { mayWrite: () => lease.check() } : {};
    const send = () => this.session.call({ ...call, ...mayWrite }, signal);
    if (!call.isSave) return send();
    return this.session.saves.run(send, (error) => error instanceof PortalBusyError, signal);
  }

  /** The checked body of a reply, `expected`, where it is one that `fits`. */
  async body<T>(call: Call, schema: z.ZodType<T>, expected: string, signal: AbortSignal, fits?: (body: T) => boolean) {
    const reply = await this.call(call, signal);
    const body = bodyOf(reply, schema, this.session.portal, expected);
    if (fits?.(body) === false) throw wrongShape(reply, this.session.portal, expected);
    return body;
  }

  /** The text of a reply to what is answered with little, `expected`, and never with a page. */
  async order(call: Call, expected: string, signal: AbortSignal): Promise<string> {
    const reply = await this.call(call, signal);
    if (isHtmlPage(reply.text)) throw wrongShape(reply, this.session.portal, expected);
    return reply.text;
  }
}

/** Who is logged in. `roles` maps role ids to role names. */
export type Identity = { uid: string; name: string; roles: Record<string, string> };

interface Live {
  identity: Identity;
  cookies: Cookies;
  token: string | null;
  /** Header that replaces cookies and token where a token is configured. */
  authorization: string | null;
  /** True without a login: there is no session to lose. */
  isAnonymous: boolean;
  since: number;
}

/** Logs in, unless a token is configured or the portal is used anonymously. @throws PortalLoginError where that is refused */
const logIn = async (http: Http, doubtsToken: boolean, signal: AbortSignal): Promise<Live> => {
  const { facts, settings, hooks } = http;
  const { username, password, token, isAnonymous = false } = settings;
  const cookies = cookieJar(facts.url);
  const since = performance.now();
  const live = { identity: anonymous, cookies, token: null, authorization: null, isAnonymous, since };
  if (isAnonymous) return live;
  if (token) {
    const identity = { uid: '', name: username || 'token', roles: {} };
    return { ...live, identity, authorization: `Bearer ${token}` };
  }
  if (username === '') {
    throw new PortalLoginError(
      `portal ${facts.name}: no username is configured`,
      { method: 'POST', path: paths.login, mayHaveHappened: false },
      { hint: credentialsHint },
    );
  }
  const request = {
    method: 'POST',
    path: paths.login,
    headers: json,
    body: JSON.stringify({ username, password }),
    isRead: hooks.isPatient?.() === true,
  } as const;
  let reply = await http.exchange(request, signal);
  // Sent without cookies, so this can only be a portal that remembers the connection; it forgets on the next one.
  if (situationOf(reply, facts) === 'already-logged-in') {
    reply = await http.exchange({ ...request, headers: { ...request.headers, connection: 'close' } }, signal);
  }
  if (reply.status < 200 || reply.status >= 300) throw failureOf(reply, facts);
  const result = bodyOf(reply, loginResultSchema, facts, 'the result of a login');
  cookies.store(paths.login, reply.headers['set-cookie']);
  cookies.ensure(paths.login, result.session_name, result.sessid);
  const csrf = (!doubtsToken && result.token) || (await requestedToken(http, cookies, signal)) || result.token || null;
  hooks.log.debug({ portal: facts.name, user: result.user.name }, 'logged in');
  return { ...live, identity: result.user, token: csrf, since: performance.now() };
};

/** The token of the token route; portals without a token get no header. */
const requestedToken = async (http: Http, cookies: Cookies, signal: AbortSignal): Promise<string | null> => {
  const path = paths.sessionToken;
  const cookie = cookies.header(path);
  try {
    const request = { method: 'POST', path, ...(cookie && { headers: { cookie } }), body: '' } as const;
    const reply = await http.exchange(request, signal);
    const token = reply.text.trim().replace(/^"(.*)"$/, '$1');
    return reply.status === 200 && /^[\w-]{8,200}$/.test(token) ? token : null;
  } catch (error) {
    if (error instanceof PortalUnreachableError && error.request.status === undefined) throw error;
    return null;
  }
};

/** The user that portals assign to callers without a login. */
const anonymous: Identity = { uid: '0', name: 'anonymous', roles: {} };

const credentialsHint =
  'set username and password of this portal in the configuration, or SLUICE_USERNAME and SLUICE_PASSWORD';

/** No more are kept, the oldest: a proxy that gives each reply a cookie of a new name would make requests ever larger. */
const mostCookies = 50;

const cookieJar = (url: string) => {
  const jar = new CookieJar(undefined, { rejectPublicSuffixes: false, looseMode: true });
  /** All that the portal gets, on whatever path; to ask the jar takes longer than the rest of a request. */
  let all: Cookie[] = [];
  const basePath = new URL(url).pathname.replace(/\/$/, '');

  /** Stores the `Set-Cookie` headers of a reply to `path`; those that are unreadable, or that no header takes, are ignored. */
  const store = (path: string, setCookie: string[] | string | undefined): void => {
    if (setCookie === undefined) return;
    for (const line of [setCookie].flat().filter((each) => /^[\t\x20-\x7e]*$/.test(each)))
      jar.setCookieSync(line, url + path, { ignoreError: true });
    all = jar.getCookiesSync(url, { allPaths: true, expire: false, sort: true });
    const newest = all.toSorted((a, b) => a.creationIndex - b.creationIndex).slice(mostCookies);
    for (const { domain, path: at, key } of newest) void jar.store.removeCookie(domain, at, key);
    all = all.filter((each) => !newest.includes(each));
  };

  /** Adds the session cookie by name where the login names it in its body only (spec 5). */
  const ensure = (path: string, name: string | undefined, value: string | undefined): void => {
    if (name === undefined || value === undefined || /[\s;=,]/.test(name) || /[\s;,]/.test(value)) return;
    if (jar.getCookiesSync(url + path).some((cookie) => cookie.key === name)) return;
    store(path, `${name}=${value}; path=/`);
  };

  /** The `Cookie` header for a request to `path`, '' when there is nothing to send. */
  const header = (path: string): string => {
    const [pathname = ''] = (basePath + path).split('?');
    const now = Date.now();
    const sent = all.filter(
      (each) => pathMatch(pathname, each.path ?? '/') && (each.expiryTime(new Date(now)) ?? Infinity) > now,
    );
    return sent.map((each) => each.cookieString()).join('; ');
  };

  /** The values of all cookies, to keep them out of messages. */
  const values = (): string[] => all.map(({ value }) => value);

  return { store, ensure, header, values };
};

type Cookies = ReturnType<typeof cookieJar>;

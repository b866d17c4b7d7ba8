// Logging in to a portal: what a session consists of, its cookies, and why a login is refused.
import { CookieJar } from 'tough-cookie';
import { paths } from '../dataset-api/paths.ts';
import { PortalLoginError, PortalUnreachableError } from '../model/errors.ts';
import { situationOf } from './answers.ts';
import { failureOf } from './classify.ts';
import type { Http } from './http.ts';
import { bodyOf, loginResultSchema } from './replies.ts';

/** Who is logged in. `roles` maps role ids to role names. */
export type Identity = { uid: string; name: string; roles: Record<string, string> };

export interface Live {
  identity: Identity;
  cookies: Cookies;
  token: string | null;
  /** Header that replaces cookies and token where a token is configured. */
  authorization: string | null;
  /** True without a login: there is no session to lose. */
  isAnonymous: boolean;
  /** When it began, by `performance.now()`. */
  since: number;
}

/** Logs in, unless a token is configured or the portal is used anonymously. @throws PortalLoginError where that is refused */
export const logIn = async (http: Http, signal: AbortSignal): Promise<Live> => {
  const { facts, settings, hooks } = http;
  const { username, password, token, isAnonymous = false } = settings;
  const cookies = new Cookies(facts.url);
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
    headers: { 'content-type': 'application/json' },
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
  const csrf = result.token || (await requestedToken(http, cookies, signal));
  hooks.log.debug({ portal: facts.name, user: result.user.name }, 'logged in');
  return { ...live, identity: result.user, token: csrf, since: performance.now() };
};

/** The token of the token route; portals without a token get no header. */
const requestedToken = async (http: Http, cookies: Cookies, signal: AbortSignal): Promise<string | null> => {
  const path = paths.sessionToken;
  const cookie = cookies.header(path);
  try {
    const reply = await http.exchange(
      { method: 'POST', path, ...(cookie && { headers: { cookie } }), body: '' },
      signal,
    );
    const token = reply.text.trim().replace(/^"(.*)"$/, '$1');
    return reply.status === 200 && /^[\w-]{8,200}$/.test(token) ? token : null;
  } catch (error) {
    if (error instanceof PortalUnreachableError && error.request.status === undefined) throw error;
    return null;
  }
};

/** The user that portals assign to callers without a login. */
const anonymous: Identity = { uid: '0', name: 'anonymous', roles: {} };

/** What to do about a portal without a login. */
export const credentialsHint =
  'set username and password of this portal in the configuration, or SLUICE_USERNAME and SLUICE_PASSWORD';

class Cookies {
  private readonly jar = new CookieJar(undefined, { rejectPublicSuffixes: false, looseMode: true });
  private readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** Stores the `Set-Cookie` headers of a reply to `path`; those that are unreadable, or that no header takes, are ignored. */
  store(path: string, setCookie: string[] | string | undefined): void {
    if (setCookie === undefined) return;
    for (const line of [setCookie].flat().filter((each) => /^[\t\x20-\x7e]*$/.test(each)))
      this.jar.setCookieSync(line, this.url + path, { ignoreError: true });
  }

  /** Adds the session cookie by name where the login names it in its body only (spec 5). */
  ensure(path: string, name: string | undefined, value: string | undefined): void {
    if (name === undefined || value === undefined || /[\s;=,]/.test(name) || /[\s;,]/.test(value)) return;
    if (this.jar.getCookiesSync(this.url + path).some((cookie) => cookie.key === name)) return;
    this.store(path, `${name}=${value}; path=/`);
  }

  /** The `Cookie` header for a request to `path`, '' when there is nothing to send. */
  header(path: string): string {
    return this.jar.getCookieStringSync(this.url + path);
  }

  /** The values of all cookies, to keep them out of messages. */
  values(): string[] {
    return this.jar.getCookiesSync(`${this.url}/`, { allPaths: true, expire: false }).map((cookie) => cookie.value);
  }
}

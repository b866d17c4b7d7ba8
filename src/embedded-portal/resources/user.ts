// The user resource: login, logout, token, retrieve (spec 4.1, 4.2; recorded behaviour 5).
import { escapeHtml } from '../../util/html.ts';
import { networkOf } from '../../util/http.ts';
import { isSameSecret } from '../../util/secrets.ts';
import { demand, may } from '../access.ts';
import { type Call, idIn, operation, type Resource, type Result } from '../call.ts';
import { textOf } from '../content/items.ts';
import { checkPassword, hashPassword, isWeakHash } from '../password.ts';
import { em } from '../profiles/recorded-faults.ts';
import { Refusal } from '../refusal.ts';
import { type Attempt, cookieSeconds, randomToken } from '../store/sessions.ts';
import type { User } from '../store/users.ts';

const userRdf = {
  rdftype: ['sioc:UserAccount'],
  name: { predicates: ['foaf:name'] },
  homepage: { predicates: ['foaf:page'], type: 'rel' },
};

/** The serialised text of an account that keeps nothing. */
const noData = 'b:0;';

/** The user object (spec 2.4) as `viewer` sees it; `login` is a number in the answer to a login, a text elsewhere. */
const userView = (
  { portal: { profile } }: Call,
  { user, viewer, login }: { user: User; viewer: User; login: number | string },
): Record<string, unknown> => {
  const isOwn = viewer.uid === user.uid;
  const administers = may(viewer, 'administer users');
  return {
    uid: String(user.uid),
    name: user.name,
    ...(administers || isOwn ? { mail: user.mail } : {}),
    theme: '',
    signature: '',
    signature_format: null,
    created: String(user.created),
    access: String(user.access),
    login,
    status: String(user.status),
    timezone: 'UTC',
    language: '',
    picture: null,
    ...(administers || (profile.fullAccounts && isOwn) ? { init: user.mail } : {}),
    data: profile.fullAccounts ? noData : false,
    uuid: user.uuid,
    roles: user.roleMap,
    field_about: [],
    og_user_node: [],
    rdf_mapping: userRdf,
  };
};

/** `Sun, 19-Nov-1978 05:00:00 GMT`. */
const cookieDate = (seconds: number): string =>
  new Date(seconds * 1000).toUTCString().replace(/(\d\d) (\w+) (\d{4})/, '$1-$2-$3');

const sessionCookie = (call: Call, id: string): string => {
  const { now, profile } = call.portal;
  return `${call.cookieName}=${id}; expires=${cookieDate(now() + cookieSeconds)}; Max-Age=${cookieSeconds}; path=/${call.isSecure ? '; secure' : ''}; HttpOnly${profile.cookieAttributes}`;
};

/** The Set-Cookie that takes the session cookie back. */
export const deletedCookie = ({ cookieName }: Call): string =>
  `${cookieName}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly`;

/** The cookie of an answer to the anonymous user: a session that holds a warning, or the end of one that is not alive. */
export const anonymousCookie = (call: Call): string | null => {
  if (call.session !== null || !call.portal.profile.tendsCookies) return null;
  if (call.warned) return sessionCookie(call, randomToken());
  return call.hasDeadCookie ? deletedCookie(call) : null;
};

/** True when the request's CSRF token is the session's: in the header, or on deployed portals in the address, which logs keep. */
export const hasValidToken = ({ request, query, session, portal }: Call): boolean => {
  const inAddress = portal.profile.guardsCaches ? null : textOf(query.services_token);
  const sent = request.headers['x-csrf-token'] ?? inAddress ?? '';
  return session !== null && isSameSecret(String(sent), session.token);
};

const isVersion11 = (call: Call, action: string): boolean => {
  const { headers } = call.request;
  const version = headers[`services_user_${action}_version`] ?? headers[`services-user-${action}-version`];
  call.warned ||= version !== undefined && !/^\d+\.\d+$/.test(String(version));
  return version === '1.1';
};

const loginKeys = (call: Call): [string, string] =>
  call.portal.profile.hasLoginVersions && isVersion11(call, 'login') ? ['name', 'pass'] : ['username', 'password'];

const blockedWords = { user: 'Account is temporarily blocked.', address: 'This IP address is temporarily blocked.' };

const refuseBlocked = (call: Call, attempt: Attempt): void => {
  const blocked = call.portal.store.flood.blocked(attempt);
  if (blocked !== null) throw new Refusal(406, blockedWords[blocked]);
};

/** What an attempt is counted by. */
const attemptOf = ({ portal, address }: Call, name: string, user: User | null): Attempt => {
  const unknown = portal.profile.tellsAccounts ? null : name.toLowerCase().slice(0, 60);
  return { user: user?.uid ?? unknown, address: networkOf(address()), now: portal.now() };
};

/** A password that was right. */
interface Verified {
  user: User;
  /** Stronger than the one that is stored; null where that is strong enough. */
  pass: string | null;
  /** Gives the attempt back; inside a write. */
  giveBack: () => void;
}

/** Refuses an account that may not log in; such attempts count by their address only. */
const refuseInactive = async (call: Call, name: string, attempt: Attempt): Promise<never> => {
  const { store } = call.portal;
  refuseBlocked(call, { ...attempt, user: null });
  await store.write(() => store.flood.reserve({ ...attempt, user: null }));
  throw new Refusal(403, `The username ${em(name)} has not been activated or is blocked.`);
};

const verify = async (call: Call, name: string, password: string): Promise<Verified> => {
  const { store, logins, profile, ownAccount } = call.portal;
  const { flood } = store;
  const user = store.users.byName(name);
  // Nobody locks our own workers out: their secret is looked at before any count.
  if (user?.status === 1 && user.name === ownAccount?.name && isSameSecret(password, ownAccount.secret))
    return { user, pass: null, giveBack: () => undefined };
  const attempt = attemptOf(call, name, user);
  if (name === '' || (user?.status === 0 && profile.tellsAccounts)) return refuseInactive(call, name, attempt);
  refuseBlocked(call, attempt);
  return logins.run(async () => {
    const reserved = await store.write(() => {
      refuseBlocked(call, attempt);
      return flood.reserve(attempt);
    });
    const pass = user?.status === 1 ? user.pass : '';
    const isRight = await checkPassword(password, pass);
    if (user === null || !isRight) throw new Refusal(401, 'Wrong username or password.');
    const giveBack = (): void => flood.giveBack(reserved, attempt);
    return { user, pass: isWeakHash(pass) ? await hashPassword(password) : null, giveBack };
  });
};

/** The user name; of a list the first, where deployed servers look for any of them. */
const nameOf = (call: Call, value: unknown): string => {
  const isList = Array.isArray(value) && call.portal.profile.tendsCookies;
  return textOf(isList ? value[0] : value) ?? '';
};

const login = async (call: Call): Promise<Result> => {
  const { portal } = call;
  const { store } = portal;
  if (call.session !== null) throw new Refusal(406, `Already logged in as ${escapeHtml(call.user.name)}.`);
  const [nameKey, passwordKey] = loginKeys(call);
  const name = nameOf(call, call.body[nameKey]);
  const { user, pass, giveBack } = await verify(call, name, textOf(call.body[passwordKey]) ?? '');
  const now = portal.now();
  const { id, token } = await store.write(() => {
    giveBack();
    if (pass !== null) store.users.renewPass(user.uid, pass);
    store.users.loggedIn(user.uid, { access: now, login: now });
    return store.sessions.start(user.uid, now);
  });
  call.headers['set-cookie'] = sessionCookie(call, id);
  return {
    value: {
      sessid: id,
      session_name: call.cookieName,
      token,
      user: userView(call, { user, viewer: user, login: now }),
    },
    shape: 'login',
  };
};

const logout = async (call: Call): Promise<Result> => {
  const { session, portal } = call;
  if (session === null) throw new Refusal(406, 'User is not logged in.');
  await portal.store.write(() => portal.store.sessions.end(session));
  call.headers['set-cookie'] = deletedCookie(call);
  if (!isVersion11(call, 'logout')) return { value: true };
  return {
    value: { uid: 0, hostname: call.address(), roles: portal.store.users.anonymous.roleMap, cache: 0 },
    shape: 'object',
  };
};

/** Whoever may not list accounts sees his own only, and learns nothing about which others exist. */
const demandAccount = ({ portal, user, args }: Call): void => {
  const isOwn = user.uid !== 0 && args[0] === String(user.uid);
  demand(user, portal.profile.tellsAccounts || isOwn || may(user, 'administer users'));
};

const retrieve = (call: Call): Result => {
  const uid = idIn(call);
  const user = uid === null ? null : call.portal.store.users.byUid(uid);
  if (user === null) throw new Refusal(404, `There is no user with ID ${escapeHtml(call.args[0] ?? '')}.`);
  return { value: userView(call, { user, viewer: call.user, login: String(user.login) }), shape: 'object' };
};

/** The token of the session, or one that stands for nothing without a session. */
export const tokenOf = (call: Call): string => call.session?.token ?? randomToken();

/** The user resource. */
export const userResource: Resource = {
  retrieve: operation({ access: demandAccount, run: retrieve }),
  actions: {
    login: operation({ requires: loginKeys, run: login }),
    logout: operation({ run: logout }),
    token: operation({ csrf: false, run: (call) => ({ value: { token: tokenOf(call) } }) }),
  },
};

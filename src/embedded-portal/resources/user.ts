// The user resource: login, logout, token, retrieve (spec 4.1, 4.2; recorded behaviour 5).
import { isOwnOrigin, networkOf } from '../../util/connections.ts';
import { escapeHtml } from '../../util/html.ts';
import { isSameSecret } from '../../util/secrets.ts';
import { textOf } from '../content/items.ts';
import { checkPassword, hashPassword, isWeakHash } from '../password.ts';
import { type Call, needById, type Operation, type Resource, type Result } from '../portal.ts';
import { demand, em, may, Refusal } from '../refusal.ts';
import { type Account, type Attempt, cookieSeconds, randomToken, type User } from '../store/users.ts';

/** The user object (spec 2.4) as `viewer` sees it; `login` is a number in the answer to a login, a text elsewhere. */
const userView = (user: Account, viewer: User, login: number | string): Record<string, unknown> => {
  const isShown = viewer.uid === user.uid || may(viewer, 'administer users');
  return {
    uid: String(user.uid),
    name: user.name,
    ...(isShown ? { mail: user.mail } : {}),
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
    ...(isShown ? { init: user.mail } : {}),
    data: 'b:0;',
    uuid: user.uuid,
    roles: user.roleMap,
    field_about: [],
    og_user_node: [],
    rdf_mapping: {
      rdftype: ['sioc:UserAccount'],
      name: { predicates: ['foaf:name'] },
      homepage: { predicates: ['foaf:page'], type: 'rel' },
    },
  };
};

export const sessionCookie = (call: Call, id: string): string => {
  const { now, profile } = call.portal;
  const secure = call.baseUrl.startsWith('https:') ? '; secure' : '';
  const end = new Date((now() + cookieSeconds) * 1000).toUTCString();
  const expires = end.replace(/(\d\d) (\w+) (\d{4})/, '$1-$2-$3'); // `Sun, 19-Nov-1978 05:00:00 GMT`
  return `${call.cookieName}=${id}; expires=${expires}; Max-Age=${cookieSeconds}; path=/${secure}; HttpOnly${profile.wire.cookieAttributes}`;
};

export const deletedCookie = ({ cookieName }: Call): string =>
  `${cookieName}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly`;

/** The header in which a client names the version of an action that it speaks. */
export const versionIn = ({ request: { headers } }: Call, action: string): unknown =>
  headers[`services_user_${action}_version`] ?? headers[`services-user-${action}-version`];

export const loginKeys = (call: Call): [name: string, password: string] =>
  versionIn(call, 'login') === '1.1' ? ['name', 'pass'] : ['username', 'password'];

const blockedWords = { user: 'Account is temporarily blocked.', address: 'This IP address is temporarily blocked.' };

const refuseBlocked = (call: Call, attempt: Attempt): void => {
  const blocked = call.portal.store.flood.blocked(attempt);
  if (blocked !== null) throw new Refusal(406, blockedWords[blocked]);
};

const attemptOf = ({ portal, address }: Call, user: number | string | null): Attempt => ({
  user,
  address: networkOf(address()),
  now: portal.now(),
});

/** Refuses an account that may not log in; such attempts count by their address only. */
export const refuseInactive = async (call: Call, name: string): Promise<never> => {
  const { store } = call.portal;
  const attempt = attemptOf(call, null);
  refuseBlocked(call, attempt);
  await store.write(() => store.flood.reserve(attempt));
  throw new Refusal(403, `The username ${em(name)} has not been activated or is blocked.`);
};

/** The account with that password, and what is to be written of its login. `unknown`: what names of no account count as. */
const verify = async (
  call: Call,
  { name, password, unknown }: { name: string; password: string; unknown: string | null },
): Promise<{ user: Account; settle: () => void }> => {
  const { store, logins, ownAccount } = call.portal;
  const { flood, users } = store;
  if (name === '') return refuseInactive(call, name);
  const user = users.byName(name);
  // Nobody locks our own workers out: their secret is looked at before any count.
  if (user?.status === 1 && user.name === ownAccount?.name && isSameSecret(password, ownAccount.secret))
    return { user, settle: () => undefined };
  const attempt = attemptOf(call, user?.uid ?? unknown);
  refuseBlocked(call, attempt);
  return logins(async () => {
    const reserved = await store.write(() => {
      refuseBlocked(call, attempt);
      return flood.reserve(attempt);
    });
    const pass = user?.status === 1 ? user.pass : '';
    const isRight = await checkPassword(password, pass);
    if (user === null || !isRight) throw new Refusal(401, 'Wrong username or password.');
    const stronger = isWeakHash(pass) ? await hashPassword(password) : null;
    const settle = (): void => {
      flood.giveBack(reserved, attempt);
      if (stronger !== null) users.renewPass(user.uid, stronger);
    };
    return { user, settle };
  });
};

/** The login. Names that no account has count as well, so that the answers do not tell which ones exist. */
export const loginOperation = (keys = loginKeys, countsUnknown = true): Operation => ({
  place: 'action',
  requires: keys,
  run: async (call) => {
    const { store, now } = call.portal;
    if (call.session !== null) throw new Refusal(406, `Already logged in as ${escapeHtml(call.user.name)}.`);
    const [name = '', password = ''] = keys(call).map((key) => textOf(call.body[key]) ?? '');
    const unknown = countsUnknown ? name.toLowerCase().slice(0, 60) : null;
    const { user, settle } = await verify(call, { name, password, unknown });
    const login = now();
    const { id, token } = await store.write(() => {
      settle();
      store.users.loggedIn(user.uid, { access: login, login });
      return store.sessions.start(user.uid, login);
    });
    call.headers['set-cookie'] = sessionCookie(call, id);
    const shown = userView(user, user, login);
    return { value: { sessid: id, session_name: call.cookieName, token, user: shown }, shape: 'login' };
  },
});

/** It would put a browser into an account of its own choice. */
const refuseOtherSites = ({ request, portal }: Call): void => {
  if (!isOwnOrigin(request, portal.publicUrl ?? null)) throw new Refusal(403, 'A page of another site may not log in.');
};

const logout = async (call: Call): Promise<Result> => {
  const { session, portal } = call;
  if (session === null) throw new Refusal(406, 'User is not logged in.');
  await portal.store.write(() => portal.store.sessions.end(session));
  call.headers['set-cookie'] = deletedCookie(call);
  if (versionIn(call, 'logout') !== '1.1') return { value: true };
  return {
    value: { uid: 0, hostname: call.address(), roles: portal.store.users.anonymous.roleMap, cache: 0 },
    shape: 'object',
  };
};

/** Whoever may not list accounts sees his own only, and learns nothing about which others exist. */
const demandAccount = ({ user, args }: Call): void => {
  const isOwn = user.uid !== 0 && args[0] === String(user.uid);
  demand(user, isOwn || may(user, 'administer users'));
};

const retrieve = (call: Call): Result => {
  const user = needById(call, call.portal.store.users.byUid, (id) => `There is no user with ID ${id}.`);
  return { value: userView(user, call.user, String(user.login)), shape: 'object' };
};

/** The token of the session, or one that stands for nothing without a session. */
export const tokenOf = (call: Call): string => call.session?.token ?? randomToken();

export const userResource = {
  retrieve: { access: demandAccount, run: retrieve },
  login: { ...loginOperation(), access: refuseOtherSites },
  logout: { place: 'action', run: logout },
  token: { place: 'action', csrf: false, run: (call) => ({ value: { token: tokenOf(call) } }) },
} satisfies Resource;

// Access to the pages: logging in and out, sessions, guessed passwords, and proof that a form came from our own page.
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Runtime } from '../../service/runtime.ts';
import { BoundedMap } from '../../util/bounded-map.ts';
import { clientAddress, isOwnOrigin } from '../../util/connections.ts';
import { html } from '../../util/html.ts';
import { isSameSecret } from '../../util/secrets.ts';
import type { Guesses } from '../part.ts';
import { formOf, type Page, parameterOf, type Session, send } from './layout.ts';

const sessionMs = 12 * 3600 * 1000;

type Logins = ReturnType<typeof loginsOf>;

/** Sessions of one process; they end with it. Without a password everybody who reaches the pages may use them. */
export const loginsOf = (web: Runtime['config']['web'], guesses: Guesses) => {
  const sessions = new BoundedMap<string, { token: string; until: number }>(1000);
  const everybody: Session = { token: secretText(), canLogOut: false };
  /** Name of the cookie; over https browsers take one of this prefix from this very host only. */
  const cookieName = web.publicUrl?.startsWith('https:') ? '__Host-sluice-session' : 'sluice-session';
  /** The session of a request; null where it has to log in first. */
  const sessionOf = (request: FastifyRequest, now = Date.now()): Session | null => {
    if (web.password === null) return everybody;
    const id = cookieOf(request, cookieName);
    const session = id === null ? undefined : sessions.get(id);
    return session && session.until > now ? { token: session.token, canLogOut: true } : null;
  };
  /** The session that name and password begin; where they do not, why: see {@link Guesses.try}. */
  const logIn = ({ username, password }: { username: string; password: string }, address: string, now = Date.now()) => {
    const isUser = isSameSecret(username, web.username);
    const isRight = isSameSecret(password, web.password ?? '') && isUser && web.password !== null;
    const tried = guesses.try(isRight, address, now);
    if (tried !== 'right') return tried;
    guesses.forget(address);
    const id = secretText();
    sessions.set(id, { token: secretText(), until: now + sessionMs });
    return { id };
  };
  const logOut = (request: FastifyRequest): void => {
    const id = cookieOf(request, cookieName);
    if (id !== null) sessions.delete(id);
  };
  return { cookieName, sessionOf, logIn, logOut };
};

/** True when the token of a form is that of the session. */
export const isToken = (given: string | null, { token }: Session): boolean =>
  given !== null && isSameSecret(given, token);

const secretText = (): string => randomBytes(32).toString('base64url');

const cookieOf = ({ headers }: FastifyRequest, name: string): string | null =>
  new RegExp(`(?:^|; )${name}=([\\w-]{43})(?:;|$)`).exec(headers.cookie ?? '')?.[1] ?? null;

/** Adds the form that logs in and what it and the button to log out are sent to; nothing without a password. */
export const loginRoutes = (app: FastifyInstance, { config, log }: Runtime, logins: Logins): void => {
  const { password, publicUrl } = config.web;
  if (password === null) return;
  const isSecure = publicUrl?.startsWith('https:') ?? false;
  const cookie = (value: string, more: string): string =>
    `${logins.cookieName}=${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${more}`;
  app.get('/login', (request, reply) => {
    const to = askedPath(parameterOf(request, 'to'));
    return logins.sessionOf(request) ? reply.redirect(to, 303) : send(reply, loginPage(null, to));
  });
  app.post('/login', (request, reply) => {
    const form = formOf(request);
    const to = askedPath(form.get('to') ?? '');
    if (!isOwnOrigin(request.raw, publicUrl))
      return send(reply, loginPage('That form was sent from another site: log in here.'), 403);
    const given = { username: form.get('username') ?? '', password: form.get('password') ?? '' };
    const address = clientAddress(request);
    const found = logins.logIn(given, address);
    if (typeof found === 'object') {
      log.info({ action: 'login', address }, 'an operator logged in');
      return reply.header('set-cookie', cookie(found.id, '')).redirect(to, 303);
    }
    log.warn({ action: 'login', address }, 'a login to the pages was refused');
    if (found === 'wrong') return send(reply, loginPage('Name or password is wrong.', to), 403);
    const seconds = Math.ceil(found / 1000);
    reply.header('retry-after', String(seconds));
    return send(reply, loginPage(`Too many attempts: try again in ${seconds} s.`, to), 429);
  });
  app.post('/logout', (request, reply) => {
    const session = logins.sessionOf(request);
    if (session && isOwnOrigin(request.raw, publicUrl) && isToken(formOf(request).get('token'), session)) {
      logins.logOut(request);
      reply.header('set-cookie', cookie('', '; Max-Age=0'));
    }
    return reply.redirect('/login', 303);
  });
};

/** Where a request that has to log in first is sent, which leads back to the page that it asked for. */
export const loginPath = ({ method, url }: FastifyRequest): string => {
  const to = method === 'GET' || method === 'HEAD' ? askedPath(url) : '/';
  return to === '/' ? '/login' : `/login?${new URLSearchParams({ to })}`;
};

/** What addresses are resolved against, whose host none of them may leave. */
const here = 'http://sluice.invalid';

/** Shorter than what a parameter is cut to. */
const longestPath = 400;

/** Decoded paths that lead elsewhere, or to what is no page of somebody who has logged in. */
const noPage = /^\/(?:login|logout|assets)(?:\/|$)|\/\/|\\|\p{Cc}/iu;

/** The path of the page that was asked for, with its query; `/` for whatever is not surely one of these pages. */
const askedPath = (text: string): string => {
  const url = text.length <= longestPath && /^\/[!-~]*$/.test(text) ? URL.parse(text, here) : null;
  if (url === null || url.origin !== here || text.includes('\\')) return '/';
  try {
    return noPage.test(decodeURIComponent(url.pathname)) ? '/' : `${url.pathname}${url.search}`;
  } catch {
    return '/'; // not encoded properly
  }
};

const loginPage = (fault: string | null, to = '/'): Page => ({
  title: 'Log in',
  live: null,
  bare: true,
  fixed: html`<form class="login" action="/login" method="post">
<h1>Log in</h1>
${to === '/' ? null : html`<input type="hidden" name="to" value="${to}">`}
${fault && html`<p class="bad" role="alert">${fault}</p>`}
<label for="username">Name</label><input id="username" name="username" autocomplete="username" required maxlength="200">
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000">
<button class="main">Log in</button>
</form>`,
});

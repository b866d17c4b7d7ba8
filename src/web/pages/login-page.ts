// Logging in and out, where there is a password.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Runtime } from '../../service/runtime.ts';
import { html } from '../../util/html.ts';
import type { Page } from './layout.ts';
import { formOf, parameterOf, send } from './layout.ts';
import { isOwnOrigin, isToken, type Logins, sessionCookie } from './login.ts';

/** Adds the form that logs in and what it and the button to log out are sent to; nothing without a password. */
export const loginRoutes = (app: FastifyInstance, { config }: Runtime, logins: Logins): void => {
  const { password, publicUrl } = config.web;
  if (password === null) return;
  const isSecure = publicUrl?.startsWith('https:') ?? false;
  const cookie = (value: string, more: string): string =>
    `${sessionCookie}=${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${more}`;
  app.get('/login', (request, reply) => {
    const to = askedPath(parameterOf(request, 'to'));
    return logins.sessionOf(request) ? reply.redirect(to, 303) : send(reply, loginPage(null, to));
  });
  app.post('/login', (request, reply) => {
    if (!isOwnOrigin(request, publicUrl))
      return send(reply, loginPage('That form was sent from another site: log in here.'), 403);
    const form = formOf(request);
    const to = askedPath(form.get('to') ?? '');
    const given = { username: form.get('username') ?? '', password: form.get('password') ?? '' };
    const found = logins.logIn(given, request.ip);
    if (typeof found === 'number') {
      const seconds = Math.ceil(found / 1000);
      reply.header('retry-after', String(seconds));
      return send(reply, loginPage(`Too many attempts: try again in ${seconds} s.`, to), 429);
    }
    if (found === null) return send(reply, loginPage('Name or password is wrong.', to), 403);
    return reply.header('set-cookie', cookie(found, '')).redirect(to, 303);
  });
  app.post('/logout', (request, reply) => {
    const session = logins.sessionOf(request);
    const isMeant =
      session !== null && isOwnOrigin(request, publicUrl) && isToken(formOf(request).get('token'), session);
    if (isMeant) logins.logOut(request);
    if (isMeant) reply.header('set-cookie', cookie('', '; Max-Age=0'));
    return reply.redirect('/login', 303);
  });
};

/** Where a request that has to log in first is sent, which leads back to the page that it asked for. */
export const loginPath = ({ method, url }: FastifyRequest): string => {
  const to = method === 'GET' ? askedPath(url) : '/';
  return to === '/' ? '/login' : `/login?${new URLSearchParams({ to })}`;
};

/** What addresses are resolved against, whose host none of them may leave. */
const here = 'http://sluice.invalid';

/** Shorter than what a parameter is cut to. */
const longestPath = 400;

/** Decoded paths that lead elsewhere, or to what is no page of somebody who has logged in. */
const noPage = /^\/(?:login|logout|events|assets)(?:\/|$)|\/\/|\\|\p{Cc}/iu;

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

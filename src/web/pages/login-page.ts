// Logging in and out, where there is a password.
import type { FastifyInstance } from 'fastify';
import type { Runtime } from '../../service/runtime.ts';
import { html } from '../../util/html.ts';
import type { Page } from './layout.ts';
import { formOf, send } from './layout.ts';
import { isOwnOrigin, isToken, type Logins, sessionCookie } from './login.ts';

/** Adds the form that logs in and what it and the button to log out are sent to; nothing without a password. */
export const loginRoutes = (app: FastifyInstance, { config }: Runtime, logins: Logins): void => {
  const { password, publicUrl } = config.web;
  if (password === null) return;
  const isSecure = publicUrl?.startsWith('https:') ?? false;
  const cookie = (value: string, more: string): string =>
    `${sessionCookie}=${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${more}`;
  app.get('/login', (request, reply) =>
    logins.sessionOf(request) ? reply.redirect('/', 303) : send(reply, loginPage(null)),
  );
  app.post('/login', (request, reply) => {
    if (!isOwnOrigin(request, publicUrl))
      return send(reply, loginPage('That form was sent from another site: log in here.'), 403);
    const form = formOf(request);
    const given = { username: form.get('username') ?? '', password: form.get('password') ?? '' };
    const found = logins.logIn(given, request.ip);
    if (typeof found === 'number') {
      const seconds = Math.ceil(found / 1000);
      reply.header('retry-after', String(seconds));
      return send(reply, loginPage(`Too many attempts: try again in ${seconds} s.`), 429);
    }
    if (found === null) return send(reply, loginPage('Name or password is wrong.'), 403);
    return reply.header('set-cookie', cookie(found, '')).redirect('/', 303);
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

const loginPage = (fault: string | null): Page => ({
  title: 'Log in',
  live: null,
  bare: true,
  fixed: html`<form class="login" action="/login" method="post">
<h1>Log in</h1>
${fault && html`<p class="bad" role="alert">${fault}</p>`}
<label for="username">Name</label><input id="username" name="username" autocomplete="username" required maxlength="200">
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000">
<button class="main">Log in</button>
</form>`,
});

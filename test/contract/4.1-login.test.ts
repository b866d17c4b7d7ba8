// Specification, sections 4.1 and 2.4: login, user object.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;

beforeAll(async () => {
  portal = await startTestPortal();
});

const login = (body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  portal.anonymous.send('POST', '/api/dataset/user/login', { body, headers });

describe('Login', () => {
  it('answers sessid, session_name, token and user to a JSON body', async () => {
    const reply = await login({ username: 'creator', password: 'pass' });
    expect(reply.status).toBe(200);
    const result = reply.json<Record<string, unknown>>();
    expect(Object.keys(result)).toEqual(['sessid', 'session_name', 'token', 'user']);
    expect(result.sessid).toMatch(/^[\w-]{43}$/);
    expect(result.session_name).toMatch(/^SESS[0-9a-f]{32}$/);
    expect(result.user).toMatchObject({
      uid: '3',
      name: 'creator',
      mail: 'creator@example.org',
      data: 'b:0;',
      init: expect.any(String),
      field_about: [],
      language: '',
      picture: null,
      roles: { '2': 'authenticated user', '6': 'content creator' },
      signature: '',
      signature_format: null,
      status: '1',
      theme: '',
      timezone: 'UTC',
    });
  });

  it('returns the login value of the user as a number and every other time as a string', async () => {
    const { user } = (await login({ username: 'creator', password: 'pass' })).json<{ user: Record<string, unknown> }>();
    expect(typeof user.login).toBe('number');
    expect(user.created).toMatch(/^\d+$/);
    expect(user.access).toMatch(/^\d+$/);
  });

  it('takes a form-encoded body', async () => {
    const reply = await login('username=editor&password=pass', { 'content-type': 'application/x-www-form-urlencoded' });
    expect(reply.json<{ user: { name: string } }>().user.name).toBe('editor');
  });

  it('sets a cookie that is HttpOnly and SameSite=Lax', async () => {
    const reply = await login({ username: 'creator', password: 'pass' });
    const { session_name, sessid } = reply.json<Record<string, string>>();
    const [cookie] = reply.headers['set-cookie'] as string[];
    expect(cookie).toMatch(
      new RegExp(
        `^${session_name}=${sessid}; expires=\\w+, \\d\\d-\\w+-\\d+ [\\d:]+ GMT; Max-Age=2000000; path=/; HttpOnly; SameSite=Lax$`,
      ),
    );
  });

  it('finds the name whatever its case', async () => {
    expect((await login({ username: 'CREATOR', password: 'pass' })).status).toBe(200);
  });

  it.each([
    [{ username: 'creator2', password: 'wrong' }, 401, 'Wrong username or password.'],
    [{ username: 'nobody', password: 'wrong' }, 401, 'Wrong username or password.'],
    [{ username: 'creator2', password: '' }, 401, 'Wrong username or password.'],
    [{ username: 'creator2' }, 401, 'Missing required argument password'],
    [{ password: 'pass' }, 401, 'Missing required argument username'],
    [{}, 401, 'Missing required argument username'],
    [{ username: null, password: null }, 401, 'Missing required argument username'],
    [{ username: 'blocked', password: 'pass' }, 401, 'Wrong username or password.'],
    [
      { username: '', password: '' },
      403,
      'The username <em class="placeholder"></em> has not been activated or is blocked.',
    ],
    [{ username: '<b>', password: 'x' }, 401, 'Wrong username or password.'],
  ])('refuses %j with %i', async (body, status, words) => {
    const reply = await login(body);
    expect([reply.status, reply.json()]).toEqual([status, [words]]);
  });

  it('does not read credentials from the address', async () => {
    const reply = await portal.anonymous.send('POST', '/api/dataset/user/login?username=creator&password=pass');
    expect(reply.status).toBe(401);
  });

  it('refuses a second login of the same session', async () => {
    const creator = await portal.as('creator');
    const reply = await creator.send('POST', '/api/dataset/user/login', {
      body: { username: 'editor', password: 'pass' },
    });
    expect([reply.status, reply.json()]).toEqual([406, ['Already logged in as creator.']]);
  });

  it('gives every login a session of its own', async () => {
    const first = await portal.as('creator');
    const second = await portal.as('creator');
    expect(first.cookie).not.toBe(second.cookie);
    await first.send('POST', '/api/dataset/user/logout');
    expect((await second.send('GET', '/api/dataset/node')).status).toBe(200);
    expect((await second.send('POST', '/api/dataset/user/logout')).json()).toEqual([true]);
  });

  it('reads the keys name and pass in version 1.1 of the action', async () => {
    const version = { services_user_login_version: '1.1' };
    expect((await login({ name: 'plain', pass: 'pass' }, version)).status).toBe(200);
    expect((await login({ username: 'plain', password: 'pass' }, version)).json()).toEqual([
      'Missing required argument name',
    ]);
  });
});

describe('Flood control', () => {
  it('refuses even the right password after five failures of one user', async () => {
    for (let count = 0; count < 5; count += 1) {
      expect((await login({ username: 'manager', password: 'wrong' })).status).toBe(401);
    }
    const reply = await login({ username: 'manager', password: 'pass' });
    expect([reply.status, reply.json()]).toEqual([406, ['Account is temporarily blocked.']]);
    expect((await login({ username: 'editor', password: 'pass' })).status).toBe(200);
  });

  it('counts again after a login that succeeds', async () => {
    for (let round = 0; round < 2; round += 1) {
      for (let count = 0; count < 4; count += 1) await login({ username: 'administrator', password: 'wrong' });
      expect((await login({ username: 'administrator', password: 'pass' })).status).toBe(200);
    }
  });
});

describe('Logout', () => {
  it('ends the session and deletes the cookie', async () => {
    const creator = await portal.as('creator');
    const reply = await creator.send('POST', '/api/dataset/user/logout');
    expect(reply.json()).toEqual([true]);
    expect((reply.headers['set-cookie'] as string[])[0]).toContain(
      '=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0',
    );
    const after = await creator.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'x' } });
    expect(after.json()).toEqual(['Access denied for user anonymous']);
  });

  it('is refused without a session', async () => {
    const reply = await portal.anonymous.send('POST', '/api/dataset/user/logout');
    expect([reply.status, reply.json()]).toEqual([406, ['User is not logged in.']]);
  });
});

describe('User', () => {
  it('can be read by nobody else, and by himself without the password', async () => {
    expect((await portal.anonymous.send('GET', '/api/dataset/user/3')).status).toBe(403);
    const user = (await (await portal.as('creator')).send('GET', '/api/dataset/user/3')).json();
    expect(user).toMatchObject({ uid: '3', name: 'creator' });
    expect(user).not.toHaveProperty('pass');
    expect(typeof user.login).toBe('string');
  });

  it('shows the mail address to the user himself, and init to those who administer users', async () => {
    const creator = await portal.as('creator');
    expect((await creator.send('GET', '/api/dataset/user/3')).json()).toHaveProperty('mail');
    const admin = await portal.as('admin');
    expect((await admin.send('GET', '/api/dataset/user/3')).json()).toHaveProperty('init');
  });

  it.each(['999', 'abc', 'login'])('%s is not known', async (id) => {
    const admin = await portal.as('admin');
    const reply = await admin.send('GET', `/api/dataset/user/${id}`);
    expect([reply.status, reply.json()]).toEqual([404, [`There is no user with ID ${id}.`]]);
  });
});

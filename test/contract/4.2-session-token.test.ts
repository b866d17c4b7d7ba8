// Specification, section 4.2: session token.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, sendRaw, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const path = '/services/session/token';
const body = { type: 'dataset', title: 'x' };

describe('Session token', () => {
  it('is plain text and the same as the token of the login', async () => {
    const reply = await creator.send('POST', path);
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('text/plain;charset=UTF-8');
    expect(reply.text).toBe(creator.token);
    expect((await creator.send('GET', path)).text).toBe(creator.token);
    expect((await creator.send('POST', '/api/dataset/user/token')).json()).toEqual({ token: creator.token });
  });

  it('is asked for with the cookie alone and an empty body, and lets its session write', async () => {
    const headers = { cookie: creator.cookie };
    const reply = await sendRaw(portal.url, 'POST', path, { headers: { ...headers, 'content-length': '0' } });
    expect(reply.text).toMatch(/^[\w-]{43}$/);
    const write = (token: string) =>
      sendRaw(portal.url, 'POST', '/api/dataset/node', { body, headers: { ...headers, 'x-csrf-token': token } });
    expect((await write('')).status).toBe(401);
    expect((await write(reply.text)).status).toBe(200);
  });

  it('stays the same as long as the session, and differs from that of another', async () => {
    const [first, other] = [await portal.as('editor'), await portal.as('editor')];
    await first.create(body);
    expect((await first.send('POST', path)).text).toBe(first.token);
    expect((await other.send('POST', path)).text).toBe(other.token);
    expect(first.token).not.toBe(other.token);
  });

  it('is worthless and new each time without a session', async () => {
    const first = await portal.anonymous.send('POST', path);
    const second = await portal.anonymous.send('POST', path);
    expect(first.text).toMatch(/^[\w-]{43}$/);
    expect(first.text).not.toBe(second.text);
    const write = await portal.anonymous.send('POST', '/api/dataset/node', {
      body,
      headers: { 'x-csrf-token': first.text },
    });
    expect([write.status, write.json()]).toEqual([403, ['Access denied for user anonymous']]);
  });

  it('ends with the session', async () => {
    const leaving = await portal.as('editor');
    await leaving.send('POST', '/api/dataset/user/logout');
    expect((await leaving.send('POST', path)).text).not.toBe(leaving.token);
    expect((await leaving.send('POST', '/api/dataset/node', { body })).status).toBe(403);
  });
});

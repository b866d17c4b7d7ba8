import { describe, expect, it } from 'vitest';
import { startTestPortal } from '../support/portal.ts';

const body = { type: 'dataset', title: 'x' };

describe('roles', () => {
  it('can be given other permissions, and new ones can be added', async () => {
    const portal = await startTestPortal({
      roles: {
        'content creator': ['create content'],
        publisher: ['create content', 'edit any content'],
        'authenticated user': [],
      },
      users: [
        { name: 'creator', password: 'pass', roles: ['content creator'] },
        { name: 'pia', password: 'pass', roles: ['publisher'] },
      ],
    });
    const creator = await portal.as('creator');
    const pia = await portal.as('pia');
    const nid = await creator.create(body);
    expect((await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'y' } })).status).toBe(403);
    expect((await pia.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'y' } })).status).toBe(200);
    const user = (await pia.send('GET', '/api/dataset/user/3')).json();
    expect(user.roles).toEqual({ '2': 'authenticated user', '7': 'publisher' });
  });

  it('of everybody without a session can be given permissions too', async () => {
    const portal = await startTestPortal({ roles: { 'anonymous user': ['create content'] } });
    expect((await portal.anonymous.send('POST', '/api/dataset/node', { body })).status).toBe(200);
  });
});

describe('expose', () => {
  it('leaves out resources and operations that it does not name', async () => {
    const portal = await startTestPortal({ expose: { node: ['index', 'retrieve'], user: ['login'] } });
    const creator = await portal.as('creator');
    expect((await creator.send('GET', '/api/dataset/node')).json()).toEqual([]);
    for (const [method, path, words] of [
      ['POST', '/api/dataset/node', 'Could not find the controller.'],
      ['POST', '/api/dataset/user/logout', 'Could not find the controller.'],
      ['GET', '/api/dataset/user/1', 'Could not find the controller.'],
      ['GET', '/api/dataset/datastore/1', 'Could not find resource datastore.'],
    ] as const) {
      const reply = await creator.send(method, path, method === 'POST' ? { body } : {});
      expect([reply.status, reply.reason]).toEqual([404, `Not found : ${words}`]);
    }
  });
});

describe('publicUrl', () => {
  it('is the address in answers; on https the cookie is secure and named so', async () => {
    const portal = await startTestPortal({ publicUrl: 'https://data.example.org/' });
    const login = await portal.anonymous.send('POST', '/api/dataset/user/login', {
      body: { username: 'creator', password: 'pass' },
    });
    const { session_name, sessid, token } = login.json<Record<string, string>>();
    expect(session_name).toMatch(/^SSESS[0-9a-f]{32}$/);
    expect(String(login.headers['set-cookie'])).toContain('; secure; HttpOnly');
    const headers = { cookie: `${session_name}=${sessid}`, 'x-csrf-token': token ?? '' };
    const made = await portal.anonymous.send('POST', '/api/dataset/node', { body, headers });
    expect(made.json()).toEqual({ nid: '1', uri: 'https://data.example.org/api/dataset/node/1' });
  });
});

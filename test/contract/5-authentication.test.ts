// Specification, section 5: authentication, CSRF, permissions.
import { beforeAll, describe, expect, it } from 'vitest';
import { startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import { type Caller, sendRaw, startTestPortal, type TestPortal } from '../support/portal.ts';
import { tempDir } from '../support/temp-dir.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const body = { type: 'dataset', title: 'x' };

describe('Session authentication', () => {
  it('asks for cookie and X-CSRF-Token on every write', async () => {
    for (const token of ['', 'wrong', `${creator.token}x`]) {
      const reply = await creator.send('POST', '/api/dataset/node', { body, headers: { 'x-csrf-token': token } });
      expect([reply.status, reply.json(), reply.reason]).toEqual([
        401,
        ['CSRF validation failed'],
        'Unauthorized : CSRF validation failed',
      ]);
    }
    expect((await creator.send('POST', '/api/dataset/node', { body })).status).toBe(200);
  });

  it('takes the token in the address, which logs keep, on deployed portals only', async () => {
    const send = async (of: TestPortal): Promise<number> => {
      const { cookie, token } = await of.as('creator');
      const path = `/api/dataset/node?services_token=${token}`;
      return (await sendRaw(of.url, 'POST', path, { body, headers: { cookie } })).status;
    };
    expect(await send(portal)).toBe(401);
    expect(await send(await startTestPortal({ profile: 'dkan-7.18' }))).toBe(200);
  });

  it('does not take the token of another session', async () => {
    const other = await portal.as('creator');
    const reply = await creator.send('POST', '/api/dataset/node', { body, headers: { 'x-csrf-token': other.token } });
    expect(reply.status).toBe(401);
  });

  it('asks for no token on reads, and ignores a wrong one', async () => {
    expect((await creator.send('GET', '/api/dataset/node', { headers: { 'x-csrf-token': 'wrong' } })).status).toBe(200);
  });

  it('takes an unknown cookie for no session at all', async () => {
    const name = creator.cookie.split('=')[0] ?? '';
    for (const value of ['x', 'A'.repeat(43), '"; DROP TABLE session']) {
      const reply = await sendRaw(portal.url, 'POST', '/api/dataset/node', {
        body,
        headers: { cookie: `${name}=${value}` },
      });
      expect([reply.status, reply.json()]).toEqual([403, ['Access denied for user anonymous']]);
      expect(reply.headers['set-cookie']).toBeUndefined();
    }
  });

  it('checks the token before the permission', async () => {
    const plain = await portal.as('plain');
    expect((await plain.send('POST', '/api/dataset/node', { body, headers: { 'x-csrf-token': '' } })).status).toBe(401);
    expect((await plain.send('POST', '/api/dataset/node', { body })).status).toBe(403);
  });

  it('outlives a restart of the portal, and its token stays the same', async () => {
    const options = {
      dataDir: tempDir(),
      users: [{ name: 'ann', password: 'pass', roles: ['editor'] }],
      log: createLog({ level: 'silent' }),
    };
    const first = await startPortalServer(options);
    const login = await sendRaw(first.url, 'POST', '/api/dataset/user/login', {
      body: { username: 'ann', password: 'pass' },
    });
    const { session_name, sessid, token } = login.json<Record<string, string>>();
    await first.close();
    const second = await startPortalServer({ ...options, port: Number(new URL(first.url).port) });
    try {
      const headers = { cookie: `${session_name}=${sessid}`, 'x-csrf-token': token ?? '' };
      expect((await sendRaw(second.url, 'POST', '/api/dataset/node', { body, headers })).status).toBe(200);
    } finally {
      await second.close();
    }
  });
});

describe('Permissions follow the role', () => {
  const matrix: [string, { create: boolean; own: boolean; others: boolean; unlimited: boolean }][] = [
    ['plain', { create: false, own: false, others: false, unlimited: false }],
    ['creator2', { create: true, own: true, others: false, unlimited: false }],
    ['editor', { create: true, own: true, others: true, unlimited: false }],
    ['manager', { create: true, own: true, others: true, unlimited: false }],
    ['administrator', { create: true, own: true, others: true, unlimited: true }],
    ['admin', { create: true, own: true, others: true, unlimited: true }],
  ];

  it.each(matrix)('%s may what the matrix says', async (name, may) => {
    const caller = await portal.as(name);
    const created = await caller.send('POST', '/api/dataset/node', { body });
    expect(created.status).toBe(may.create ? 200 : 403);
    if (may.create) {
      const { nid } = created.json<{ nid: string }>();
      expect((await caller.send('DELETE', `/api/dataset/node/${nid}`)).status).toBe(may.own ? 200 : 403);
    }
    const others = await creator.create(body);
    expect((await caller.send('PUT', `/api/dataset/node/${others}`, { body: { title: 'y' } })).status).toBe(
      may.others ? 200 : 403,
    );
    expect((await caller.send('DELETE', `/api/dataset/node/${others}`)).status).toBe(may.others ? 200 : 403);
  });
});

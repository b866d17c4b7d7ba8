// Guesses at passwords: counted before they are checked, by the address of the client, never against our own workers.
import { scryptSync } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { loginQueue } from '../../../src/embedded-portal/password.ts';
import { openStore } from '../../../src/embedded-portal/store/open.ts';
import { type Reply, sendRaw, startTestPortal, type TestPortal, testUsers } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const login = ({ url }: TestPortal, username: string, password: string, forwarded?: string): Promise<Reply> =>
  sendRaw(url, 'POST', '/api/dataset/user/login', {
    body: { username, password },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  });

/** As fifty wrong logins from an address leave it. */
const blockAddress = ({ server }: TestPortal, address = '127.0.0.1'): void => {
  const db = new DatabaseSync(join(server.dataDir, 'portal.db'), { timeout: 5000 });
  const insert = db.prepare("INSERT INTO flood (event, identifier, at) VALUES ('address', ?, unixepoch())");
  for (let time = 0; time < 50; time += 1) insert.run(address);
  db.close();
};

describe('Guesses that come at once', () => {
  it('are bounded like those that come one after the other: of twenty, five are checked', async () => {
    const portal = await startTestPortal();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => login(portal, 'creator', `guess ${index}`)),
    );
    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 406)).toHaveLength(15);
  });

  it('do not wait without end: beyond fifty they are refused at once', async () => {
    const queue = loginQueue();
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = Array.from({ length: 52 }, () => queue(() => promise));
    await expect(queue(() => promise)).rejects.toMatchObject({ status: 503 });
    resolve();
    await Promise.all(waiting);
    await queue(() => promise);
  });

  it('with the right password all get in, and none of them counts', async () => {
    const portal = await startTestPortal();
    const replies = await Promise.all(Array.from({ length: 7 }, () => login(portal, 'creator', 'pass')));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 200));
  });
});

describe('The limit of an address', () => {
  it('counts logins to blocked accounts of deployed portals, and then holds for sound ones', async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.18' });
    const words = 'The username <em class="placeholder">blocked</em> has not been activated or is blocked.';
    for (let time = 0; time < 50; time += 1) {
      const reply = await login(portal, 'blocked', 'x');
      expect([reply.status, reply.json()]).toEqual([403, [words]]);
    }
    for (const name of ['blocked', 'creator']) {
      const reply = await login(portal, name, 'pass');
      expect([reply.status, reply.json()]).toEqual([406, ['This IP address is temporarily blocked.']]);
    }
  });

  it('is that of the client behind a trusted proxy: others get in through the same one', async () => {
    const portal = await startTestPortal({ trustedProxies: ['127.0.0.1'] });
    blockAddress(portal, '203.0.113.7');
    expect((await login(portal, 'creator', 'pass', '203.0.113.7')).status).toBe(406);
    expect((await login(portal, 'creator', 'pass', '203.0.113.8')).status).toBe(200);
    // What the client itself puts before it is not believed.
    expect((await login(portal, 'creator', 'pass', '203.0.113.9, 203.0.113.7')).status).toBe(406);
  });

  it('is that of the whole network of a client of IPv6', async () => {
    const portal = await startTestPortal({ trustedProxies: ['127.0.0.1'] });
    for (let time = 0; time < 50; time += 1) await login(portal, `nobody${time}`, 'x', `2001:db8::${time + 1}`);
    expect((await login(portal, 'creator', 'pass', '2001:db8::ffff:1:2:3')).status).toBe(406);
    expect((await login(portal, 'creator', 'pass', '2001:db8:0:1::1')).status).toBe(200);
  });

  it('cannot be evaded by X-Forwarded-For where no proxy is trusted', async () => {
    const portal = await startTestPortal();
    blockAddress(portal);
    expect((await login(portal, 'creator', 'pass', '203.0.113.8')).status).toBe(406);
  });
});

describe('The account of our own workers', () => {
  const secret = 'random-bytes';
  const ownAccount = { name: 'administrator', secret };

  it('cannot be locked out, for its secret is not counted, while its password is limited as any other', async () => {
    const portal = await startTestPortal({ ownAccount });
    for (let time = 0; time < 6; time += 1) await login(portal, 'administrator', 'guess');
    expect((await login(portal, 'administrator', 'pass')).status).toBe(406);
    expect((await login(portal, 'administrator', secret)).status).toBe(200);
    blockAddress(portal);
    expect((await login(portal, 'creator', 'pass')).status).toBe(406);
    expect((await login(portal, 'administrator', secret)).status).toBe(200);
  });

  it('lends its secret to no other account', async () => {
    const portal = await startTestPortal({ ownAccount });
    expect((await login(portal, 'creator', secret)).status).toBe(401);
    expect((await login(portal, 'nobody', secret)).status).toBe(401);
  });
});

describe('A login from a page of another site', () => {
  it.each([{ origin: 'https://attacker.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])(
    'is refused, for it would put a browser into an account of the attacker: %j',
    async (headers: Record<string, string>) => {
      const portal = await startTestPortal();
      const path = '/api/dataset/user/login';
      const body = 'username=creator&password=pass';
      const form = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
      const reply = await sendRaw(portal.url, 'POST', path, { body, headers: form });
      expect([reply.status, reply.headers['set-cookie']]).toEqual([403, undefined]);
      const own = { ...form, origin: portal.url, 'sec-fetch-site': 'same-origin' };
      expect((await sendRaw(portal.url, 'POST', path, { body, headers: own })).status).toBe(200);
    },
  );
});

describe('A hash of former times', () => {
  it('still lets in, and is renewed by that, over a restart with the same users', async () => {
    const dataDir = tempDir();
    const salt = Buffer.alloc(16, 7);
    const key = scryptSync('pass', salt, 32, { N: 16_384, r: 8, p: 1 });
    const password = `scrypt:16384:8:1:${salt.toString('base64url')}:${key.toString('base64url')}`;
    const users = [...testUsers, { name: 'old', password, roles: [] }];
    const stored = async (): Promise<string> => {
      const store = await openStore(dataDir);
      const pass = store.users.byName('old')?.pass ?? '';
      store.close();
      return pass;
    };
    const portal = await startTestPortal({ dataDir, users });
    expect((await login(portal, 'old', 'wrong')).status).toBe(401);
    expect((await login(portal, 'old', 'pass')).status).toBe(200);
    await portal.server.close();
    expect(await stored()).toMatch(/^scrypt:32768:8:3:/);
    const again = await startTestPortal({ dataDir, users });
    expect((await login(again, 'old', 'pass')).status).toBe(200);
    await again.server.close();
    expect(await stored()).toMatch(/^scrypt:32768:8:3:/);
  });
});

// What ends a session, and what strangers learn of accounts.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/embedded-portal/store/open.ts';
import { longestSeconds } from '../../../src/embedded-portal/store/users.ts';
import { type Caller, sendRaw, startTestPortal, testUsers } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const isIn = async (url: string, { cookie, token }: Caller): Promise<boolean> => {
  const headers = { cookie, 'x-csrf-token': token };
  const { status } = await sendRaw(url, 'POST', '/api/dataset/user/logout', { headers });
  return status === 200;
};

/** Logs `creator` in, starts the portal again with other users, and tells whether the session lives. */
const livesAfter = async (change: (user: (typeof testUsers)[number]) => object): Promise<boolean> => {
  const dataDir = tempDir();
  const portal = await startTestPortal({ dataDir, publicUrl: 'http://portal.test' });
  const creator = await portal.as('creator');
  await portal.server.close();
  const users = testUsers.map((user) => (user.name === 'creator' ? { ...user, ...change(user) } : user));
  const again = await startTestPortal({ dataDir, users, publicUrl: 'http://portal.test' });
  return isIn(again.url, creator);
};

describe('A session', () => {
  it('outlives a restart with the same accounts, also where passwords are in clear', async () => {
    expect(await livesAfter(() => ({}))).toBe(true);
    expect(await livesAfter(() => ({ password: 'pass' }))).toBe(true);
  });

  it.each([
    ['password', { password: 'another' }],
    ['roles', { roles: ['editor'] }],
    ['status', { status: 0 as const }],
  ])('ends with another %s', async (_what, change) => {
    expect(await livesAfter(() => change)).toBe(false);
  });

  it('ends after twelve hours, however much it is used', async () => {
    const store = await openStore(tempDir());
    const { id } = await store.write(() => store.sessions.start(3, 1000));
    for (let now = 1000; now <= 1000 + longestSeconds; now += 3600) {
      const session = store.sessions.find(id, now);
      expect([now, session?.uid]).toEqual([now, 3]);
      if (session !== null) await store.write(() => store.sessions.touch(session, now));
    }
    expect(store.sessions.find(id, 1001 + longestSeconds)).toBeNull();
    store.close();
  });
});

describe('An account that leaves the users file', () => {
  it('is blocked with its sessions and tokens, and is let in again when it comes back', async () => {
    const dataDir = tempDir();
    const usersFile = join(tempDir(), 'users.yaml');
    const write = (...names: string[]): void => {
      const users = names.map(
        (name) => `  - { name: ${name}, password: "${testUsers[0]?.password}", roles: [editor] }\n`,
      );
      writeFileSync(usersFile, `users:\n${users.join('')}`);
      chmodSync(usersFile, 0o600);
    };
    const users = [{ name: 'creator', password: String(testUsers[0]?.password), roles: [] }];
    const start = () => startTestPortal({ dataDir, usersFile, users, publicUrl: 'http://portal.test' });
    write('ann', 'bob');
    const first = await start();
    const [ann, bob] = [await first.as('ann'), await first.as('bob')];
    await first.server.close();
    write('bob');
    const second = await start();
    expect(await isIn(second.url, ann)).toBe(false);
    const body = { username: 'ann', password: 'pass' };
    expect((await sendRaw(second.url, 'POST', '/api/dataset/user/login', { body })).status).toBe(401);
    expect(await isIn(second.url, bob)).toBe(true);
    // Accounts that no file named are not touched.
    expect((await second.as('creator')).cookie).toMatch(/=/);
    await second.server.close();
    write('ann', 'bob');
    expect((await (await start()).as('ann')).cookie).toMatch(/=[\w-]{43}$/);
  });
});

describe('A stranger', () => {
  it('sees no account but his own, and not which there are', async () => {
    const portal = await startTestPortal();
    const [creator, manager] = [await portal.as('creator'), await portal.as('manager')];
    const status = async (caller: Caller, uid: number): Promise<number> =>
      (await caller.send('GET', `/api/dataset/user/${uid}`)).status;
    expect([await status(portal.anonymous, 5), await status(portal.anonymous, 99_999)]).toEqual([403, 403]);
    expect([await status(creator, 5), await status(creator, 99_999), await status(creator, 3)]).toEqual([
      403, 403, 200,
    ]);
    expect([await status(manager, 5), await status(manager, 99_999)]).toEqual([200, 404]);
    const deployed = await startTestPortal({ profile: 'dkan-7.18' });
    expect(await status(deployed.anonymous, 5)).toBe(200);
  });

  it('is answered alike for an account that is blocked, unknown, or guessed at too often', async () => {
    const { url } = await startTestPortal();
    const login = async (username: string) => {
      const { status, text } = await sendRaw(url, 'POST', '/api/dataset/user/login', {
        body: { username, password: 'guess' },
      });
      return [status, text];
    };
    const first = await login('creator');
    expect([await login('blocked'), await login('nobody')]).toEqual([first, first]);
    const names = ['creator', 'blocked', 'nobody'];
    for (let time = 0; time < 4; time += 1) for (const name of names) await login(name);
    const last = await login('creator');
    expect(last[0]).toBe(406);
    expect([await login('blocked'), await login('nobody')]).toEqual([last, last]);
  });

  it('does not learn from the author of a node which accounts there are', async () => {
    const creator = await (await startTestPortal()).as('creator');
    const naming = async (author: object) =>
      (await creator.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'x', ...author } })).text;
    expect(await naming({ name: 'editor' })).toBe(await naming({ name: 'nobody' }));
    expect(await naming({ uid: 5 })).toBe(await naming({ uid: 99_999 }));
  });

  it('does not learn from a uuid which node has it', async () => {
    const portal = await startTestPortal();
    const [creator, other] = [await portal.as('creator'), await portal.as('creator2')];
    const uuid = '11111111-2222-4333-8444-555555555555';
    const nid = await creator.create({ type: 'dataset', title: 'x', uuid, status: 0 });
    const again = (caller: Caller) =>
      caller.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'y', uuid } });
    expect((await again(other)).json()).toEqual([`A node with the uuid ${uuid} exists already`]);
    expect((await again(creator)).json()).toEqual([`A node with the uuid ${uuid} exists already: nid ${nid}`]);
  });
});

describe('Promoted and sticky', () => {
  it('are for who administers nodes; others may send them as they are', async () => {
    const portal = await startTestPortal();
    const [creator, manager] = [await portal.as('creator'), await portal.as('manager')];
    const nid = await creator.create({ type: 'dataset', title: 'x', promote: 0, sticky: '0' });
    const set = async (caller: Caller, body: object): Promise<number> =>
      (await caller.send('PUT', `/api/dataset/node/${nid}`, { body })).status;
    expect([await set(creator, { sticky: 1 }), await set(creator, { promote: 1 })]).toEqual([406, 406]);
    expect([await set(manager, { sticky: 1 }), await set(creator, { title: 'y', sticky: 1 })]).toEqual([200, 200]);
    expect(await set(creator, { sticky: 0 })).toBe(406);
  });
});

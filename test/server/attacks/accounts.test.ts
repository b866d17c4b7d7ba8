// What ends a session, and what strangers learn of accounts.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/server/store/open.ts';
import { longestSeconds } from '../../../src/server/store/sessions.ts';
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
  it('outlives a restart with the same accounts, also where passwords stand in clear', async () => {
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
    const store = openStore(tempDir());
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

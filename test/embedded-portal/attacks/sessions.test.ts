// Sessions: nobody guesses, fixes, keeps or steals one.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/embedded-portal/store/open.ts';
import { idleSeconds } from '../../../src/embedded-portal/store/users.ts';
import { type Reply, sendRaw, startTestPortal } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const login = (url: string, headers: Record<string, string> = {}, name = 'creator'): Promise<Reply> =>
  sendRaw(url, 'POST', '/api/dataset/user/login', { body: { username: name, password: 'pass' }, headers });

const cookieOf = (reply: Reply): string => String(reply.headers['set-cookie']).split(';')[0] ?? '';

describe('A session id', () => {
  it('holds 256 random bits and is new at every login', async () => {
    const { url } = await startTestPortal();
    const ids = new Set<string>();
    for (let time = 0; time < 5; time += 1) ids.add(cookieOf(await login(url)).split('=')[1] ?? '');
    expect(ids.size).toBe(5);
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(32);
  });

  it('that the client chose is not taken over by a login', async () => {
    const { url } = await startTestPortal();
    const name = cookieOf(await login(url)).split('=')[0];
    const chosen = `${name}=${'A'.repeat(43)}`;
    const reply = await login(url, { cookie: chosen });
    expect(reply.status).toBe(200);
    expect(cookieOf(reply)).not.toBe(chosen);
    const body = { type: 'dataset', title: 'x' };
    const headers = { cookie: chosen, 'x-csrf-token': String(reply.json().token) };
    expect((await sendRaw(url, 'POST', '/api/dataset/node', { body, headers })).status).toBe(403);
  });

  it('is not in the store, so that a stolen backup opens no session', async () => {
    const dataDir = tempDir();
    const { url, server } = await startTestPortal({ dataDir });
    const id = cookieOf(await login(url)).split('=')[1] ?? '';
    await server.close();
    const db = new DatabaseSync(join(dataDir, 'portal.db'));
    const stored = db.prepare('SELECT id FROM session').all();
    db.close();
    expect(stored).toHaveLength(1);
    const bytes = Buffer.from(stored[0]?.id as Uint8Array);
    expect([bytes.equals(Buffer.from(id)), bytes.equals(Buffer.from(id, 'base64url'))]).toEqual([false, false]);
  });

  it('is worth nothing after logout, not even for a client that keeps the cookie', async () => {
    const portal = await startTestPortal();
    const creator = await portal.as('creator');
    expect((await creator.send('POST', '/api/dataset/user/logout')).status).toBe(200);
    const reply = await creator.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'x' } });
    expect(reply.status).toBe(403);
  });

  it.each(['', 'x', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}%`, "' OR 1=1 --", '\u00ff'.repeat(43)])(
    'like "%s" is simply nobody',
    async (id) => {
      const { url } = await startTestPortal();
      const name = cookieOf(await login(url)).split('=')[0];
      const reply = await sendRaw(url, 'GET', '/api/dataset/node', { headers: { cookie: `${name}=${id}` } });
      expect(reply.status).toBe(200);
    },
  );
});

describe('The session cookie', () => {
  it('is HttpOnly, SameSite=Lax, and Secure where the portal is reached over https', async () => {
    const plain = String((await login((await startTestPortal()).url)).headers['set-cookie']);
    expect(plain).toMatch(/; HttpOnly; SameSite=Lax$/);
    expect(plain).not.toMatch(/secure/i);
    const { url } = await startTestPortal({ publicUrl: 'https://data.example.org' });
    expect(String((await login(url)).headers['set-cookie'])).toMatch(/; secure; HttpOnly; SameSite=Lax$/);
  });
});

describe('A session that is not used', () => {
  it('ends, and is removed at the next login', async () => {
    const store = await openStore(tempDir());
    const { id } = await store.write(() => store.sessions.start(3, 1000));
    expect(store.sessions.find(id, 1000 + idleSeconds)).toMatchObject({ uid: 3 });
    expect(store.sessions.find(id, 1001 + idleSeconds)).toBeNull();
    await store.write(() => store.sessions.start(3, 1001 + idleSeconds));
    expect(store.db.prepare('SELECT count(*) AS n FROM session').get()).toEqual({ n: 1 });
    store.close();
  });
});

describe('Guessing a password', () => {
  it('takes as many steps for a name that does not exist as for one that does', async () => {
    const { url } = await startTestPortal();
    const wrong = async (name: string): Promise<Reply> =>
      sendRaw(url, 'POST', '/api/dataset/user/login', { body: { username: name, password: 'wrong' } });
    const [known, unknown] = [await wrong('creator'), await wrong('nobody-of-that-name')];
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
  });

  it('blocks the account for that address after five failures, the right password included', async () => {
    const { url } = await startTestPortal();
    for (let time = 0; time < 5; time += 1) {
      await sendRaw(url, 'POST', '/api/dataset/user/login', { body: { username: 'editor', password: 'wrong' } });
    }
    expect((await login(url, {}, 'editor')).status).toBe(406);
    expect((await login(url, {}, 'creator')).status).toBe(200);
  });
});

import crypto from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type PortalServer, startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import { sendRaw, startTestPortal, testUsers } from '../support/portal.ts';
import { startPortalChild } from '../support/portal-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const log = createLog({ level: 'silent' });

const login = async (url: string, username: string, password: string): Promise<number> =>
  (await sendRaw(url, 'POST', '/api/dataset/user/login', { body: { username, password } })).status;

const stopAfter = async (server: PortalServer, work: (server: PortalServer) => Promise<void>): Promise<void> => {
  try {
    await work(server);
  } finally {
    await server.close();
  }
};

describe('start', () => {
  it('makes an admin with a random password when nobody is named, once', async () => {
    const dataDir = tempDir();
    let password = '';
    await stopAfter(await startPortalServer({ dataDir, log }), async (server) => {
      password = server.newAdminPassword ?? '';
      expect(password).toMatch(/^[\w-]{20}$/);
      expect(await login(server.url, 'admin', password)).toBe(200);
    });
    await stopAfter(await startPortalServer({ dataDir, log }), async (server) => {
      expect(server.newAdminPassword).toBeNull();
      expect(await login(server.url, 'admin', password)).toBe(200);
    });
  });

  it('adds and updates the given users and removes none', async () => {
    const dataDir = tempDir();
    const ann = { name: 'ann', password: 'one', roles: ['editor'] };
    await stopAfter(await startPortalServer({ dataDir, users: [ann], log }), async () => undefined);
    const users = [{ name: 'bob', password: 'two', roles: [] }];
    await stopAfter(await startPortalServer({ dataDir, users, log }), async ({ url }) => {
      expect(await login(url, 'ann', 'one')).toBe(200);
      expect(await login(url, 'bob', 'two')).toBe(200);
    });
    const changed = [{ ...ann, password: 'three' }];
    await stopAfter(await startPortalServer({ dataDir, users: changed, log }), async ({ url }) => {
      expect(await login(url, 'ann', 'one')).toBe(401);
      expect(await login(url, 'ann', 'three')).toBe(200);
    });
  });

  it('refuses a store that another server has, and a port that is taken; the store stays usable', async () => {
    const { server } = await startTestPortal();
    const refused = expect.objectContaining({ code: 'portal-port' });
    await expect(startPortalServer({ dataDir: server.dataDir, log })).rejects.toEqual(refused);
    const dataDir = tempDir();
    const port = Number(new URL(server.url).port);
    await expect(startPortalServer({ dataDir, port, log })).rejects.toEqual(refused);
    await stopAfter(await startPortalServer({ dataDir, log }), async ({ url }) => {
      expect((await sendRaw(url, 'GET', '/healthz')).status).toBe(200);
    });
  });

  it('sweeps what a killed process left: bytes that no file names', async () => {
    const dataDir = tempDir();
    await stopAfter(await startPortalServer({ dataDir, log }), async () => undefined);
    writeFileSync(join(dataDir, 'files', 'orphan'), 'x');
    await stopAfter(await startPortalServer({ dataDir, log }), async () => {
      expect(readdirSync(join(dataDir, 'files'))).toEqual([]);
    });
  });

  it('fills an empty store from a seed, and only an empty one', async () => {
    const dataDir = tempDir();
    const seedFile = join(tempDir(), 'seed.yaml');
    writeFileSync(
      seedFile,
      'next: { nid: 100, vid: 200, fid: 300 }\nusers: [{ uid: 1, name: admin, password: admin, roles: [] }, { uid: 9, name: blocked, password: pw, status: 0, roles: [] }]\nterms: [{ vocabulary: tags, tid: 8, name: election }]\n',
    );
    await stopAfter(await startPortalServer({ dataDir, seedFile, log }), async ({ url }) => {
      const reply = await sendRaw(url, 'POST', '/api/dataset/user/login', {
        body: { username: 'admin', password: 'admin' },
      });
      const { session_name, sessid, token } = reply.json<Record<string, string>>();
      const headers = { cookie: `${session_name}=${sessid}`, 'x-csrf-token': token ?? '' };
      const body = { type: 'dataset', title: 'Seeded', field_tags: { und: [{ tid: '8' }] } };
      expect((await sendRaw(url, 'POST', '/api/dataset/node', { body, headers })).json()).toMatchObject({ nid: '100' });
      expect((await sendRaw(url, 'GET', '/api/dataset/node/100')).json()).toMatchObject({ vid: '200' });
      expect(await login(url, 'blocked', 'pw')).toBe(401);
    });
    await expect(startPortalServer({ dataDir, seedFile, log })).rejects.toThrow(/is not empty/);
    await expect(startPortalServer({ dataDir: tempDir(), seedFile, host: '0.0.0.0', log })).rejects.toThrow(
      /loopback only/,
    );
  });
});

describe('requests()', () => {
  it('tells reads from requests that change nodes or datastores; logins count as reads', async () => {
    const portal = await startTestPortal();
    const creator = await portal.as('creator');
    const nid = await creator.create({ type: 'dataset', title: 'Counted' });
    await creator.read(nid);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: {} });
    await creator.send('DELETE', `/api/dataset/node/${nid}`);
    expect(portal.server.requests()).toEqual({ reads: 2, writes: 3 });
  });
});

describe('close()', () => {
  it('is idempotent and lets the next server have the store at once', async () => {
    const dataDir = tempDir();
    const server = await startPortalServer({ dataDir, log });
    await Promise.all([server.close(), server.close()]);
    await stopAfter(await startPortalServer({ dataDir, log }), async () => undefined);
  });

  it('waits for a request in progress, not for the connection that it came by', async () => {
    const server = await startPortalServer({ dataDir: tempDir(), log });
    const { hostname, port } = new URL(server.url);
    const client = connect(Number(port), hostname);
    const ended = once(client, 'close');
    const replied = once(client, 'data');
    const body = JSON.stringify({ username: 'nobody', password: 'x' });
    client.write(
      `POST /api/dataset/user/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    client.write(body.slice(0, 5));
    await waitUntil('the request to be under way', () => server.requests().reads === 1);
    const closed = server.close();
    client.write(body.slice(5));
    expect(String((await replied)[0])).toMatch(/^HTTP\/1\.1 401 /);
    await Promise.all([closed, ended]);
  });
});

describe('close() with requests whose clients are gone', () => {
  it('lets them end before the store closes', async () => {
    const dataDir = tempDir();
    const server = await startPortalServer({ dataDir, users: testUsers, log });
    const { scrypt } = crypto;
    const held = Promise.withResolvers<void>();
    Object.assign(crypto, { scrypt: (...args: Parameters<typeof scrypt>) => held.promise.then(() => scrypt(...args)) });
    syncBuiltinESMExports();
    try {
      const { hostname, port } = new URL(server.url);
      const client = connect(Number(port), hostname);
      const body = JSON.stringify({ username: 'creator', password: 'pass' });
      client.write(
        `POST /api/dataset/user/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      await waitUntil('the request to be under way', () => server.requests().reads === 1);
      client.destroy();
      const closed = server.close();
      await Promise.race([closed, sleep(300)]);
      held.resolve();
      await closed;
      const db = new DatabaseSync(join(dataDir, 'portal.db'));
      expect(db.prepare('SELECT count(*) AS logins FROM session').get()).toEqual({ logins: 1 });
      db.close();
    } finally {
      Object.assign(crypto, { scrypt });
      syncBuiltinESMExports();
    }
  });
});

describe('kill -9 during writes', () => {
  it('keeps every acknowledged write and a sound database', async () => {
    const dataDir = tempDir();
    const acknowledged: string[] = [];
    const refused: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const { child, exited, url } = await startPortalChild(dataDir, { users: testUsers });
      const target = acknowledged.length + 15 + 4 * round;
      const reply = await sendRaw(url, 'POST', '/api/dataset/user/login', {
        body: { username: 'creator', password: 'pass' },
      });
      const { session_name, sessid, token } = reply.json<Record<string, string>>();
      const headers = { cookie: `${session_name}=${sessid}`, 'x-csrf-token': token ?? '' };
      const write = async (number: number): Promise<void> => {
        const title = `Round ${round} node ${number}`;
        const made = await sendRaw(url, 'POST', '/api/dataset/node', { body: { type: 'resource', title }, headers });
        if (made.status !== 200) refused.push(made.text);
        acknowledged.push(made.json<{ nid: string }>().nid);
        if (acknowledged.length === target) child.kill('SIGKILL');
      };
      const writers = Array.from({ length: 8 }, async (_, index) => {
        for (let number = index; ; number += 8) await write(number);
      });
      await Promise.allSettled(writers);
      await exited;
    }
    expect(refused).toEqual([]);
    const { server, anonymous } = await startTestPortal({ dataDir });
    for (const nid of acknowledged) expect((await anonymous.send('GET', `/api/dataset/node/${nid}`)).status).toBe(200);
    await server.close();
    const db = new DatabaseSync(join(dataDir, 'portal.db'));
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    db.close();
    expect(acknowledged.length).toBeGreaterThan(40);
  });
});

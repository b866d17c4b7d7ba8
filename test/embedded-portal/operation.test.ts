// Operating a portal: full disks, folders that cannot be written, its log and its end.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/model/log.ts';
import { startTestPortal } from '../support/portal.ts';
import { tempDir } from '../support/temp-dir.ts';

const mounted: string[] = [];
afterAll(() => {
  for (const dir of mounted) execFileSync('umount', ['-l', dir]);
});

/** A folder on a file system of its own of some megabytes; null where this user may not mount one. */
const smallDisk = (megabytes: number): string | null => {
  const dir = tempDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    return null;
  }
  mounted.push(dir);
  return dir;
};

/** Makes a folder that even root cannot write into; null where that does not work. */
const freeze = (dir: string): (() => void) | null => {
  try {
    execFileSync('chattr', ['+i', dir], { stdio: 'ignore' });
    return () => void execFileSync('chattr', ['-i', dir]);
  } catch {
    return null;
  }
};

const disk = smallDisk(6);
const folder = tempDir();
const thaw = freeze(folder);
thaw?.();

describe('A full disk', () => {
  it.skipIf(disk === null)(
    `answers 507, keeps serving reads, and writes again when there is space${disk === null ? ' (skipped: no tmpfs can be mounted here)' : ''}`,
    async () => {
      const dataDir = join(disk ?? '', 'store');
      mkdirSync(dataDir);
      const portal = await startTestPortal({ dataDir });
      const creator = await portal.as('creator');
      const nid = await creator.create({ type: 'resource', title: 'First' });
      await creator.attach(nid, { name: 'first.csv', content: 'a\n1\n' });
      const made: string[] = [];
      const ballast = join(disk ?? '', 'ballast');
      for (let left = 6_000_000; left >= 1000; left = Math.floor(left / 2)) {
        try {
          writeFileSync(`${ballast}-${left}`, Buffer.alloc(left));
        } catch {
          rmSync(`${ballast}-${left}`, { force: true });
        }
      }
      let refused = 0;
      for (let number = 0; number < 400 && refused < 3; number += 1) {
        const body = { type: 'dataset', title: `N${number}`, body: { und: [{ value: 'x'.repeat(20_000) }] } };
        const reply = await creator.send('POST', '/api/dataset/node', { body });
        if (reply.status === 200) made.push(reply.json<{ nid: string }>().nid);
        else {
          expect([reply.status, reply.json()]).toEqual([507, ['The portal has no space left; nothing was changed.']]);
          refused += 1;
        }
      }
      expect(refused).toBe(3);
      const upload = await creator.attach(nid, { name: 'second.csv', content: `a\n${'x\n'.repeat(200_000)}` });
      expect(upload.status).toBe(507);
      for (const one of [nid, ...made])
        expect((await creator.send('GET', `/api/dataset/node/${one}`)).status).toBe(200);
      expect((await creator.send('GET', '/sites/default/files/first.csv')).text).toBe('a\n1\n');
      for (let left = 6_000_000; left >= 1000; left = Math.floor(left / 2))
        rmSync(`${ballast}-${left}`, { force: true });
      await creator.create({ type: 'dataset', title: 'After' });
    },
  );
});

describe('A folder that cannot be written', () => {
  it.skipIf(thaw === null)(
    `answers uploads with 503 and serves on${thaw === null ? ' (skipped: chattr does not work here)' : ''}`,
    async () => {
      const portal = await startTestPortal();
      const creator = await portal.as('creator');
      const nid = await creator.create({ type: 'resource', title: 'Target' });
      await creator.attach(nid, { name: 'first.csv', content: 'a\n1\n' });
      const undo = freeze(join(portal.server.dataDir, 'files'));
      try {
        const reply = await creator.attach(nid, { name: 'second.csv', content: 'a\n2\n' });
        expect([reply.status, reply.json()]).toEqual([
          503,
          ['The portal cannot write its store; nothing was changed.'],
        ]);
        expect((await creator.send('GET', '/sites/default/files/first.csv')).text).toBe('a\n1\n');
      } finally {
        undo?.();
      }
      expect((await creator.attach(nid, { name: 'third.csv', content: 'a\n3\n' })).status).toBe(200);
    },
  );

  it.skipIf(thaw === null)(
    `is told at the start with what to do${thaw === null ? ' (skipped: chattr does not work here)' : ''}`,
    async () => {
      const undo = freeze(folder);
      try {
        await expect(startTestPortal({ dataDir: join(folder, 'store') })).rejects.toMatchObject({
          code: 'portal-store',
          message: expect.stringContaining(folder),
          hint: expect.stringContaining('may be written'),
        });
      } finally {
        undo?.();
      }
    },
  );
});

describe('The access log', () => {
  it('has a line for every request, without query, cookie, token, password or body', async () => {
    const lines: string[] = [];
    const destination = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    const log = createLog({ level: 'info', destination });
    const portal = await startTestPortal({ log, accessLevel: 'info' });
    const creator = await portal.as('creator');
    await creator.send('GET', `/api/dataset/node?parameters[title]=secret&services_token=${creator.token}`);
    await creator.create({ type: 'dataset', title: 'Private words' });
    await creator.send('GET', '/api/dataset/node/999');
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const answered = entries.filter(({ msg }) => msg === 'answered');
    expect(answered.map(({ method, path, status }) => [method, path, status])).toEqual([
      ['POST', '/api/dataset/user/login', 200],
      ['GET', '/api/dataset/node', 200],
      ['POST', '/api/dataset/node', 200],
      ['GET', '/api/dataset/node/999', 404],
    ]);
    expect(answered[0]).toMatchObject({ address: '127.0.0.1', ms: expect.any(Number) });
    for (const secret of [creator.token, creator.cookie.split('=')[1], 'secret', 'Private words', '"pass"']) {
      expect(lines.join('')).not.toContain(secret);
    }
  });
});

describe('GET /healthz', () => {
  it('reports that the store can be read, whatever Accept says', async () => {
    const portal = await startTestPortal();
    const reply = await portal.anonymous.send('GET', '/healthz', { headers: { accept: 'text/html' } });
    expect([reply.status, reply.json()]).toEqual([200, { status: 'ok', profile: 'spec', nodes: 0 }]);
  });
});

describe('A graceful stop', () => {
  it('lets requests in progress end, and what they were told is there at the next start', async () => {
    const dataDir = tempDir();
    const portal = await startTestPortal({ dataDir });
    const creator = await portal.as('creator');
    const replies = Array.from({ length: 20 }, (_, index) =>
      creator.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: `D${index}` } }).catch(() => null),
    );
    await Promise.race(replies);
    await portal.server.close();
    const made = (await Promise.all(replies)).flatMap((reply) =>
      reply?.status === 200 ? [reply.json<{ nid: string }>().nid] : [],
    );
    expect(made.length).toBeGreaterThan(0);
    const again = await startTestPortal({ dataDir });
    for (const nid of made) expect((await again.anonymous.send('GET', `/api/dataset/node/${nid}`)).status).toBe(200);
  });
});

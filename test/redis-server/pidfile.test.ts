import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPidFile, removePidFile, writePidFile } from '../../src/redis-server/pidfile.ts';
import { tempDir } from '../support/temp-dir.ts';

const owner = { pid: 12, startedAt: 'boot:34' };
const content = { server: null, owner, socket: '/tmp/s', binary: '/usr/bin/redis-server' };

test('what was written is read back, is private, and leaves no draft', async () => {
  const dir = tempDir();
  await writePidFile(dir, content);
  const later = { ...content, server: { pid: 56, startedAt: 'boot:78' } };
  await writePidFile(dir, later);
  expect(await readPidFile(dir)).toEqual(later);
  expect(readdirSync(dir)).toEqual(['redis.pid']);
  expect(statSync(join(dir, 'redis.pid')).mode & 0o777).toBe(0o600);
  await removePidFile(dir);
  await removePidFile(dir);
  expect(await readPidFile(dir)).toBeNull();
});

test.each(['', '123', '{"server":', '{"owner":{"pid":"1"}}'])('a file that holds %j counts as none', async (text) => {
  const dir = tempDir();
  writeFileSync(join(dir, 'redis.pid'), text);
  expect(await readPidFile(dir)).toBeNull();
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  isRunning,
  markProcess,
  readPidFile,
  removePidFile,
  writePidFile,
} from '../../src/redis-server/server-record.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

test('a process that runs is known by its mark', () => {
  const mark = markProcess(process.pid);
  expect(mark?.pid).toBe(process.pid);
  expect(mark !== null && isRunning(mark)).toBe(true);
});

test('another process under the same number is not taken for the one that was marked', () => {
  expect(isRunning({ pid: process.pid, startedAt: 'an-earlier-boot:1' })).toBe(false);
});

test('a process that ended does not run', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)']);
  await once(child, 'spawn');
  const mark = markProcess(child.pid ?? 0);
  if (mark === null) throw new Error('the child should run');
  expect(isRunning(mark)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isRunning(mark)).toBe(false);
  expect(markProcess(mark.pid)).toBeNull();
});

test.skipIf(process.platform !== 'linux')('a zombie does not run (Linux, where it can be told)', async () => {
  // The shell starts a child that ends with our pipe, and becomes a program that never collects it.
  const parent = spawn('/bin/sh', ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 60']);
  const [said] = await once(parent.stdout, 'data');
  const pid = Number(String(said));
  await waitUntil('the shell to be sleep', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8').trim() === 'sleep');
  expect(markProcess(pid)).not.toBeNull();
  parent.stdin.end();
  await waitUntil('the child to end', () => markProcess(pid) === null);
  expect(() => process.kill(pid, 0)).not.toThrow();
  parent.kill('SIGKILL');
  await once(parent, 'exit');
});

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

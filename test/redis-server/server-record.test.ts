import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { RedisFailedError } from '../../src/model/errors.ts';
import {
  chooseSocket,
  isRunning,
  makeSocketFolder,
  markProcess,
  readPidFile,
  removePidFile,
  writePidFile,
} from '../../src/redis-server/server-record.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

test('a running process has a mark', () => {
  const mark = markProcess(process.pid);
  expect(mark?.pid).toBe(process.pid);
  expect(mark !== null && isRunning(mark)).toBe(true);
});

test('a mark does not match another process of the same number', () => {
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

test.skipIf(process.platform !== 'linux')('a zombie does not run (Linux, where it can be recognized)', async () => {
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

const content = { server: null, socket: '/tmp/s', binary: '/usr/bin/redis-server' };

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

test.each(['', '123', '{"server":', '{"server":{"pid":"1"}}'])('a file that holds %j counts as none', async (text) => {
  const dir = tempDir();
  writeFileSync(join(dir, 'redis.pid'), text);
  expect(await readPidFile(dir)).toBeNull();
});

const deepFolder = (): string => {
  const folder = join(tempDir(), 'a-rather-long-name-of-a-folder/'.repeat(4));
  mkdirSync(folder, { recursive: true });
  return folder;
};

test('the socket of a short path lies in the folder itself', async () => {
  const folder = tempDir();
  const socket = await chooseSocket(folder);
  expect(socket).toBe(join(folder, 'redis.sock'));
  await makeSocketFolder(socket, folder);
});

test('the socket of a deep folder lies in a short private folder, always the same one', async () => {
  const [folder, other, temporary] = [deepFolder(), deepFolder(), tempDir()];
  const socket = await chooseSocket(folder, temporary);
  expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
  expect(dirname(dirname(socket))).toBe(temporary);
  expect(await chooseSocket(folder, temporary)).toBe(socket);
  expect(await chooseSocket(other, temporary)).not.toBe(socket);
  await makeSocketFolder(socket, folder);
  expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
});

test('a deep temporary folder is not used either', async () => {
  const socket = await chooseSocket(deepFolder(), deepFolder());
  expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
});

test('a folder that others can enter, or a link, is not trusted with the socket', async () => {
  const [folder, temporary] = [deepFolder(), tempDir()];
  const socket = await chooseSocket(folder, temporary);
  mkdirSync(dirname(socket));
  chmodSync(dirname(socket), 0o755);
  await expect(makeSocketFolder(socket, folder)).rejects.toThrow(RedisFailedError);
  const linked = join(temporary, 'linked');
  symlinkSync(tempDir(), linked);
  await expect(makeSocketFolder(join(linked, 'redis.sock'), folder)).rejects.toThrow('is not private to this user');
});

import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { RedisFailedError } from '../../src/model/errors.ts';
import { chooseSocket, makeSocketFolder } from '../../src/redis-server/server-record.ts';
import { tempDir } from '../support/temp-dir.ts';

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

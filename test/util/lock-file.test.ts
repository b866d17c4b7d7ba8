import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LockFile } from '../../src/util/lock-file.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const dir = tempDir();

test('one holder excludes all others until it gives the lock back', () => {
  const path = join(dir, 'exclusive');
  const [first, second] = [new LockFile(path), new LockFile(path)];
  expect(first.tryExclusive()).toBe(true);
  expect(second.tryExclusive()).toBe(false);
  expect(second.tryShared()).toBe(false);
  first.release();
  expect(second.tryExclusive()).toBe(true);
  first.close();
  second.close();
});

test('many share a lock, and nobody has it alone meanwhile', () => {
  const path = join(dir, 'shared');
  const [first, second, third] = [new LockFile(path), new LockFile(path), new LockFile(path)];
  expect([first.tryShared(), second.tryShared(), third.tryExclusive()]).toEqual([true, true, false]);
  first.close();
  expect(third.tryExclusive()).toBe(false);
  second.close();
  expect(third.tryExclusive()).toBe(true);
  third.close();
  third.close();
});

test('the lock of a process that was killed is free at once', async () => {
  const path = join(dir, 'killed');
  const module = fileURLToPath(new URL('../../src/util/lock-file.ts', import.meta.url));
  const code = `const { LockFile } = await import(process.argv[1]); globalThis.lock = new LockFile(process.argv[2]);
    console.log(globalThis.lock.tryExclusive()); setInterval(() => {}, 60000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, module, path]);
  const [said] = await once(child.stdout, 'data');
  expect(String(said).trim()).toBe('true');
  const lock = new LockFile(path);
  expect(lock.tryExclusive()).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await waitUntil('the lock of the dead', () => lock.tryExclusive())).toBe(true);
  lock.close();
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockStore } from '../../../src/embedded-portal/store/open.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';

const source = join(import.meta.dirname, '../../../src/embedded-portal/store/open.ts');

const holder = async (dir: string) => {
  const script = `const { lockStore } = await import(${JSON.stringify(source)}); globalThis.lock = lockStore(${JSON.stringify(dir)}); console.log('held'); setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
};

it('two servers in one process cannot hold the same store', () => {
  const dir = tempDir();
  const lock = lockStore(dir);
  expect(() => lockStore(dir)).toThrow(expect.objectContaining({ code: 'portal-port' }));
  lock.release();
  lockStore(dir).release();
});

it('another process cannot take a store that is held, and kill -9 of the holder frees it', async () => {
  const dir = tempDir();
  const child = await holder(dir);
  expect(() => lockStore(dir)).toThrow(/another process serves the portal store/);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = await waitUntil('the lock is free', () => {
    try {
      return lockStore(dir);
    } catch {
      return null;
    }
  });
  lock.release();
  lock.release();
});

it('a folder that does not exist is a store error, not a port error', () => {
  expect(() => lockStore(join(tempDir(), 'missing'))).toThrow(expect.objectContaining({ code: 'portal-store' }));
});

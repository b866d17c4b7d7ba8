import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isRunning, markProcess } from '../../src/redis/process-mark.ts';

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
  // The shell starts a child, becomes a program that never collects it, and says its number.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 60']);
  const [said] = await once(parent.stdout, 'data');
  const pid = Number(String(said));
  await expect.poll(() => markProcess(pid), { timeout: 10_000 }).toBeNull();
  expect(() => process.kill(pid, 0)).not.toThrow();
  parent.kill('SIGKILL');
  await once(parent, 'exit');
});

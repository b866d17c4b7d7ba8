import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isRunning, markProcess } from '../../src/redis-server/server-record.ts';
import { stopServer } from '../../src/redis-server/start.ts';

test('a server that does not heed SIGTERM is killed in the end', async () => {
  const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 60000); console.log('ready')";
  const child = spawn(process.execPath, ['-e', code]);
  const exit = once(child, 'exit');
  await once(child.stdout, 'data');
  const mark = markProcess(child.pid ?? 0);
  if (mark === null) throw new Error('the child should run');
  await stopServer(mark, 50);
  expect((await exit)[1]).toBe('SIGKILL');
  expect(isRunning(mark)).toBe(false);
});

test('a process that took over the number of a server is not touched', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)']);
  await once(child, 'spawn');
  const mark = { pid: child.pid ?? 0, startedAt: 'an-earlier-boot:1' };
  await stopServer(mark, 50);
  expect(markProcess(mark.pid)).not.toBeNull();
  expect(child.killed || child.exitCode !== null || child.signalCode !== null).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

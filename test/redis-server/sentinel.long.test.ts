// Sentinels: the server is found by its name, and followed when another one takes its place.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { reachExternal } from '../../src/redis-server/embedded.ts';
import { freePort, killRedis, redisArguments, spawnRedis } from '../support/redis-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { keptLog } from './embedded-support.ts';

const running: ChildProcess[] = [];
afterAll(() => Promise.all(running.map(killRedis)));

const dir = tempDir();

const start = async (name: string, more: Record<string, string> = {}): Promise<{ port: number; end: () => void }> => {
  const port = await freePort();
  mkdirSync(join(dir, name));
  const settings = { port, bind: '127.0.0.1', dir: join(dir, name), save: '', 'repl-diskless-sync-delay': 0, ...more };
  const server = spawnRedis(redisArguments(settings));
  running.push(server);
  return { port, end: () => void server.kill('SIGKILL') };
};

const startSentinel = async (of: number): Promise<number> => {
  const port = await freePort();
  const file = join(dir, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${dir}`,
    `sentinel monitor main 127.0.0.1 ${of} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 2000',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  running.push(spawnRedis([file, '--sentinel']));
  return port;
};

const clientOf = (port: number): Redis => {
  const client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
  client.on('error', () => {}); // not there yet
  return client;
};

test('the server that takes over from a killed one is used on the same connection', async () => {
  const first = await start('first');
  const second = await start('second', { replicaof: `127.0.0.1 ${first.port}` });
  const [copy, watcher] = [clientOf(second.port), clientOf(await startSentinel(first.port))];
  await waitUntil('the copy to be in step', async () => /master_link_status:up/.test(await copy.info('replication')));
  await waitUntil('the sentinel to know the copy', async () => /slaves=1/.test(await watcher.info('sentinel')));
  const url = `redis+sentinel://127.0.0.1:1,127.0.0.1:${watcher.options.port}/main`;
  const { options, describe } = await reachExternal(url, { log: keptLog().log, prefix: 'sluice' });
  expect(describe).toMatch(/ at main of the sentinels 127\.0\.0\.1:1, 127\.0\.0\.1:\d+$/);

  const client = new Redis({ ...options, maxRetriesPerRequest: null });
  client.on('error', () => {}); // while nobody is the server
  await client.set('a', '1');
  await waitUntil('the copy of the key', async () => (await copy.get('a')) === '1');
  first.end();
  await client.set('b', '2');
  expect(await copy.mget('a', 'b')).toEqual(['1', '2']);
  for (const each of [client, copy, watcher]) each.disconnect();
});

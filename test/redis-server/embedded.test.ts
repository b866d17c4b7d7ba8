import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { RedisFailedError, RedisMissingError } from '../../src/model/errors.ts';
import { openRedis, type RedisHandle } from '../../src/redis-server/embedded.ts';
import { readPidFile } from '../../src/redis-server/server-record.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { embedded, keptLog, killServersAfterwards, serversOf } from './embedded-support.ts';

const newState = (): string => {
  const dir = tempDir();
  killServersAfterwards(dir);
  return dir;
};

const withClient = async <T>(handle: RedisHandle, work: (client: Redis) => Promise<T>): Promise<T> => {
  const client = new Redis({ ...handle.options, maxRetriesPerRequest: null });
  client.on('error', () => {}); // it reconnects by itself
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
};

const failureOf = async (opening: Promise<RedisHandle>): Promise<RedisFailedError> => {
  const error = await opening.catch((thrown: unknown) => thrown);
  if (!(error instanceof RedisFailedError)) throw new Error(`expected RedisFailedError, not ${String(error)}`);
  return error;
};

test('a stop leaves a file of about the size of the data, and all of the data', async () => {
  const state = newState();
  const data = join(state, 'redis', 'data', 'appendonlydir');
  const bytes = (): number => readdirSync(data).reduce((sum, name) => sum + statSync(join(data, name)).size, 0);
  const handle = await openRedis(embedded(state));
  await withClient(handle, async (client) => {
    for (let round = 0; round < 20; round++) await client.set('text', randomBytes(500_000).toString('hex'));
    await client.set('last', '20');
  });
  await handle.close();
  expect(bytes()).toBeLessThan(2_000_000);
  const again = await openRedis(embedded(state));
  expect(await withClient(again, (client) => Promise.all([client.strlen('text'), client.get('last')]))).toEqual([
    1_000_000,
    '20',
  ]);
  await again.close();
});

test('a server is started with durable settings, listens on no port, and is gone after close', async () => {
  const state = newState();
  const handle = await openRedis(embedded(state, { appendfsync: 'always' }));
  expect(handle).toMatchObject({ how: 'started', options: { path: join(state, 'redis', 'redis.sock') } });
  expect(handle.binary).toBe(process.env.REDIS_SERVER_BIN);
  const settings = await withClient(handle, (client) =>
    client.config('GET', 'port', 'appendonly', 'appendfsync', 'save', 'maxmemory-policy', 'unixsocketperm'),
  );
  const pairs = settings as string[];
  expect(Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]]] : [])))).toEqual({
    port: '0',
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'maxmemory-policy': 'noeviction',
    unixsocketperm: '700',
  });
  expect(serversOf(state)).toHaveLength(1);
  expect((await readPidFile(join(state, 'redis')))?.server?.pid).toBe(serversOf(state)[0]);
  await handle.close();
  await handle.close();
  expect(serversOf(state)).toEqual([]);
  expect(existsSync(join(state, 'redis', 'redis.pid'))).toBe(false);
  expect(existsSync(join(state, 'redis', 'redis.sock'))).toBe(false);
});

test('what was stored is there again at the next start', async () => {
  const state = newState();
  const first = await openRedis(embedded(state));
  await withClient(first, (client) => client.set('key', 'kept'));
  await first.close();
  const second = await openRedis(embedded(state));
  expect(await withClient(second, (client) => client.get('key'))).toBe('kept');
  await second.close();
});

test('many who open at the same moment share one server, and only the last to leave stops it', async () => {
  const state = newState();
  for (let round = 0; round < 3; round += 1) {
    const handles = await Promise.all(Array.from({ length: 6 }, () => openRedis(embedded(state))));
    expect(handles.filter(({ how }) => how === 'started')).toHaveLength(1);
    expect(serversOf(state)).toHaveLength(1);
    const [last, ...others] = handles;
    await Promise.all(others.map((handle) => handle.close()));
    expect(last && (await withClient(last, (client) => client.ping()))).toBe('PONG');
    await last?.close();
    expect(serversOf(state)).toEqual([]);
  }
});

test('all who leave at the same moment leave no server behind', async () => {
  const state = newState();
  const handles = await Promise.all(Array.from({ length: 6 }, () => openRedis(embedded(state))));
  await Promise.all(handles.map((handle) => handle.close()));
  expect(serversOf(state)).toEqual([]);
});

test('one who opens while the last one leaves has a server that stays', async () => {
  const state = newState();
  let handle = await openRedis(embedded(state));
  for (let round = 0; round < 5; round += 1) {
    const closing = handle.close();
    handle = await openRedis(embedded(state));
    await closing;
    expect(await withClient(handle, (client) => client.ping())).toBe('PONG');
    expect(serversOf(state)).toHaveLength(1);
  }
  await handle.close();
});

test('a server that was killed comes back on the same socket with its data, and clients reconnect', async () => {
  const state = newState();
  const { log, lines } = keptLog();
  const handle = await openRedis(embedded(state, { log }));
  await withClient(handle, async (client) => {
    for (let round = 1; round <= 3; round += 1) {
      await client.incr('rounds');
      const [pid = 0] = serversOf(state);
      process.kill(pid, 'SIGKILL');
      await waitUntil('another server', () => serversOf(state).some((other) => other !== pid));
      expect(await client.get('rounds')).toBe(String(round));
    }
  });
  expect(lines.join('')).toContain('the embedded Redis ended: restarting it');
  await handle.close();
  expect(serversOf(state)).toEqual([]);
});

test('a server that is just being restarted when the last one leaves is not left behind', async () => {
  const state = newState();
  for (const pauseMs of [0, 150, 200, 210, 250]) {
    const handle = await openRedis(embedded(state));
    for (const pid of serversOf(state)) process.kill(pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, pauseMs)); // not a wait: the moment is what is varied
    await handle.close();
    expect(serversOf(state)).toEqual([]);
  }
});

test('a state folder that cannot be made is an error that says so', async () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const error = await failureOf(openRedis(embedded(file)));
  expect(error.message).toContain(file);
  expect(error.hint).toContain('--state');
});

test('a server whose socket was removed is restarted', async () => {
  const state = newState();
  const handle = await openRedis(embedded(state));
  const [pid] = serversOf(state);
  rmSync(join(state, 'redis', 'redis.sock'));
  await waitUntil('another server', () => serversOf(state).some((other) => other !== pid));
  expect(await withClient(handle, (client) => client.ping())).toBe('PONG');
  await handle.close();
});

test('a state folder too deep for a socket is served all the same', async () => {
  const state = join(newState(), 'a-rather-long-name-of-a-folder/'.repeat(4));
  killServersAfterwards(state);
  const handle = await openRedis(embedded(state));
  const socket = handle.options.path ?? '';
  expect(socket.startsWith(state)).toBe(false);
  const second = await openRedis(embedded(state));
  expect(second.options.path).toBe(socket);
  expect(await withClient(second, (client) => client.ping())).toBe('PONG');
  await Promise.all([handle.close(), second.close()]);
  rmSync(dirname(socket), { recursive: true });
});

test('a redis.pid left by processes that are gone fools nobody, even when its numbers are in use again', async () => {
  const state = newState();
  const folder = join(state, 'redis');
  mkdirSync(folder);
  const socket = join(folder, 'redis.sock');
  const stale = { pid: process.pid, startedAt: 'an-earlier-boot:1' };
  writeFileSync(socket, 'left behind');
  writeFileSync(join(folder, 'redis.pid'), JSON.stringify({ server: stale, socket, binary: '' }));
  const handle = await openRedis(embedded(state));
  expect(handle.how).toBe('started');
  await handle.close();
});

test('a data file that is broken is an error with the end of the log and the way to mend it, and nothing is lost', async () => {
  const state = newState();
  const first = await openRedis(embedded(state));
  await withClient(first, (client) => client.set('key', 'kept'));
  await first.close();
  const broken = join(state, 'redis', 'data', 'appendonlydir', 'appendonly.aof.1.incr.aof');
  writeFileSync(broken, '*3\r\n$3\r\nSET\r\nthis is not a command\r\n'.repeat(3), { flag: 'a' });
  const error = await failureOf(openRedis(embedded(state)));
  expect(error.message).toMatch(/Bad file format reading the append only file/);
  expect(error.hint).toContain('redis-check-aof --fix');
  expect(error.hint).toContain(join(state, 'redis', 'data'));
  expect(serversOf(state)).toEqual([]);
  expect(existsSync(broken)).toBe(true);
  expect(existsSync(join(state, 'redis', 'redis.pid'))).toBe(false);
});

test('a program that ends at once is an error with its own words', async () => {
  const state = newState();
  const fake = join(tempDir(), 'redis-server');
  const body =
    'case "$1" in --version) echo "Redis server v=7.0.15 sha=0";; *) echo "out of luck today" >&2; exit 7;; esac';
  writeFileSync(fake, `#!/bin/sh\n${body}\n`);
  chmodSync(fake, 0o755);
  const error = await failureOf(openRedis(embedded(state, { env: { REDIS_SERVER_BIN: fake } })));
  expect(error.message).toContain('exit code 7');
  expect(error.message).toContain('out of luck today');
  expect(error.hint).toContain('redis.log');
});

test('a server behind a starter script of its own is watched and stopped itself, not only its script', async () => {
  const state = newState();
  const starter = join(tempDir(), 'redis-server');
  writeFileSync(starter, `#!/bin/sh\n'${process.env.REDIS_SERVER_BIN}' "$@"\nexit $?\n`);
  chmodSync(starter, 0o755);
  const handle = await openRedis(embedded(state, { env: { REDIS_SERVER_BIN: starter } }));
  const info = await withClient(handle, (client) => client.info('server'));
  const server = (await readPidFile(join(state, 'redis')))?.server?.pid;
  expect(info).toContain(`process_id:${server}\r\n`);
  await handle.close();
  await waitUntil('server and script to be gone', () => serversOf(state).length === 0);
});

/** A server program that runs what is given before it becomes the server of the tests. */
const starterIn = (folder: string, before = ''): string => {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'redis-server');
  const body = `case "$1" in --version) ;; *) ${before || ':'} ;; esac\nexec '${process.env.REDIS_SERVER_BIN}' "$@"`;
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
};

test('a server in the cache of the user serves every state folder', async () => {
  const home = tempDir();
  const program = starterIn(join(home, '.cache', 'sluice', 'redis', 'server'));
  for (const state of [newState(), newState()]) {
    const handle = await openRedis(embedded(state, { env: { HOME: home } }));
    expect(handle.binary).toBe(program);
    await handle.close();
    expect(existsSync(join(state, 'redis', 'server'))).toBe(false);
  }
});

test('a start that takes noticeable time is told', async () => {
  const told: string[] = [];
  const env = { PATH: process.env.PATH, REDIS_SERVER_BIN: starterIn(tempDir(), 'sleep 2') };
  const handle = await openRedis(embedded(newState(), { env, report: (line) => told.push(line) }));
  await handle.close();
  expect(told).toEqual(['starting Redis']);
});

test('without any server program the error says so, and a later open is not hindered', async () => {
  const state = newState();
  await expect(openRedis(embedded(state, { env: {} }))).rejects.toThrow(RedisMissingError);
  const handle = await openRedis(embedded(state));
  expect(handle.how).toBe('started');
  await handle.close();
});

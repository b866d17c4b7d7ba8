import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { openRedis } from '../../src/redis-server/embedded.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { embedded, keptLog, killServersAfterwards, serversOf, startHolder } from './embedded-support.ts';

const newState = (): string => {
  const dir = tempDir();
  killServersAfterwards(dir);
  return dir;
};

test('a server outlives the kill of its owner, is adopted by the next process, and is stopped by that one', async () => {
  const state = newState();
  const owner = await startHolder(state);
  expect(owner.how).toBe('started');
  const servers = serversOf(state);
  expect(servers).toHaveLength(1);
  await owner.end('SIGKILL');
  const handle = await openRedis(embedded(state));
  expect(handle.how).toBe('adopted');
  expect(handle.binary).toBe(process.env.REDIS_SERVER_BIN);
  expect(serversOf(state)).toEqual(servers);
  await handle.close();
  expect(serversOf(state)).toEqual([]);
});

test('a process that exits without waiting leaves no server behind, unless another one uses it', async () => {
  const state = newState();
  const [owner, other] = [await startHolder(state), await startHolder(state)];
  const servers = serversOf(state);
  const client = new Redis({ path: owner.path });
  await client.set('kept', 'value');
  expect(await owner.end('SIGUSR2')).toBe(130);
  expect(await client.get('kept')).toBe('value');
  client.disconnect();
  expect(serversOf(state)).toEqual(servers);
  expect(await other.end('SIGUSR2')).toBe(130);
  await waitUntil('the server to end', () => serversOf(state).length === 0);
  const handle = await openRedis(embedded(state));
  expect(handle.how).toBe('started');
  const next = new Redis(handle.options);
  expect(await next.get('kept')).toBe('value');
  next.disconnect();
  await handle.close();
});

test('a server that ends while it is being adopted is replaced', async () => {
  const state = newState();
  const folder = join(state, 'redis');
  mkdirSync(folder, { mode: 0o700 });
  const socket = join(folder, 'redis.sock');
  const sound = await openRedis(embedded(newState()));
  let connections = 0;
  const dying = createServer((client) => {
    connections += 1;
    if (connections === 1) return pipeline(client, connect(`${sound.options.path}`), client, () => undefined);
    dying.close();
    return client.destroy();
  }).listen(socket);
  await once(dying, 'listening');
  writeFileSync(join(folder, 'redis.pid'), JSON.stringify({ server: null, socket, binary: 'redis-server' }));
  const handle = await openRedis(embedded(state));
  expect([handle.how, connections]).toEqual(['started', 2]);
  await Promise.all([handle.close(), sound.close()]);
});

test('an adopter that leaves before the owner leaves the server running', async () => {
  const state = newState();
  const owner = await startHolder(state);
  const handle = await openRedis(embedded(state));
  expect(handle.how).toBe('adopted');
  await handle.close();
  expect(serversOf(state)).toHaveLength(1);
  expect(await owner.end('SIGTERM')).toBe(0);
  expect(serversOf(state)).toEqual([]);
});

test('an owner that leaves while another process uses the server hands it over', async () => {
  const state = newState();
  const owner = await startHolder(state);
  const servers = serversOf(state);
  const handle = await openRedis(embedded(state));
  expect(await owner.end('SIGTERM')).toBe(0);
  expect(serversOf(state)).toEqual(servers);
  await handle.close();
  expect(serversOf(state)).toEqual([]);
});

test('an adopter restarts the server after the kill of the process that started it', async () => {
  const state = newState();
  const owner = await startHolder(state);
  const { log, lines } = keptLog();
  const handle = await openRedis(embedded(state, { log }));
  const client = new Redis({ ...handle.options, maxRetriesPerRequest: null });
  client.on('error', () => {}); // it reconnects by itself
  await client.set('key', 'kept');
  await owner.end('SIGKILL');
  const [pid = 0] = serversOf(state);
  process.kill(pid, 'SIGKILL');
  await waitUntil('another server', () => serversOf(state).some((other) => other !== pid));
  expect(await client.get('key')).toBe('kept');
  await waitUntil('its word on it', () => lines.join('').includes('started the embedded Redis'));
  client.disconnect();
  await handle.close();
  expect(serversOf(state)).toEqual([]);
});

test('processes that start at the same moment end with exactly one server', async () => {
  const state = newState();
  const holders = await Promise.all([startHolder(state), startHolder(state), startHolder(state)]);
  expect(holders.map(({ how }) => how).sort()).toEqual(['adopted', 'adopted', 'started']);
  expect(new Set(holders.map(({ path }) => path)).size).toBe(1);
  expect(serversOf(state)).toHaveLength(1);
  expect(await Promise.all(holders.map((holder) => holder.end('SIGTERM')))).toEqual([0, 0, 0]);
  expect(serversOf(state)).toEqual([]);
});

test('adopters that lose owner and server at once bring up exactly one new server', async () => {
  const state = newState();
  const owner = await startHolder(state);
  const others = await Promise.all([startHolder(state), startHolder(state)]);
  const [pid = 0] = serversOf(state);
  process.kill(pid, 'SIGKILL');
  await owner.end('SIGKILL');
  const handle = await openRedis(embedded(state));
  const client = new Redis(handle.options);
  expect(await client.ping()).toBe('PONG');
  client.disconnect();
  expect(serversOf(state)).toHaveLength(1);
  expect(serversOf(state)).not.toContain(pid);
  await Promise.all([...others.map((holder) => holder.end('SIGTERM')), handle.close()]);
  expect(serversOf(state)).toEqual([]);
});

test('Ctrl-C, which reaches the whole process group of the owner, does not reach the server', async () => {
  const state = newState();
  const owner = await startHolder(state);
  const [pid = 0] = serversOf(state);
  const client = new Redis({ path: owner.path });
  const before = await client.info('server');
  process.kill(-(owner.child.pid ?? 0), 'SIGINT');
  expect(await client.ping()).toBe('PONG');
  client.disconnect();
  expect(await owner.end('SIGTERM')).toBe(0); // it had SIGINT before, and the server was there to be stopped
  expect(before).toContain(`process_id:${pid}`);
  expect(serversOf(state)).toEqual([]);
});

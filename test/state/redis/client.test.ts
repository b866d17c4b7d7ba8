import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import { afterAll, expect, test, vi } from 'vitest';
import { EndableRedis } from '../../../src/state/redis/connection.ts';
import { startTestRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const server = await startTestRedis();
afterAll(() => server.close());

const options = { ...server.options, maxRetriesPerRequest: null };
/** A client with a command in progress that waits for `key`. */
const waiting = async (settings: RedisOptions, key = 'nothing') => {
  const client = new EndableRedis(settings);
  await once(client, 'ready');
  return { client, blocked: client.blpop(key, 0) };
};

const late = { ...options, retryStrategy: () => 600_000 };
const soon = { ...options, retryStrategy: () => 0 };

test('ends while it waits for its next try, and what was in progress is answered', async () => {
  const { client, blocked } = await waiting(late);
  client.disconnect(true);
  await once(client, 'reconnecting');
  const ended = once(client, 'end');
  client.disconnect();
  await expect(blocked).rejects.toThrow('Connection is closed.');
  await ended;
  expect(client.status).toBe('end');
});

test('ends in the middle of a new connection, and what was in progress before is answered', async () => {
  const { client, blocked } = await waiting(soon);
  const refused = expect(blocked).rejects.toThrow('Connection is closed.');
  client.once('connect', () => client.disconnect());
  client.disconnect(true);
  await refused;
  expect(client.status).toBe('end');
});

test('a connection that only breaks is made again, and what was in progress continues', async () => {
  const { client, blocked } = await waiting(soon, 'something');
  client.disconnect(true);
  await once(client, 'reconnecting');
  const other = new EndableRedis(options);
  await other.rpush('something', 'told');
  expect(await blocked).toEqual(['something', 'told']);
  for (const each of [client, other]) each.disconnect();
});

test('a worker of the queue ends while its connection is broken', async () => {
  const blocking: Redis[] = [];
  class Connection extends EndableRedis {
    override duplicate(changes?: RedisOptions): Redis {
      const made = super.duplicate(changes);
      blocking.push(made);
      return made;
    }
  }
  const connection = new Connection(late);
  const worker = new Worker('tests', async () => undefined, { connection });
  worker.on('error', () => undefined);
  await worker.waitUntilReady();
  const isBlocked = async (): Promise<boolean> => `${await connection.client('LIST')}`.includes(' cmd=bzpopmin ');
  await waitUntil('the worker to wait for jobs', isBlocked);
  for (const each of blocking) each.disconnect(true);
  await waitUntil('the break to be seen', () => blocking.every(({ status }) => status === 'reconnecting'));
  await worker.close();
  expect(blocking.map(({ status }) => status)).toEqual(['end']);
  connection.disconnect();
});

test('a server that forbids INFO is used by client and queue, without a word', async () => {
  const admin = new EndableRedis(options);
  await admin.call('ACL', 'SETUSER', 'city', 'reset', 'on', '>pw', '~*', '&*', '+@all', '-@dangerous');
  const said = vi.spyOn(console, 'warn');
  const client = new EndableRedis({ ...options, username: 'city', password: 'pw' });
  const queue = new Queue('calm', { connection: client });
  await queue.add('job', {});
  expect(await queue.getWaitingCount()).toBe(1);
  expect(said).not.toHaveBeenCalled();
  await queue.close();
  for (const each of [admin, client]) each.disconnect();
});

import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { openTestRedis, startTestRedis } from '../support/redis.ts';

const redis = await startTestRedis();
afterAll(() => redis.close());

test('a test file has a Redis of its own that keeps every key', async () => {
  const client = new Redis(redis.options);
  await client.set('a', 'b');
  expect(await client.dbsize()).toBe(1);
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
  await client.quit();
});

test('the Redis that tests share refuses what would change it for all of them', async () => {
  const { redis: shared } = openTestRedis();
  await expect(shared.config('SET', 'maxmemory', '1')).rejects.toThrow('unknown command');
  await expect(shared.flushall()).rejects.toThrow('unknown command');
  expect(await shared.flushdb()).toBe('OK');
});

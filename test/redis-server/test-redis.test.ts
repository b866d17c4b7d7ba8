import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { startTestRedis } from '../support/redis.ts';

const redis = await startTestRedis();
afterAll(() => redis.close());

test('a test file has a Redis of its own that keeps every key', async () => {
  const client = new Redis(redis.options);
  await client.set('a', 'b');
  expect(await client.dbsize()).toBe(1);
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
  await client.quit();
});

// What a command says of a Redis that is silent for a while.
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { watchRedis } from '../../src/commands/session.ts';
import type { Runtime } from '../../src/service/runtime.ts';
import { startTestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

it('a Redis that pauses is reported once, and that it answers again', async () => {
  const server = await startTestRedis();
  const redis = new Redis(server.options);
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
  });
  const told: string[] = [];
  const runtime = { redis, redisHandle: { describe: 'the one of the test' } } as Pick<Runtime, 'redis' | 'redisHandle'>;
  const end = watchRedis(runtime, new AbortController().signal, (line) => told.push(line));
  onTestFinished(end);
  await redis.client('PAUSE', 15_000, 'ALL');
  await waitUntil('a word on its end', () => told.length > 1);
  expect(told).toEqual([
    'Redis does not answer: waiting for it, nothing is lost meanwhile (the one of the test)',
    'Redis answers again',
  ]);
});

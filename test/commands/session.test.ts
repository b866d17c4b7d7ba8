// What a command says of a Redis that is silent for a while.
import { expect, it, onTestFinished } from 'vitest';
import { watchRedis } from '../../src/commands/session.ts';
import type { Runtime } from '../../src/service/runtime.ts';
import { openOwnRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

const { redis } = await openOwnRedis();

it('a Redis that pauses is reported once, and that it answers again', async () => {
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

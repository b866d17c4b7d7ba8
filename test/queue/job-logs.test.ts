// Logs of items: the same lines whether they are packed or not.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { itemId } from '../../src/model/job.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { JobLogs } from '../../src/queue/job-logs.ts';
import { Queues } from '../../src/queue/queues.ts';
import { lossyRedis } from '../support/lossy-redis.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = await openTestRedis();
const queues = new Queues(redis, { prefix: 'l', attempts: 3, keepLogs: 10, keepMs: 60_000 });
const keys = redisKeys('l');
beforeEach(() => redis.flushall());
afterAll(() => queues.close());

const open = (): JobLogs => new JobLogs(redis, keys, queues);
const ids = Array.from({ length: 1200 }, (_, index) => itemId('r', `m/dataset-${index}`));
const [first = '', second = ''] = ids;
const log = (id: string, ...lines: string[]): Promise<number> => redis.rpush(keys.itemLog(id), ...lines);

describe('the log of an item', () => {
  it('is the same after it was packed, and goes on after that', async () => {
    await log(first, 'one', 'a "quoted"\nline', `["${second}","no line of its"]`);
    await log(second, 'other');
    const logs = open();
    const before = await logs.read(first);
    await logs.pack('r', ids);
    expect(await redis.exists(keys.itemLog(first), keys.itemLog(second))).toBe(0);
    expect(await logs.read(first)).toEqual(before);
    expect(await logs.read(second)).toEqual(['other']);
    await log(first, 'four');
    expect(await logs.read(first, 1)).toEqual([...before, 'four'].slice(1));
    await logs.pack('r', ids);
    await logs.pack('r', ids);
    expect(await logs.read(first)).toEqual([...before, 'four']);
    expect(await open().read(first)).toEqual([...before, 'four']);
  });

  it('is packed once when the reply is lost and the command sent again', async () => {
    const { client, cutAfter, close } = await lossyRedis(redis.options.path ?? '');
    try {
      const logs = new JobLogs(client, keys, queues);
      for (const line of ['one', 'two']) {
        await log(first, line);
        await client.ping();
        cutAfter(1); // the lines are read, then packed
        await logs.pack('r', [first]);
      }
      expect(await open().read(first)).toEqual(['one', 'two']);
    } finally {
      close();
    }
  });

  it('is found among those of many items, and takes little', async () => {
    for (const [index, id] of ids.entries()) {
      await log(id, `2026-11-23T04:25:08.533Z create resource "Table ${index}": node ${index} (37 ms)`);
      await log(id, `2026-11-23T04:25:08.550Z verify node ${index}: verified (17 ms)`);
    }
    await open().pack('r', ids);
    const bytes = await redis.memory('USAGE', keys.itemLogs('r'));
    expect(Number(bytes) / ids.length).toBeLessThan(100);
    expect(await open().read(ids[1100] ?? '')).toHaveLength(2);
    expect(await open().read(itemId('r', 'm/nobody'))).toEqual([]);
    expect(await redis.pttl(keys.itemLogs('r'))).toBeGreaterThan(0);
    expect(await redis.pttl(keys.itemLogMarks('r'))).toBeGreaterThan(0);
  });
});

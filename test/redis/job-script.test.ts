// Scripts in the name of a job: all or nothing with what the job says of itself, refused to a former owner.
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { JobLostError } from '../../src/errors.ts';
import { Fence, type JobNotes } from '../../src/fence.ts';
import { JobScript, setField } from '../../src/redis/job-script.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis, options } = await openTestRedis();
beforeEach(() => redis.flushall());

const said = (more: Partial<JobNotes> = {}): JobNotes => ({
  job: 'q:job',
  log: 'q:job:logs',
  data: '{"step":"attach"}',
  lines: ['one', 'two'],
  keep: 3,
  ...more,
});

const fenceWith = (notes: JobNotes | null, token = 'mine'): Fence => {
  const parts = { key: 'q:job:lock', token, ask: async () => null, lost: () => undefined };
  return new Fence({ ...parts, takeNotes: () => notes });
};

describe('a script of a job', () => {
  it('takes along what the job says of itself', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('q:job', 'data', '{}');
    await redis.rpush('q:job:logs', 'older', 'old');
    const fence = fenceWith(said());
    await setField.run(redis, fence, ['own'], ['field', 'value']);
    expect(await redis.hgetall('own')).toEqual({ field: 'value' });
    expect(await redis.hget('q:job', 'data')).toBe('{"step":"attach"}');
    expect(await redis.lrange('q:job:logs', 0, -1)).toEqual(['old', 'one', 'two']);
    expect(fence.stands()).toBe(true);
  });

  it('leaves the data as they are when only lines are new, and both when nothing is said', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('q:job', 'data', '{}');
    await setField.run(redis, fenceWith(said({ data: '', lines: ['only'] })), ['own'], ['a', '1']);
    await setField.run(redis, fenceWith(null), ['own'], ['b', '2']);
    expect(await redis.hget('q:job', 'data')).toBe('{}');
    expect(await redis.lrange('q:job:logs', 0, -1)).toEqual(['only']);
    expect(await redis.hgetall('own')).toEqual({ a: '1', b: '2' });
  });

  it('takes more lines than one call of Redis takes arguments', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('q:job', 'data', '{}');
    const lines = Array.from({ length: 9000 }, (_, n) => `line ${n}`);
    await setField.run(redis, fenceWith(said({ lines, keep: 10_000 })), ['own'], ['a', '1']);
    expect(await redis.lrange('q:job:logs', 0, -1)).toEqual(lines);
  });

  it('writes nothing for a former owner', async () => {
    await redis.mset({ 'q:job:lock': 'of another' });
    await redis.hset('q:job', 'data', '{}');
    await expect(setField.run(redis, fenceWith(said()), ['own'], ['a', '1'])).rejects.toThrow(JobLostError);
    expect(await redis.hget('q:job', 'data')).toBe('{}');
    expect(await redis.exists('own', 'q:job:logs')).toBe(0);
  });

  it('does not bring back a job that is gone', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await setField.run(redis, fenceWith(said()), ['own'], ['a', '1']);
    expect(await redis.exists('q:job', 'q:job:logs')).toBe(0);
    expect(await redis.hgetall('own')).toEqual({ a: '1' });
  });

  it('finds its own keys and arguments, in the name of a job or of nobody', async () => {
    const move = new JobScript("redis.call('SET', key(1), arg(2)); redis.call('SET', key(2), arg(1))");
    await move.run(redis, null, ['x', 'y'], ['to y', 'to x']);
    expect(await redis.mget('x', 'y')).toEqual(['to x', 'to y']);
  });

  it('names no keys but those of the job and its own, as a server may demand', async () => {
    await redis.acl('SETUSER', 'limited', 'on', '>pw', 'resetkeys', '~q:*', '~own', '+@all');
    const limited = new Redis({ ...options, username: 'limited', password: 'pw' });
    try {
      await redis.mset({ 'q:job:lock': 'mine' });
      await redis.pexpire('q:job:lock', 5000);
      for (const fence of [fenceWith(said()), fenceWith(null), null]) {
        await setField.run(limited, fence, ['own'], ['a', '1']);
      }
      expect(await redis.hgetall('own')).toEqual({ a: '1' });
      await expect(setField.run(limited, null, ['other'], ['a', '1'])).rejects.toThrow('NOPERM');
    } finally {
      limited.disconnect();
    }
  });
});

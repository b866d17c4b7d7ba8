// Writes in the name of a job: all or nothing with what the job says of itself, refused to a former owner.
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { JobLostError } from '../../src/errors.ts';
import { Fence, type FieldWrite, type JobNotes } from '../../src/fence.ts';
import { writeFields } from '../../src/redis/job-script.ts';
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
  const fence = new Fence({ key: 'q:job:lock', token, ask: async () => null, lost: () => undefined });
  fence.carry({ take: () => notes, gather: () => undefined });
  return fence;
};

const own = (field: string, value: string | null): FieldWrite => ({ hash: 'own', field, value });

describe('a script of a job', () => {
  it('takes along what the job says of itself', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('q:job', 'data', '{}');
    await redis.rpush('q:job:logs', 'older', 'old');
    const fence = fenceWith(said());
    await writeFields(redis, fence, [own('field', 'value')]);
    expect(await redis.hgetall('own')).toEqual({ field: 'value' });
    expect(await redis.hget('q:job', 'data')).toBe('{"step":"attach"}');
    expect(await redis.lrange('q:job:logs', 0, -1)).toEqual(['old', 'one', 'two']);
    expect(fence.stands()).toBe(true);
  });

  it('leaves the data as they are when only lines are new, and both when nothing is said', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('q:job', 'data', '{}');
    await writeFields(redis, fenceWith(said({ data: '', lines: ['only'] })), [own('a', '1')]);
    await writeFields(redis, fenceWith(null), [own('b', '2')]);
    expect(await redis.hget('q:job', 'data')).toBe('{}');
    expect(await redis.lrange('q:job:logs', 0, -1)).toEqual(['only']);
    expect(await redis.hgetall('own')).toEqual({ a: '1', b: '2' });
  });

  it('takes more lines than one call of Redis takes arguments', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('q:job', 'data', '{}');
    const lines = Array.from({ length: 9000 }, (_, n) => `line ${n}`);
    await writeFields(redis, fenceWith(said({ lines, keep: 10_000 })), [own('a', '1')]);
    expect(await redis.lrange('q:job:logs', 0, -1)).toEqual(lines);
  });

  it('writes nothing for a former owner', async () => {
    await redis.mset({ 'q:job:lock': 'of another' });
    await redis.hset('q:job', 'data', '{}');
    await expect(writeFields(redis, fenceWith(said()), [own('a', '1')])).rejects.toThrow(JobLostError);
    expect(await redis.hget('q:job', 'data')).toBe('{}');
    expect(await redis.exists('own', 'q:job:logs')).toBe(0);
  });

  it('does not bring back a job that is gone', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await writeFields(redis, fenceWith(said()), [own('a', '1')]);
    expect(await redis.exists('q:job', 'q:job:logs')).toBe(0);
    expect(await redis.hgetall('own')).toEqual({ a: '1' });
  });

  it('writes several fields of several hashes at once, and takes some away, in the name of nobody, too', async () => {
    await redis.hset('own', 'gone', '1');
    await writeFields(redis, null, [own('gone', null), own('a', '1'), { hash: 'other', field: 'b', value: '2' }]);
    expect(await redis.hgetall('own')).toEqual({ a: '1' });
    expect(await redis.hgetall('other')).toEqual({ b: '2' });
  });

  it('takes along what was learnt before, once, and the newest of each field', async () => {
    await redis.mset({ 'q:job:lock': 'mine' });
    await redis.pexpire('q:job:lock', 5000);
    await redis.hset('own', 'intent', 'open');
    const fence = fenceWith(null);
    fence.writeLate([own('entry', 'first'), own('intent', null)]);
    fence.writeLate([own('entry', 'second')]);
    expect(await redis.hgetall('own')).toEqual({ intent: 'open' });
    await writeFields(redis, fence, [own('intent', 'next')]);
    expect(await redis.hgetall('own')).toEqual({ entry: 'second', intent: 'next' });
    expect(fence.hasLate).toBe(false);
    await redis.del('own');
    await writeFields(redis, fence, [own('a', '1')]);
    expect(await redis.hgetall('own')).toEqual({ a: '1' });
  });

  it('names no keys but those of the job and its own, as a server may demand', async () => {
    await redis.acl('SETUSER', 'limited', 'on', '>pw', 'resetkeys', '~q:*', '~own', '+@all');
    const limited = new Redis({ ...options, username: 'limited', password: 'pw' });
    try {
      await redis.mset({ 'q:job:lock': 'mine' });
      await redis.pexpire('q:job:lock', 5000);
      for (const fence of [fenceWith(said()), fenceWith(null), null]) {
        await writeFields(limited, fence, [own('a', '1')]);
      }
      expect(await redis.hgetall('own')).toEqual({ a: '1' });
      await expect(writeFields(limited, null, [{ ...own('a', '1'), hash: 'other' }])).rejects.toThrow('NOPERM');
    } finally {
      limited.disconnect();
    }
  });
});

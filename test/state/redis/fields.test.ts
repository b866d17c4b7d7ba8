// Fields that are requested together are one command, each with its own answer.
import { beforeEach, describe, expect, it } from 'vitest';
import { readField as readBuffer } from '../../../src/state/redis/fields.ts';
import { openTestRedis } from '../../support/redis.ts';

const { redis } = await openTestRedis();
beforeEach(() => redis.flushall());

const readField = async (...asked: Parameters<typeof readBuffer>): Promise<string | null> =>
  (await readBuffer(...asked))?.toString() ?? null;

/** How many calls of commands that read the server has had, by name. */
const calls = async (): Promise<Record<string, number>> => {
  const lines = (await redis.info('commandstats')).matchAll(/^cmdstat_(hget|hmget|eval|evalsha):calls=(\d+)/gm);
  return Object.fromEntries([...lines].map(([, name, count]) => [name, Number(count)]));
};

describe('readField', () => {
  it('reads one field', async () => {
    await redis.hset('a', 'x', '1');
    expect(await readField(redis, 'a', 'x')).toBe('1');
    expect(await readField(redis, 'a', 'y')).toBeNull();
    expect(await readField(redis, 'none', 'x')).toBeNull();
  });

  it('gives each who asks its own answer', async () => {
    await redis.hset('a', { x: '1', empty: '' });
    await redis.hset('b', 'x', '2');
    const asked = [
      ['b', 'x'],
      ['a', 'none'],
      ['a', 'x'],
      ['none', 'x'],
      ['a', 'empty'],
      ['a', 'x'],
    ] as const;
    expect(await Promise.all(asked.map(([hash, field]) => readField(redis, hash, field)))).toEqual([
      '2',
      null,
      '1',
      null,
      '',
      '1',
    ]);
  });

  it('asks once for what is requested in one turn, also behind promises that are kept', async () => {
    await redis.hset('a', { x: '1', y: '2' });
    await redis.config('RESETSTAT');
    const behind = async (field: string): Promise<string | null> => {
      await Promise.resolve();
      return readField(redis, 'a', field);
    };
    expect(await Promise.all([readField(redis, 'a', 'x'), behind('y'), behind('z')])).toEqual(['1', '2', null]);
    expect(await calls()).toMatchObject({ hmget: 1 });
    expect(await Promise.all([readField(redis, 'a', 'x'), readField(redis, 'b', 'x')])).toEqual(['1', null]);
    const { hget = 0, hmget, eval: texts = 0, evalsha = 0 } = await calls();
    expect({ hmget, scripts: texts + evalsha }).toEqual({ hmget: 1, scripts: 1 });
    expect(hget).toBe(2); // those of the script
  });

  it('answers more than one call of Redis takes', async () => {
    const fields = Array.from({ length: 3000 }, (_, at) => `f${at}`);
    await redis.hset('a', Object.fromEntries(fields.map((field) => [field, `of ${field}`])));
    const values = await Promise.all(fields.map((field) => readField(redis, 'a', field)));
    expect(values).toEqual(fields.map((field) => `of ${field}`));
  });

  it('fails for each who asked when Redis refuses', async () => {
    await redis.set('text', 'no hash');
    await redis.hset('a', 'x', '1');
    const asked = await Promise.allSettled([readField(redis, 'text', 'x'), readField(redis, 'a', 'x')]);
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await readField(redis, 'a', 'x')).toBe('1');
  });
});

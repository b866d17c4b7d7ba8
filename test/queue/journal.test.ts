// What a job writes: all or nothing with its data and log lines, refused to a former owner.
import { type Job, Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { JobLostError } from '../../src/model/errors.ts';
import { type FieldWrite, jobLease } from '../../src/model/lease.ts';
import { JobJournal } from '../../src/queue/journal.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { openOwnRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

const { redis, options } = await openOwnRedis();
const queue = new Queue('jobs', { connection: redis, prefix: 'q' });
afterAll(() => queue.close());

let job: Job;
let lock: string;
beforeEach(async () => {
  await redis.flushdb();
  job = await queue.add('dataset', { step: 'none' }, { jobId: 'one' });
  lock = `${job.queueQualifiedName}:one:lock`;
  await redis.set(lock, 'mine', 'PX', 5000);
});

const journalOn = (connection: Redis, keepLogs = 100): JobJournal => {
  const queues = queuesOn(connection, { prefix: 'q', attempts: 1, keepLogs, keepMs: 60_000 });
  const lease = jobLease({ key: lock, token: 'mine', ask: async () => null, lost: () => undefined });
  return new JobJournal(job, queues, lease);
};
const dataOf = async (): Promise<unknown> => JSON.parse((await redis.hget(queue.toKey('one'), 'data')) ?? 'null');
const textsOf = async (log: string): Promise<string[]> =>
  (await redis.lrange(log, 0, -1)).map((line) => line.slice(line.indexOf(' ') + 1));
const own = (field: string, value: string | null): FieldWrite => ({ hash: 'own', field, value });

describe('a write of a job', () => {
  it('takes along data and lines, and tells how long the lock stands', async () => {
    const journal = journalOn(redis, 3);
    for (const text of ['older', 'old', 'one', 'two']) journal.line(text, 'q.log');
    journal.line('of the job itself');
    journal.save({ step: 'attach' });
    await journal.write([own('field', 'value')]);
    expect(await redis.hgetall('own')).toEqual({ field: 'value' });
    expect(await dataOf()).toEqual({ step: 'attach' });
    expect(await textsOf('q.log')).toEqual(['old', 'one', 'two']);
    expect(await redis.ttl('q.log')).toBeGreaterThan(0);
    expect(await textsOf(`${queue.toKey('one')}:logs`)).toEqual(['of the job itself']);
    expect(journal.lease.stands()).toBe(true);
  });

  it('is refused once an earlier one that could wait has failed', async () => {
    const journal = journalOn(redis);
    await redis.set('no hash', 'text');
    await journal.writeLater([{ hash: 'no hash', field: 'a', value: '1' }]);
    await waitUntil('the failure', () =>
      journal.catchUp().then(
        () => false,
        () => true,
      ),
    );
    await expect(journal.write([own('b', '1')])).rejects.toThrow('WRONGTYPE');
    expect(await redis.exists('own')).toBe(0);
    await expect(journal.flush()).rejects.toThrow('WRONGTYPE');
  });

  it('that takes along one which fails is the last, also of those that could wait', async () => {
    const journal = journalOn(redis);
    await redis.set('no hash', 'text');
    await journal.writeLater([{ hash: 'no hash', field: 'a', value: '1' }]);
    await expect(journal.write([own('b', '1')])).rejects.toThrow('WRONGTYPE');
    await journal.writeLater([own('c', '1')]);
    await expect(journal.flush()).rejects.toThrow('WRONGTYPE');
    expect(await redis.hget('own', 'c')).toBeNull();
  });

  it('leaves the data as they are when only lines are new', async () => {
    const journal = journalOn(redis);
    journal.line('only', 'q.log');
    await journal.write([own('a', '1')]);
    expect(await dataOf()).toEqual({ step: 'none' });
    expect(await textsOf('q.log')).toEqual(['only']);
  });

  it('takes more lines than one call of Redis takes arguments, in their order', async () => {
    const journal = journalOn(redis, 20_000);
    const lines = Array.from({ length: 9000 }, (_, n) => `line ${n}`);
    for (const line of lines) journal.line(line, 'q.log');
    await journal.write([own('a', '1')]);
    expect(await textsOf('q.log')).toEqual(lines);
  });

  it('is refused to a former owner as a whole', async () => {
    await redis.set(lock, 'of another');
    const journal = journalOn(redis);
    journal.save({ step: 'attach' });
    journal.line('one', 'q.log');
    await expect(journal.write([own('a', '1')])).rejects.toThrow(JobLostError);
    expect(await dataOf()).toEqual({ step: 'none' });
    expect(await redis.exists('own', 'q.log')).toBe(0);
  });

  it('does not bring back a job that is gone', async () => {
    await redis.del(queue.toKey('one'));
    const journal = journalOn(redis);
    journal.save({ step: 'attach' });
    await journal.write([own('a', '1')]);
    expect(await redis.exists(queue.toKey('one'))).toBe(0);
    expect(await redis.hgetall('own')).toEqual({ a: '1' });
  });

  it('takes along what was buffered before, once, and the newest of each field', async () => {
    await redis.hset('own', 'intent', 'open');
    const journal = journalOn(redis);
    await journal.writeLater([own('entry', 'first'), own('intent', null)]);
    await journal.writeLater([own('entry', 'second')]);
    expect(await redis.hgetall('own')).toEqual({ intent: 'open' });
    await journal.write([own('intent', 'next')]);
    expect(await redis.hgetall('own')).toEqual({ entry: 'second', intent: 'next' });
    await redis.del('own');
    await journal.write([own('a', '1')]);
    expect(await redis.hgetall('own')).toEqual({ a: '1' });
  });

  it('names no keys but those it writes, as a server may demand', async () => {
    await redis.acl('SETUSER', 'limited', 'on', '>pw', 'resetkeys', '~q*', '~own', '+@all');
    const limited = new Redis({ ...options, username: 'limited', password: 'pw' });
    try {
      const journal = journalOn(limited);
      journal.line('one', 'q.log');
      await journal.write([own('a', '1')]);
      await journalOn(limited).write([own('b', '2')]);
      expect(await redis.hgetall('own')).toEqual({ a: '1', b: '2' });
      await expect(journalOn(limited).write([{ ...own('a', '1'), hash: 'other' }])).rejects.toThrow('NOPERM');
    } finally {
      limited.disconnect();
    }
  });
});

describe('what is buffered', () => {
  it('is sent by itself a moment later, and at once when somebody waits for it', async () => {
    const journal = journalOn(redis);
    await journal.writeLater([own('a', '1')]);
    await journal.catchUp();
    expect(await redis.hget('own', 'a')).toBe('1');
    journal.line('one', 'q.log');
    await journal.flush();
    expect(await textsOf('q.log')).toEqual(['one']);
  });

  it('is what the job reads next, without being sent for it', async () => {
    const journal = journalOn(redis);
    const read = async (field: string): Promise<string | null> => {
      const value = await journal.read({ hash: 'own', field }, () => redis.hgetBuffer('own', field));
      return value === null ? null : `${value}`;
    };
    await redis.hset('own', { b: 'there', c: 'there' });
    await journal.writeLater([own('a', '1'), own('c', null)]);
    expect([await read('a'), await read('b'), await read('c'), await read('d')]).toEqual(['1', 'there', null, null]);
    expect(await redis.hgetall('own')).toEqual({ b: 'there', c: 'there' });
    await journal.write(Array.from({ length: 300 }, (_, at) => own(`more ${at}`, 'x'))); // more than it remembers
    expect([await read('a'), await read('b'), await read('c')]).toEqual(['1', 'there', null]);
  });

  it('is newer than what was being read while it was written', async () => {
    const journal = journalOn(redis);
    const reading = journal.read({ hash: 'own', field: 'a' }, async () => {
      await journal.writeLater([own('a', 'new')]);
      return Buffer.from('old');
    });
    expect(await reading).toBe('new');
  });

  it('that is refused while it is sent by itself is no basis for what is read next', async () => {
    const journal = journalOn(redis);
    await redis.set(lock, 'of another');
    await journal.writeLater([own('a', '1')]);
    await expect(journal.flush()).rejects.toThrow(JobLostError);
    await expect(journal.catchUp()).rejects.toThrow(JobLostError);
  });

  it('is forgotten once the job is another worker’s', async () => {
    const journal = journalOn(redis);
    await journal.writeLater([own('a', '1')]);
    journal.drop();
    await journal.flush();
    expect(await redis.exists('own')).toBe(0);
  });
});

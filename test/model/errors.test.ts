import { rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { say } from '../../src/commands/io.ts';
import {
  isRetryable,
  MachineBusyError,
  machineFault,
  missingSource,
  PortalRefusedError,
  reasonOf,
  SourceRefusedError,
  unreadable,
  VerifyFailedError,
} from '../../src/model/errors.ts';
import { redisScript } from '../../src/state/redis/script.ts';
import { commandIo } from '../support/command-io.ts';
import { startTestRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const steering = 'a\u001b[2Jb\u202ec\u2067d\u009be\nf\tg';

describe('what steers a terminal or turns the direction of a text', () => {
  it('reaches no message and no hint of an error, wherever its words came from', () => {
    expect(reasonOf(new SourceRefusedError(steering, { hint: steering }))).toMatchObject({
      message: 'a[2Jbcde\nf\tg',
      hint: 'a[2Jbcde\nf\tg',
    });
    expect(reasonOf(new Error(steering)).message).toBe('a[2Jbcde\nf\tg');
  });

  it('reaches no line that a command writes', () => {
    const { io, out } = commandIo('/');
    say(io, `title "${steering}"`);
    expect(out()).toBe('title "a[2Jbcde f\tg"\n');
  });

  it.each(['\n', '\r\n', '\u2028', '\u2029'])('makes no line of its own on a terminal by %j', (divider) => {
    const title = `Budget"${divider}city/other: live`;
    const { io, out } = commandIo('/');
    say(io, `node 7 ("${title}") is gone`);
    expect(out().split(/[\n\u2028\u2029]/)).toHaveLength(2);
    const request = { method: 'GET', path: '/node/7', mayHaveHappened: false };
    for (const error of [new VerifyFailedError(title), new PortalRefusedError(title, request)])
      expect(reasonOf(error).message).toBe('Budget" city/other: live');
  });
});

describe('a transaction that ends without its result', () => {
  it('is tried again where its server was replaced in the middle of it', () => {
    const error = Object.assign(new Error('EXECABORT Transaction discarded because of previous errors.'), {
      previousErrors: [],
    });
    expect(reasonOf(error).code).toBe('redis-unreachable');
    expect(isRetryable(error)).toBe(true);
  });

  it('is a bug where one of its commands was refused', async () => {
    const server = await startTestRedis();
    const redis = new Redis(server.options);
    const error: unknown = await redis
      .multi()
      .call('NONE')
      .exec()
      .catch((thrown: unknown) => thrown);
    redis.disconnect();
    await server.close();
    expect(error).toMatchObject({ message: expect.stringMatching(/^EXECABORT/) });
    expect(reasonOf(error).code).toBe('bug');
  });
});

describe('a machine that takes no more data', () => {
  const open = async () => {
    const server = await startTestRedis();
    const redis = new Redis(server.options);
    onTestFinished(async () => {
      redis.disconnect();
      await server.close();
    });
    return { redis, folder: dirname(server.options.path ?? '') };
  };
  const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => null,
      (error: unknown) => error,
    );
  const script = redisScript("redis.call('SET', KEYS[1], '1')");

  it('is no bug where the disk of Redis is full', async () => {
    const { redis, folder } = await open();
    await redis.config('SET', 'save', '3600 1');
    rmSync(folder, { recursive: true });
    await redis.set('a', '1');
    await redis.bgsave();
    await waitUntil('the failed save', async () => (await redis.info('persistence')).includes('bgsave_status:err'));
    for (const error of [await thrownBy(redis.set('a', '2')), await thrownBy(script(redis, ['a'], []))]) {
      expect(reasonOf(error)).toMatchObject({
        code: 'state-full',
        message: expect.stringMatching(/^Redis cannot write its data to its disk: MISCONF/),
        hint: expect.stringContaining('make room on the disk of Redis'),
      });
      expect(isRetryable(error)).toBe(true);
    }
  });

  it('is no bug where Redis has reached its memory limit', async () => {
    const { redis } = await open();
    await redis.config('SET', 'maxmemory', '1');
    const refused = [redis.set('a', '2'), redis.multi().set('a', '2').exec(), script(redis, ['a'], [])];
    for (const error of await Promise.all(refused.map(thrownBy))) {
      const message = expect.stringContaining('Redis has reached its memory limit');
      expect(reasonOf(error)).toMatchObject({ code: 'state-full', message });
    }
  });

  it('names one cause, however a command is sent, and no script of ours', async () => {
    const { redis } = await open();
    const queue = new Queue('q', { connection: redis });
    await queue.waitUntilReady();
    onTestFinished(() => queue.close());
    await redis.config('SET', 'maxmemory', '1');
    const refused = {
      plain: redis.set('a', '2'),
      transaction: redis.multi().set('a', '2').exec(),
      script: script(redis, ['a'], []),
      job: queue.add('j', {}),
      jobs: queue.addBulk([{ name: 'j', data: {} }]),
      pause: queue.pause(),
    };
    const errors = await Promise.all(Object.values(refused).map(thrownBy));
    const causes = errors.map((error) => reasonOf(error).message);
    expect([...new Set(causes)]).toEqual([
      "Redis has reached its memory limit: OOM command not allowed when used memory > 'maxmemory'.",
    ]);
  });

  it('is no bug where a file cannot be written for want of room', async () => {
    const error = await thrownBy(writeFile('/dev/full', 'x'));
    expect(reasonOf(error)).toMatchObject({
      code: 'state-full',
      message: expect.stringContaining('a file could not be written: ENOSPC'),
      hint: expect.stringContaining('make room on that disk'),
    });
  });
});

it.each([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EISDIR', 'this is a folder, not a file'],
  ['EACCES', 'the file may not be read (permissions)'],
  ['EPERM', 'the file may not be read (permissions)'],
  ['EIO', 'EIO: i/o error, read'],
])('a file that the system does not give with %s is named with the reason in words', (code, why) => {
  const cause = Object.assign(new Error(`${code}: i/o error, read`), { code });
  const { message, hint } = missingSource('/data/a.csv', cause);
  expect({ message, hint }).toEqual({ message: `/data/a.csv: ${why}`, hint: expect.stringMatching(/ (file|files) /) });
});

it.each(['EMFILE', 'ENFILE'])(
  'too many open files (%s) are no fault of a file: what met them is tried again',
  (code) => {
    const cause = Object.assign(new Error(`${code}: too many open files, open '/data/a.csv'`), { code });
    for (const read of [
      () => missingSource('/data/a.csv', cause),
      () => unreadable(cause),
      () => unreadable({ ...cause }),
    ])
      expect(read).toThrow(MachineBusyError);
    const fault = machineFault(cause);
    expect(reasonOf(fault)).toMatchObject({ code: 'machine-busy', message: cause.message });
    expect(isRetryable(fault)).toBe(true);
  },
);

it('a missing file names the one of the same letters in another Unicode form', () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'Bäume.csv'.normalize('NFD')), 'a\n1\n');
  const cause = Object.assign(new Error('no such file'), { code: 'ENOENT' });
  const { hint } = missingSource(join(dir, 'Bäume.csv'.normalize('NFC')), cause);
  expect(hint).toContain('the same letters in another Unicode form');
  expect(missingSource(join(dir, 'Baume.csv'), cause).hint).not.toContain('Unicode');
});

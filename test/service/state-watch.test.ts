// The watch over a Redis that takes no more data: what it says, and how often.
import { hostname } from 'node:os';
import { Writable } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import type { Notice } from '../../src/notify/notice.ts';
import { stateFault, stateWatch } from '../../src/service/state-watch.ts';
import { openOwnRedis } from '../support/redis.ts';

const { redis } = await openOwnRedis();
const keys = redisKeys('n');
const fill = () => redis.config('SET', 'maxmemory', '1');
const makeRoom = () => redis.config('SET', 'maxmemory', '0');
afterEach(makeRoom);

const told: Notice[] = [];
const notifier = { sendPastQueue: async (notice: Notice) => void told.push(notice) };
const openWatch = (role: string, lines: string[]): ReturnType<typeof stateWatch> => {
  const destination = new Writable({
    decodeStrings: false,
    write: (line, _encoding, done) => {
      lines.push(line);
      done();
    },
  });
  const log = createLog({ level: 'info', destination });
  return stateWatch({ redis, keys, role, log, notifier });
};

it('says in each log, and in one notice of the service, that it is full and that this has ended', async () => {
  // Signs of life from long ago: a full Redis takes no newer ones.
  const alive = { at: 1, limits: {}, silences: {} };
  await redis.hset(keys.workers, {
    one: JSON.stringify({ ...alive, host: '!first of all', pid: 1, role: 'worker' }),
    two: JSON.stringify({ ...alive, host: hostname(), pid: process.pid, role: 'start' }),
  });
  const lines: string[] = [];
  const watches = ['worker', 'start'].map((role) => openWatch(role, lines));
  const look = async (): Promise<void> => {
    for (const watch of [...watches, ...watches]) await watch.look();
  };
  await look();
  expect([await stateFault({ redis, keys }), told, lines]).toEqual([null, [], []]);
  await fill();
  await look();
  expect(watches[0]?.fault).toMatchObject({ code: 'state-full', hint: expect.stringContaining('maxmemory') });
  await makeRoom();
  await look();
  expect(watches[0]?.fault).toBeNull();
  expect(told.map(({ event }) => event)).toEqual(['state-full', 'state-full-ended']);
  expect(told[0]?.items).toMatchObject([{ code: 'state-full', hint: expect.stringContaining('maxmemory') }]);
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['error', 'error', 'info', 'info']);
  expect(await redis.exists(keys.nothing)).toBe(0);
});

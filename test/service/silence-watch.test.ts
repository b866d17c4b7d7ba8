// The watch for silence under odd conditions: clocks that jump, a thousand manifests, several watches at once.
import { beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import type { Notice } from '../../src/notify/notice.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { whatIsOverdue } from '../../src/service/overdue.ts';
import { silenceWatch } from '../../src/service/silence-watch.ts';
import { deadlinesIn, expectedOf } from '../../src/state/deadlines.ts';
import { ledgerIn } from '../../src/state/ledger.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = openTestRedis();
const keys = redisKeys('n');
const everyMs = 60_000;
let now = Date.now();
let told: Notice[] = [];

beforeEach(async () => {
  await redis.flushdb();
  now = Date.now();
  told = [];
});

const parts = {
  config: { watch: { everyMs } },
  redis,
  keys,
  queues: queuesOn(redis, { prefix: 'n', attempts: 1, keepLogs: 1, keepMs: 1000 }),
  deadlines: deadlinesIn(redis, keys),
};
const notifier = { send: async (notice: Notice) => void told.push(notice) };
const openWatch = (role: string) =>
  silenceWatch({
    ...parts,
    ledger: ledgerIn(redis, keys),
    notifier,
    role,
    log: createLog({ level: 'silent' }),
    now: () => now,
  });
const events = (): string[] => told.map(({ event }) => event);
const pass = async (ms: number, watches: ReturnType<typeof openWatch>[]): Promise<void> => {
  now += ms;
  for (const watch of watches) await watch.look();
};

describe('a clock', () => {
  it('that jumps ahead, or a host that was suspended, makes nobody silent who continues', async () => {
    const watches = [openWatch('start'), openWatch('worker')];
    await pass(0, watches);
    await pass(8 * 3_600_000, watches);
    await pass(everyMs / 2, watches.toReversed());
    await pass(-8 * 3_600_000, watches);
    for (let turn = 0; turn < 6; turn++) await pass(everyMs / 2, watches);
    expect(events()).toEqual([]);
  });

  it('that jumps does not hide a worker that is silent', async () => {
    const [watch, dead] = [openWatch('start'), openWatch('worker')];
    await pass(0, [watch, dead]);
    await pass(3_600_000, [watch]);
    await pass(everyMs / 2, [watch]);
    expect(events()).toEqual(['overdue']);
  });
});

describe('an incident', () => {
  it('that several find at once is reported once, with all that belongs to it', async () => {
    const watches = Array.from({ length: 5 }, () => openWatch('worker'));
    const members = Array.from({ length: 80 }, (_, index) => expectedOf.data('p', `m/d${index}`));
    await parts.deadlines.expect(
      members.map((member) => ({ member, everyMs: 1000 })),
      now,
    );
    for (const ms of [0, 2000, 100, 100, 100]) {
      now += ms;
      await Promise.all(watches.map((watch) => watch.look()));
    }
    expect(new Set(told.map(({ id }) => id)).size).toBe(1);
    expect(told[0]).toMatchObject({ event: 'overdue', manifest: 'm', portal: 'p', more: 30 });
    expect(told[0]?.items).toHaveLength(50);
    await parts.deadlines.happened(members, now);
    for (let turn = 0; turn < 3; turn++) await Promise.all(watches.map((watch) => watch.look()));
    expect(new Set(told.map(({ id, event }) => `${event} ${id}`)).size).toBe(2);
  });

  it('of ten thousand datasets is one notice', async () => {
    const members = Array.from({ length: 10_000 }, (_, index) => expectedOf.data('p', `m/d${index}`));
    await parts.deadlines.expect(
      members.map((member) => ({ member, everyMs: 1000 })),
      now,
    );
    const watches = [openWatch('worker'), openWatch('worker')];
    for (const ms of [2000, 100, 100, 100]) {
      now += ms;
      await Promise.all(watches.map((watch) => watch.look()));
    }
    expect(new Set(told.map(({ id, more }) => `${id} ${more}`)).size).toBe(1);
    expect(told[0]?.more).toBe(9950);
    expect((await parts.deadlines.reported()).length).toBe(10_000);
  });

  it('whose notice was not sent before a kill is sent by the next, under the same id', async () => {
    await parts.deadlines.expect([{ member: expectedOf.news({ manifest: 'm', portal: 'p' }), everyMs: 1000 }], now);
    const watch = openWatch('worker');
    await pass(2000, [watch]);
    const send = notifier.send;
    notifier.send = async () => Promise.reject(new Error('killed'));
    await expect(watch.look()).rejects.toThrow('killed');
    notifier.send = send;
    const next = openWatch('worker');
    for (let turn = 0; turn < 3; turn++) await next.look();
    expect(events()).toEqual(['overdue']);
  });
});

describe('a thousand manifests', () => {
  it('are reported each once, and `whatIsOverdue` shows the first of them and how many more there are', async () => {
    const targets = Array.from({ length: 1000 }, (_, index) => ({ manifest: `m${index}`, portal: 'p' }));
    await parts.deadlines.expect(
      targets.flatMap((target) => [
        { member: expectedOf.success(target), everyMs: 1000 },
        { member: expectedOf.news(target), everyMs: 1000 },
      ]),
      now,
    );
    const watch = openWatch('worker');
    for (const ms of [2000, 100, 100, 100, 100]) await pass(ms, [watch]);
    expect(new Set(told.map(({ manifest }) => manifest)).size).toBe(1000);
    expect(told.flatMap(({ items }) => items)).toHaveLength(2000);
    const { overdue, more } = await whatIsOverdue(parts, 10, now);
    expect([overdue.length, more]).toEqual([10, 1990]);
    expect(overdue[0]).toMatchObject({
      why: expect.stringContaining('since'),
      hint: expect.stringContaining('`expectEvery`'),
    });
  });
});

describe('what is no longer expected', () => {
  it('is forgotten: by a manifest that says so, and by a service that does not promise it', async () => {
    const member = expectedOf.data('p', 'm/d');
    const inbox = expectedOf.inbox('m');
    await parts.deadlines.expect([{ member, everyMs: 1000 }], now);
    await parts.deadlines.promise([{ member: inbox, form: '/in', at: now + 1000 }]);
    await parts.deadlines.expect([{ member, everyMs: null }], now);
    await parts.deadlines.promise([]);
    const watch = openWatch('worker');
    for (const ms of [5000, 100, 100]) await pass(ms, [watch]);
    expect(events()).toEqual([]);
    expect(await redis.exists(keys.expected, keys.overdue)).toBe(0);
  });

  it('but another period counts from when it happened last', async () => {
    const member = expectedOf.data('p', 'm/d');
    await parts.deadlines.expect([{ member, everyMs: 1000 }], now);
    await parts.deadlines.expect([{ member, everyMs: 4000 }], now + 500);
    expect(await parts.deadlines.late(now + 5999, 1)).toEqual([]);
    expect(await parts.deadlines.late(now + 6000, 1)).toEqual([{ member, at: now + 6000 }]);
  });
});

// Notices of several workers on one Redis: each incident once, through a queue that tries again.
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NotifyConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { type Report, reportItem } from '../../src/model/report.ts';
import { stateNotice } from '../../src/notify/notice.ts';
import { notifierOf } from '../../src/notify/notifier.ts';
import { noticeQueue } from '../../src/queue/notices.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { Fetcher } from '../../src/sources/fetch/fetch.ts';
import { fetchPolicy } from '../support/fetch-policy.ts';
import { openTestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Hook, openHook } from './support/hook.ts';

const { redis, options } = openTestRedis();
let hook: Hook;
const log = createLog({ level: 'silent' });

beforeEach(async () => {
  await redis.flushdb();
  hook = await openHook();
});

/** A worker process in small: its own connection, queue and notifier. */
const openWorker = async (
  config: Partial<NotifyConfig> = { webhook: { url: hook.url, secret: null } },
  allowPrivate: string[] = [],
) => {
  const fetcher = new Fetcher({ ...fetchPolicy, allowPrivate });
  const connection = new Redis({ ...options, maxRetriesPerRequest: null });
  const queues = queuesOn(connection, { prefix: 'n', attempts: 3, keepLogs: 10, keepMs: 60_000 });
  const queue = noticeQueue(queues, { backoffMs: 20, lockMs: 1500, stalledCheckMs: 500 }, log);
  const notifier = notifierOf({
    redis: connection,
    keys: redisKeys('n'),
    config: { webhook: null, email: null, heartbeat: null, ...config },
    pages: 'https://sluice.example.org',
    enqueue: (id, job) => queue.add(id, job),
    post: (url, posting) => fetcher.post(url, posting),
    log,
  });
  await queue.work((data, signal) => notifier.deliver(data, signal));
  onTestFinished(async () => {
    await fetcher.close();
    await queue.stop(true);
    await queues.close();
    connection.disconnect();
  });
  return { notifier, queue, queues };
};

const down = { code: 'portal-unreachable', message: 'secret words', hint: null };
const failed = (runId: string): Report => ({
  runId,
  manifest: 'm',
  portal: 'p',
  startedAt: '2026-11-21T03:15:00.000Z',
  endedAt: '2026-11-21T03:16:00.000Z',
  counts: { dataset: {}, resource: {}, actions: {} },
  reason: { code: 'manifest', message: 'secret words', hint: null },
  items: [],
});
const facts = async () => ({ notify: { email: null, webhook: null }, isWhole: true });

it('a notice says what to do and leads to the page of its item, also past the queue', async () => {
  const { notifier, queue } = await openWorker();
  const reason = { code: 'table-ragged', message: 'secret words', hint: 'fix line 7', file: 'inbox/_faulty/a.csv' };
  const item = reportItem({ key: 'm/d/größe', uuid: 'u', reason, outcome: 'quarantined' });
  const counts = { dataset: {}, resource: { quarantined: 1 }, actions: {} };
  await notifier.runClosed({ ...failed('r1'), counts, reason: null, items: [item] }, facts);
  await queue.stop(false);
  await notifier.sendPastQueue(stateNotice({ code: 'state-full', message: 'no space left', hint: 'make room' }));
  const bodies = hook.taken.map(({ body }) => JSON.parse(body));
  const [quarantined, full] = bodies.sort((a, b) => (a.event < b.event ? -1 : 1));
  expect(quarantined).toMatchObject({
    url: 'https://sluice.example.org/item/m/d/gr%C3%B6%C3%9Fe',
    items: [{ hint: 'fix line 7; the file is in inbox/_faulty/a.csv: fix it, and drop it again' }],
  });
  expect(full).toMatchObject({
    event: 'state-full',
    url: 'https://sluice.example.org/',
    items: [{ hint: 'make room' }],
  });
});

describe('several workers', () => {
  it('tell of a pause and of its end once together, and of the next pause again', async () => {
    const workers = await Promise.all([openWorker(), openWorker(), openWorker()]);
    const tell = async (pause: { since: number } | null, until = 0): Promise<void> => {
      const last = until === 0 ? null : { reason: down, since: 1000, until };
      const state = { pause: pause && { reason: down, ...pause }, last };
      for (let time = 0; time < 3; time++) {
        await Promise.all(workers.map(({ notifier }) => notifier.portalState('p', state)));
      }
    };
    await tell({ since: 1000 });
    await waitUntil('the first notice', () => hook.events().length === 1);
    await tell(null, 2000);
    await waitUntil('the second notice', () => hook.events().length === 2);
    await tell({ since: 3000 }, 2000);
    await waitUntil('the third notice', () => hook.events().length === 3);
    for (const { queue } of workers) await queue.stop(false);
    expect(hook.events()).toEqual(['portal-paused', 'portal-resumed', 'portal-paused']);
    expect(hook.taken.map(({ body }) => body).join()).not.toContain('secret words');
  });

  it('tell of a run once, although it is closed again after a kill', async () => {
    const [one, two] = await Promise.all([openWorker(), openWorker()]);
    await one.notifier.runClosed(failed('r1'), facts);
    // The kill came after the notice was queued and before that was remembered.
    await redis.del(redisKeys('n').incidents);
    await two.notifier.runClosed(failed('r1'), facts);
    await two.notifier.runClosed(failed('r1'), facts);
    await one.queue.stop(false);
    await two.queue.stop(false);
    expect(hook.events()).toEqual(['run-failed']);
    expect(JSON.parse(hook.taken[0]?.body ?? '')).toMatchObject({
      summary: 'm@p: the run failed',
      items: [{ key: '', code: 'manifest' }],
      url: 'https://sluice.example.org/run/r1',
    });
  });

  it('do not speak of a pause that ended before anybody told of it', async () => {
    const { notifier, queue } = await openWorker();
    await notifier.portalState('p', { pause: null, last: { reason: down, since: 1, until: 2 } });
    await queue.stop(false);
    expect(hook.taken).toEqual([]);
  });
});

describe('a notice', () => {
  it('that is refused is tried again until it is taken', async () => {
    hook.status = 503;
    const { notifier } = await openWorker();
    await notifier.runClosed(failed('r1'), facts);
    await waitUntil('three refusals', () => hook.taken.length >= 3);
    hook.status = 200;
    await waitUntil('the notice', () => hook.events().length === 1);
    expect(new Set(hook.taken.map(({ body }) => body)).size).toBe(1);
  });

  it('waits in Redis while no worker runs', async () => {
    const first = await openWorker();
    await first.queue.stop(true);
    await first.notifier.runClosed(failed('r1'), facts);
    expect(await first.queues.notices.getWaitingCount()).toBe(1);
    await openWorker();
    await waitUntil('the notice', () => hook.events().length === 1);
  });

  it('is not made where nobody is to be told', async () => {
    const { notifier, queues } = await openWorker({});
    await notifier.runClosed(failed('r1'), facts);
    await notifier.portalState('p', { pause: { reason: down, since: 1 }, last: null });
    expect(await queues.notices.getJobCounts()).toMatchObject({ waiting: 0, delayed: 0, completed: 0 });
    expect(await redis.exists(redisKeys('n').incidents)).toBe(0);
  });
});

describe('the webhook of a manifest', () => {
  const own = (url: string) => async () => ({ notify: { email: null, webhook: url }, isWhole: true });
  const signed = { webhook: { url: 'http://127.0.0.1:1/', secret: 's3cret' } };

  it('gets nothing at a private address, and the notice is given up with the reason', async () => {
    const { notifier, queues } = await openWorker(signed);
    const logged = vi.spyOn(log, 'error');
    onTestFinished(() => logged.mockRestore());
    await notifier.runClosed(failed('r1'), own(hook.url));
    await waitUntil('the end of the notice', async () => (await queues.notices.getFailedCount()) === 1);
    await waitUntil('the log', () => logged.mock.calls.length > 0);
    const [facts] = logged.mock.calls[0] ?? [];
    expect(facts).toMatchObject({ reason: { code: 'source-refused', hint: expect.stringContaining('sources.allow') } });
    const [job] = await queues.notices.getFailed();
    expect(job?.failedReason).toMatch(
      /^the webhook at http:\/\/127\.0\.0\.1:\d+ is not notified: .* is a loopback address/,
    );
    expect(job?.failedReason).not.toContain('t0ken');
    expect(job?.attemptsMade).toBe(1);
    expect(hook.taken).toEqual([]);
  });

  it('gets notices without a signature where its address is allowed', async () => {
    const { notifier } = await openWorker(signed, ['127.0.0.1']);
    await notifier.runClosed(failed('r1'), own(hook.url));
    await waitUntil('the notice', () => hook.events().length === 1);
    expect(hook.taken[0]?.headers).not.toHaveProperty('sluice-signature');
  });

  it('that is the one of the configuration is signed, and may be inside', async () => {
    const { notifier } = await openWorker({ webhook: { url: hook.url, secret: 's3cret' } });
    await notifier.runClosed(failed('r1'), own(hook.url));
    await waitUntil('the notice', () => hook.events().length === 1);
    expect(hook.taken[0]?.headers).toHaveProperty('sluice-signature');
  });
});

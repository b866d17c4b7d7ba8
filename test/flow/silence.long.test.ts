// Silence that is reported: every kind of it is injected into real processes, reported once, and reported as over once.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Notice, noticeSchema } from '../../src/notify/notice.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { type Hook, openHook } from '../notify/support/hook.ts';
import type { Sluice } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { isIdle, makePlace, type Place } from './support/place.ts';

const makeWatched = async (more: object = {}): Promise<{ place: Place; hook: Hook }> => {
  const hook = await openHook();
  return { hook, place: makePlace({ watch: { every: '1s' }, notify: { webhook: { url: hook.url } }, ...more }) };
};

/** A worker beside the service, which notices what happens to that. */
const startWorker = async (place: Place): Promise<Sluice> => {
  const worker = place.spawn(['worker']);
  await worker.said('"worker is running"');
  return worker;
};

const noticesOf = (hook: Hook): Notice[] => hook.taken.map(({ body }) => noticeSchema.parse(JSON.parse(body)));

/** Events with the codes of what they are about, in order. */
const toldBy = (hook: Hook): string[] =>
  noticesOf(hook).map(({ event, items }) => [event, ...items.map(({ code }) => code)].join(' '));

const told = (hook: Hook, what: string, times = 1): Promise<unknown> =>
  waitUntil(`${what}, ${times} times`, () => toldBy(hook).filter((each) => each === what).length >= times);

/** Several periods of the watch, counted by its own signs of life. */
const periodsPass = async (place: Place, periods = 3): Promise<void> => {
  const redis = place.redis();
  const highest = async (): Promise<number> => {
    const members = await redis.zrange(place.keys.deadlines, '0', '-1', 'WITHSCORES');
    const scores = members.flatMap((member, at) => (member.startsWith('worker ') ? [Number(members[at + 1])] : []));
    return Math.max(0, ...scores);
  };
  const before = await highest();
  await waitUntil('signs of life', async () => (await highest()) >= before + periods * 1000);
  redis.disconnect();
};

const table = (place: Place, rows: number): string => place.write('table.csv', `id\n${'1\n'.repeat(rows)}`);
const datasets = (file: string, more: object = {}) => [
  { id: 'a', title: 'A', ...more, resources: [{ id: 'table', title: 'Table', file }] },
];

describe('a worker', () => {
  it('that was killed is reported once by another, over restarts of that, and as over when one starts again', async () => {
    const { place, hook } = await makeWatched();
    const manifest = place.manifest({ name: 'n', datasets: datasets(table(place, 2)) });
    expect((await place.publish(manifest)).code).toBe(0);
    const service = await place.spawnService();
    const worker = await startWorker(place);
    await worker.end('SIGKILL');
    await told(hook, 'overdue overdue-worker');
    expect(await service.end('SIGTERM')).toBe(0);
    const status = await place.run(['status']);
    expect(status.out).toContain(`OVERDUE: the process ${worker.pid} (worker) on`);
    const next = await place.spawnService();
    await told(hook, 'overdue-ended');
    await periodsPass(place);
    expect(await next.end('SIGTERM')).toBe(0);
    expect(toldBy(hook)).toEqual(['overdue overdue-worker', 'overdue-ended']);
    expect(noticesOf(hook)[0]).toMatchObject({
      portal: null,
      manifest: null,
      summary: expect.stringContaining('has given no sign of life since'),
      items: [{ hint: expect.stringContaining('start it again') }],
    });
    expect((await place.run(['status'])).out).not.toContain('OVERDUE');
  });

  it('that was killed alone is reported by the next start', async () => {
    const { place, hook } = await makeWatched();
    const service = await place.spawnService();
    await service.end('SIGKILL');
    const next = await place.spawnService();
    await told(hook, 'overdue-ended');
    expect(await next.end('SIGTERM')).toBe(0);
    expect(toldBy(hook)).toEqual(['overdue overdue-worker', 'overdue-ended']);
  });

  it('that is stopped in its tracks is reported by all others once, and as over when it continues', async () => {
    const { place, hook } = await makeWatched();
    const service = await place.spawnService();
    const [worker, other] = [await startWorker(place), await startWorker(place)];
    worker.child.kill('SIGSTOP');
    await told(hook, 'overdue overdue-worker');
    await periodsPass(place);
    worker.child.kill('SIGCONT');
    await told(hook, 'overdue-ended');
    for (const each of [worker, other, service]) expect(await each.end('SIGTERM')).toBe(0);
    expect(toldBy(hook)).toEqual(['overdue overdue-worker', 'overdue-ended']);
  });

  it('that is told to stop is missed by nobody', async () => {
    const { place, hook } = await makeWatched();
    const service = await place.spawnService();
    const worker = await startWorker(place);
    expect(await worker.end('SIGTERM')).toBe(0);
    await periodsPass(place);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(hook.taken).toEqual([]);
  });
});

describe('a schedule', () => {
  const scheduled = (place: Place): string =>
    place.manifest({ name: 'n', schedule: '* * * * * *', datasets: datasets(table(place, 2)) });

  it('that is gone from Redis is reported with what to do, and as over when the next start has added it', async () => {
    const { place, hook } = await makeWatched();
    const service = await place.spawnService([scheduled(place)]);
    const redis = place.redis();
    const triggers = place.keys.triggers;
    await waitUntil('the schedule to fire', () => redis.hexists(triggers, 'n@local'));
    const queues = queuesOn(redis, { prefix: 'sluice', attempts: 1, keepLogs: 1, keepMs: 1000 });
    // A service reads its manifests once more when it has started to watch them, which would add it again.
    await waitUntil('the notice', async () => {
      await queues.runs.removeJobScheduler('schedule.n@local');
      return toldBy(hook).length > 0;
    });
    await queues.close();
    await periodsPass(place);
    expect(await service.end('SIGTERM')).toBe(0);
    const next = await place.spawnService([scheduled(place)]);
    await told(hook, 'overdue-ended');
    expect(await next.end('SIGTERM')).toBe(0);
    redis.disconnect();
    expect(toldBy(hook)).toEqual(['overdue overdue-schedule', 'overdue-ended']);
    expect(noticesOf(hook)[0]?.items[0]).toMatchObject({
      meaning: expect.stringContaining('it is no longer in Redis'),
      hint: expect.stringContaining('sluice start'),
    });
  });

  it('whose runs never begin since their queue is paused is reported, and as over when that continues', async () => {
    const { place, hook } = await makeWatched();
    const service = await place.spawnService([scheduled(place)]);
    const redis = place.redis();
    await waitUntil('the schedule to fire', () => redis.hexists(place.keys.triggers, 'n@local'));
    await redis.hset('sluice:runs:meta', 'paused', '1');
    await redis.rename('sluice:runs:wait', 'sluice:runs:paused').catch(() => undefined);
    await told(hook, 'overdue overdue-schedule');
    expect(noticesOf(hook)[0]?.items[0]?.meaning).toContain('the queue of runs is paused');
    await redis.hdel('sluice:runs:meta', 'paused');
    await redis.rename('sluice:runs:paused', 'sluice:runs:wait').catch(() => undefined);
    await redis.zadd('sluice:runs:marker', 0, '0');
    await told(hook, 'overdue-ended');
    expect(await service.end('SIGTERM')).toBe(0);
    redis.disconnect();
    expect(toldBy(hook)).toEqual(['overdue overdue-schedule', 'overdue-ended']);
  });
});

describe('an inbox', () => {
  it('that nobody watches is reported by a worker, and as over when the service is back', async () => {
    const { place, hook } = await makeWatched();
    const manifest = place.manifest({ name: 'n', drop: { folder: 'in' } });
    const service = await place.spawnService([manifest]);
    const worker = await startWorker(place);
    expect(await service.end('SIGTERM')).toBe(0);
    await told(hook, 'overdue overdue-inbox');
    const next = await place.spawnService([manifest]);
    await told(hook, 'overdue-ended');
    for (const each of [worker, next]) expect(await each.end('SIGTERM')).toBe(0);
    expect(toldBy(hook)).toEqual(['overdue overdue-inbox', 'overdue-ended']);
    expect(noticesOf(hook)[0]).toMatchObject({
      manifest: 'n',
      summary: expect.stringContaining(join(place.dir, 'in')),
    });
  });

  it('whose folder is gone is reported by the service that watches it', async () => {
    const { place, hook } = await makeWatched();
    const service = await place.spawnService([place.manifest({ name: 'n', drop: { folder: 'in' } })]);
    rmSync(join(place.dir, 'in'), { recursive: true });
    await told(hook, 'overdue overdue-inbox');
    mkdirSync(join(place.dir, 'in'));
    await told(hook, 'overdue-ended');
    expect(await service.end('SIGTERM')).toBe(0);
    expect(toldBy(hook)).toEqual(['overdue overdue-inbox', 'overdue-ended']);
  });
});

describe('runs and data', () => {
  /** The newest of what is known of the manifest is served; its runs are requested by hand. */
  const serve = async (place: Place, content: object): Promise<{ service: Sluice; run: () => Promise<number> }> => {
    const manifest = place.manifest({ name: 'n', ...content });
    const service = await place.spawnService([manifest]);
    const run = async (): Promise<number> => Number((await place.publish(manifest)).code);
    return { service, run };
  };

  it('that never come are reported once: neither a successful run nor anything new', async () => {
    const { place, hook } = await makeWatched();
    const { service, run } = await serve(place, { expectEvery: '2s', datasets: datasets(table(place, 2)) });
    await told(hook, 'overdue overdue-success overdue-news');
    await periodsPass(place);
    expect(noticesOf(hook)[0]?.items[0]?.meaning).toContain('none was begun');
    expect(await run()).toBe(0);
    await told(hook, 'overdue-ended');
    expect(await service.end('SIGTERM')).toBe(0);
    expect(toldBy(hook).slice(0, 2)).toEqual(['overdue overdue-success overdue-news', 'overdue-ended']);
  });

  it('that fail all the time are reported with the last failure', async () => {
    const { place, hook } = await makeWatched();
    // Nothing new was published either, which may be told with it.
    const isAboutSuccess = (each: string): boolean => /^overdue overdue-success( overdue-news)?$/.test(each);
    const { service, run } = await serve(place, { expectEvery: '3s', datasets: datasets('missing.csv') });
    expect(await run()).toBe(3);
    await waitUntil('the notice', async () => {
      await run();
      return toldBy(hook).some(isAboutSuccess);
    });
    const late = noticesOf(hook).find(({ event }) => event === 'overdue');
    expect(late?.items[0]).toMatchObject({
      meaning: expect.stringMatching(/run \d+-\d+-\w+ ended at .* with 1 failed/),
      hint: expect.stringContaining('sluice log'),
    });
    expect(await service.end('SIGTERM')).toBe(0);
    expect(toldBy(hook).filter(isAboutSuccess)).toHaveLength(1);
  });

  it('of unchanged files are reported as nothing new, although every run succeeds', async () => {
    const { place, hook } = await makeWatched();
    const { service, run } = await serve(place, { expectEvery: '3s', datasets: datasets(table(place, 2)) });
    await waitUntil('the notice', async () => {
      expect(await run()).toBe(0);
      return toldBy(hook).length > 0;
    });
    expect(toldBy(hook)).toEqual(['overdue overdue-news']);
    table(place, 3);
    expect(await run()).toBe(0);
    await told(hook, 'overdue-ended');
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('of a dataset with a period of its own are reported by its key, and nothing of one without', async () => {
    const { place, hook } = await makeWatched();
    const file = table(place, 2);
    const [own] = datasets(file, { expectEvery: '2s' });
    const never = { ...own, id: 'b', expectEvery: 'never', frequency: 'hourly' };
    const { service, run } = await serve(place, { datasets: [own, never] });
    expect(await run()).toBe(0);
    await told(hook, 'overdue overdue-data');
    expect(noticesOf(hook)[0]).toMatchObject({ manifest: 'n', portal: 'local', items: [{ key: 'n/a' }] });
    const redis = place.redis();
    expect(await redis.hkeys(place.keys.expected)).toEqual(['data local n/a']);
    // What the manifest does not name any more is not missed either.
    place.manifest({ name: 'n', datasets: [{ ...own, id: 'c', expectEvery: 'never' }] });
    expect(await run()).toBe(0);
    await waitUntil('the run to close', () => isIdle(place, redis, 'n'));
    redis.disconnect();
    expect(await service.end('SIGTERM')).toBe(0);
  });
});

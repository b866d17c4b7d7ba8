// Schedules under `sluice start`: a manifest runs by the clock, follows its file, and stops when that goes.
import { rmSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import type { ScheduleRow } from '../../src/commands/schedules.ts';
import { reportIn } from '../support/printed.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace, type Place, reportsOf } from './support/place.ts';
import { readEmbedded } from './support/reader.ts';

it('runs a manifest by its cron, a changed one as it is now, and none that was removed', async () => {
  const place = makePlace({ manifests: ['../jobs/*.yaml'] });
  const write = (title: string): string =>
    place.write(
      'jobs/clock.yaml',
      JSON.stringify({
        name: 'clock',
        portal: 'local',
        schedule: '* * * * * *',
        datasets: [{ id: 'one', title, resources: [{ id: 'table', title: 'Table', file: '../data/table.csv' }] }],
      }),
    );
  place.write('data/table.csv', 'id\n1\n');
  const path = write('First title');
  const service = await place.serve();
  const redis = place.redis();
  const [report] = await waitUntil('a run by the clock', async () => {
    const reports = await reportsOf(place, redis, 'clock');
    return reports.length > 0 ? reports : null;
  });
  expect(report?.items.map(({ live }) => live)).toEqual([true, true]);
  const reader = await readEmbedded(place.stateDir);
  expect(await reader.titles('dataset')).toEqual(['First title']);

  write('Second title');
  await waitUntil('the changed title', async () => (await reader.titles('dataset')).includes('Second title'));

  place.write('jobs/faulty.yaml', 'name: [');
  await service.said('"skipped: ');
  rmSync(path);
  await service.said('removed the schedule of clock@local');
  expect(await redis.zcard('sluice:runs:repeat')).toBe(0);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.out()).not.toContain('the manifests could not be read again');
});

it('keeps a schedule over a restart, and takes one away whose manifest went while it was down', async () => {
  const place = makePlace({ manifests: ['../jobs/*.yaml'] });
  const manifest = { name: 'yearly', portal: 'local', schedule: '15 3 1 1 *', datasets: [] };
  const path = place.write('jobs/yearly.yaml', JSON.stringify(manifest));
  const first = await place.serve();
  await first.said('added the schedule of yearly@local: 15 3 1 1 * (UTC)');
  expect(await first.end('SIGTERM')).toBe(0);
  const second = await place.serve();
  const redis = place.redis();
  expect(await redis.zcard('sluice:runs:repeat')).toBe(1);
  redis.disconnect();
  expect(second.out()).not.toContain('the schedule of yearly');
  expect(await second.end('SIGTERM')).toBe(0);
  rmSync(path);
  const third = await place.serve();
  await third.said('removed the schedule of yearly@local');
  expect(await third.end('SIGTERM')).toBe(0);
});

it('leaves the schedules of another live service alone, and takes away those of one that has ended', async () => {
  const place = makePlace();
  const write = (name: string): string =>
    place.write(`${name}.yaml`, JSON.stringify({ name, portal: 'local', schedule: '15 3 1 1 *', datasets: [] }));
  const first = await place.spawnService([write('first')]);
  const second = await place.serve([write('second')]);
  const redis = place.redis();
  await second.said('added the schedule of second@local');
  expect(await redis.zcard('sluice:runs:repeat')).toBe(2);
  const expected = (await redis.hkeys('sluice.expected')).filter((member) => member.startsWith('schedule '));
  expect(expected.sort()).toEqual(['schedule first@local', 'schedule second@local']);
  expect(await second.end('SIGTERM')).toBe(0);
  expect(await first.end('SIGTERM')).toBe(0);
  const third = await place.serve([write('second')]);
  await third.said('removed the schedule of first@local');
  expect(await redis.zcard('sluice:runs:repeat')).toBe(1);
  redis.disconnect();
  expect(await third.end('SIGTERM')).toBe(0);
});

const list = async (place: Place): Promise<{ service: boolean; schedules: ScheduleRow[] }> =>
  JSON.parse((await place.run(['schedules', '--json'])).out);

const oneTable = (place: Place): object[] => {
  place.write('data/table.csv', 'id\n1\n');
  return [{ id: 'one', title: 'One', resources: [{ id: 'table', title: 'Table', file: '../data/table.csv' }] }];
};

/** A window of an hour that opens in some hours, UTC. */
const laterWindow = (): { window: string; opens: number } => {
  const opens = new Date(Date.now() + 5 * 3_600_000);
  opens.setUTCMinutes(0, 0, 0);
  const hour = opens.getUTCHours();
  return { window: `${hour}:00-${(hour + 1) % 24}:00`, opens: opens.getTime() };
};

it('lets runs that are due outside the window wait for it as one, and runs at once when told to', async () => {
  const place = makePlace({ manifests: ['../jobs/*.yaml'] });
  const datasets = oneTable(place);
  const { window, opens } = laterWindow();
  const write = (schedule: object): string =>
    place.write('jobs/windowed.yaml', JSON.stringify({ name: 'windowed', schedule, datasets }));
  write({ cron: '* * * * * *', window });
  const service = await place.serve();
  const redis = place.redis();
  const row = async (): Promise<ScheduleRow | undefined> => (await list(place)).schedules[0];
  await waitUntil('two times to be due', async () => {
    const triggers = await redis.zcard('sluice:runs:completed');
    return triggers >= 2;
  });
  expect(await row()).toMatchObject({
    kept: true,
    next: new Date(opens).toISOString(),
    lastDue: { did: 'wait', until: opens },
    lastRun: null,
  });
  const waiting = await redis.zrange('sluice:runs:delayed', '0', '-1');
  expect(waiting.filter((id) => id.startsWith('schedule.'))).toEqual([`schedule.windowed@local.${opens}`]);

  const now = await place.run(['run-now', 'windowed', '--json']);
  expect(now.code).toBe(0);
  expect(reportIn(now.out)).toMatchObject({ manifest: 'windowed', items: [{ live: true }, { live: true }] });
  expect((await row())?.lastRun).toMatchObject({ why: 'command', failed: 0 });

  // A trigger that is under way while its schedule changes waits all the same, so the one of each second goes first.
  write({ cron: '15 3 2 1 *', window });
  await service.said('changed the schedule of windowed@local: 15 3 2 1 * (UTC)');
  await waitUntil('the triggers under way', async () => (await redis.llen('sluice:runs:active')) === 0);
  write({ cron: '15 3 1 1 *' });
  await service.said('changed the schedule of windowed@local: 15 3 1 1 * (UTC)');
  const left = await redis.zrange('sluice:runs:delayed', '0', '-1');
  expect(left.filter((id) => id.startsWith('schedule.'))).toEqual([]);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('makes up for a run that was missed while it was down, or leaves it out, as catchUp says', async () => {
  const place = makePlace({ manifests: ['../jobs/*.yaml'] });
  const datasets = oneTable(place);
  for (const catchUp of ['once', 'skip']) {
    const manifest = { name: `missed-${catchUp}`, schedule: { cron: '15 3 1 1 *', catchUp }, datasets };
    place.write(`jobs/${catchUp}.yaml`, JSON.stringify(manifest));
  }
  const first = await place.serve();
  expect(await first.end('SIGTERM')).toBe(0);
  const redis = place.redis();
  const due = Date.now() - 7_200_000;
  for (const name of ['missed-once@local', 'missed-skip@local']) await setDue(redis, `schedule.${name}`, due);

  const second = await place.serve();
  const rows = await waitUntil('both to be decided', async () => {
    const { schedules } = await list(place);
    return schedules.every(({ lastDue }) => lastDue !== null) && schedules[0]?.lastRun ? schedules : null;
  });
  expect(rows).toMatchObject([
    { manifest: 'missed-once', lastDue: { did: 'run', due }, lastRun: { why: 'schedule', failed: 0 } },
    { manifest: 'missed-skip', lastDue: { did: 'skip', due }, lastRun: null },
  ]);
  expect(rows.every(({ next }) => Date.parse(next ?? '') > Date.now())).toBe(true);
  expect((await place.run(['schedules'])).out).toMatch(/ skipped: it was due at .*, and `catchUp` is `skip`/);
  redis.disconnect();
  expect(await second.end('SIGTERM')).toBe(0);
});

/** Moves the next time of a schedule into the past, as if nothing had run since then. */
const setDue = async (redis: Redis, scheduler: string, due: number): Promise<void> => {
  const next = await redis.zscore('sluice:runs:repeat', scheduler);
  const [from, to] = [`repeat:${scheduler}:${next}`, `repeat:${scheduler}:${due}`];
  const opts = JSON.parse((await redis.hget(`sluice:runs:${from}`, 'opts')) ?? '{}') as Record<string, unknown>;
  await redis
    .multi()
    .rename(`sluice:runs:${from}`, `sluice:runs:${to}`)
    .hset(`sluice:runs:${to}`, { opts: JSON.stringify({ ...opts, jobId: to, prevMillis: due, delay: 0 }), delay: 0 })
    .zrem('sluice:runs:delayed', from)
    .zadd('sluice:runs:delayed', due * 4096, to)
    .zadd('sluice:runs:repeat', due, scheduler)
    .exec();
};

// Schedules under `sluice start`: a manifest runs by the clock, follows its file, and stops when that goes.
import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace, reportsOf } from './support/place.ts';
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
  await service.said('left out');
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

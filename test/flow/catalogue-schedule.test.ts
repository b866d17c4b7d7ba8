// A catalogue harvested by the clock: it follows what the catalogue says, within its guard.
import { expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace, reportsOf } from './support/place.ts';
import { readEmbedded } from './support/reader.ts';

it('is harvested by its schedule; what it no longer lists is taken down, unless that is too much', async () => {
  const place = makePlace({ manifests: ['../jobs/*.yaml'] });
  const write = (...ids: number[]): string =>
    place.write(
      'jobs/data.json',
      JSON.stringify({ dataset: ids.map((id) => ({ identifier: `id-${id}`, title: `Dataset ${id}` })) }),
    );
  const all = Array.from({ length: 20 }, (_, index) => index);
  write(...all);
  const manifest = {
    name: 'clock',
    catalogue: 'data.json',
    schedule: '* * * * * *',
    onMissing: 'unpublish',
    guard: { min: 2 },
  };
  place.write('jobs/clock.yaml', JSON.stringify(manifest));
  const service = await place.serve();
  const redis = place.redis();
  await waitUntil('a run by the clock', async () => (await reportsOf(place, redis, 'clock')).length > 0);
  const reader = await readEmbedded(place.stateDir);
  const published = async (): Promise<number> => (await reader.list()).filter(({ status }) => status === '1').length;
  expect(await published()).toBe(20);

  write(...all.slice(0, 18), 20);
  await waitUntil('the changed catalogue', async () => (await reader.titles('dataset')).includes('Dataset 20'));
  await waitUntil('what it no longer lists to be down', async () => (await published()) === 19);

  write(1, 2);
  await waitUntil('the guard to hold a run', async () =>
    (await reportsOf(place, redis, 'clock')).some(({ reason }) => reason?.code === 'held'),
  );
  expect(await published()).toBe(19);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
});

// What `docs/how-to/recover.md` promises after Redis was lost, on every release that the embedded portal plays, for accounts
// that see everything and those that do not: nothing is created twice.
import { expect, it } from 'vitest';
import { doubles } from './support/reader.ts';
import { makeRedisPlace, type RedisPlace } from './support/redis-place.ts';
import { author, publisher, remoteConfig, startPortalProcess } from './support/server.ts';

const ids = ['bikes', 'parks', 'roads'];

const write = (place: RedisPlace, published: boolean): string =>
  place.manifest({
    name: 'city',
    datasets: ids.map((id) => ({
      id,
      title: `City ${id}`,
      tags: ['budget', id],
      published,
      resources: ['a', 'b'].map((table) => {
        const file = place.write(`data/${id}-${table}.csv`, `id,what\n1,${id} ${table}\n`);
        return { id: table, title: `${id} ${table}`, file, published };
      }),
    })),
  });

it.each([
  ['dkan-7.18.16', publisher.username, true],
  ['dkan-7.18.16', author.username, true],
  ['dkan-7.18.16', author.username, false],
  ['dkan-7.18', publisher.username, false],
  ['dkan-7.18', author.username, true],
  ['dkan-7.18', author.username, false],
  ['dkan-7.14', publisher.username, true],
  ['dkan-7.14', author.username, true],
  ['spec', author.username, false],
])('on %s, as %s, published: %s', async (profile, username, published) => {
  const portal = await startPortalProcess(['--profile', profile]);
  const place = makeRedisPlace(portal.url, remoteConfig(portal.url, { username }));
  const manifest = write(place, published);
  const first = await place.publish(manifest);
  expect(first.code, JSON.stringify(first.report.items.map(({ reason }) => reason).filter(Boolean))).toBe(0);
  const reader = await portal.reader();
  const before = await reader.list();

  await place.store.flushdb();
  const rebuilt = await place.run(['rebuild', manifest]);
  expect(rebuilt.out + rebuilt.err).toContain('9 items: 9 restored and verified');
  const second = await place.publish(manifest);
  expect([second.code, second.report.counts.actions]).toEqual([0, {}]);

  await place.store.flushdb();
  const third = await place.publish(manifest);
  expect(third.code, JSON.stringify(third.report.items.map(({ reason }) => reason).filter(Boolean))).toBe(0);
  const after = await reader.list();
  expect(doubles(after)).toEqual([]);
  expect(after.map(({ nid }) => nid)).toEqual(before.map(({ nid }) => nid));
});

// A portal whose page cache answers visitors with what was there minutes ago: nothing is created twice, or proven by it.
import { expect, it } from 'vitest';
import { startTestPortal } from '../support/portal.ts';
import { makePlace } from './support/place.ts';
import { doubles, openReader } from './support/reader.ts';
import { remoteConfig, writePassword } from './support/server.ts';

it('what is published is looked up and proven past the cache, also after sessions have ended', async () => {
  const portal = await startTestPortal({ profile: 'dkan-7.18', races: false, site: { pageCacheMaximumAge: 300_000 } });
  const place = makePlace(remoteConfig(portal.url, { username: 'creator' }));
  writePassword(place.dir, 'pass');
  place.write('data/t.csv', 'id\n1\n2\n');
  const datasets = Array.from({ length: 4 }, (_, at) => ({
    id: `d${at}`,
    title: `Dataset ${at}`,
    tags: ['city', 'parks'],
    resources: [{ id: 't', title: `Table ${at}`, file: 'data/t.csv' }],
  }));
  const manifest = place.manifest({ name: 'cached', datasets });
  // Visitors have read everything that the worker will ask for, when there was nothing.
  const kept = ['node', 'node?pagesize=1', 'node?fields=nid,language&pagesize=20'].map(
    (path) => `/api/dataset/${path}`,
  );
  for (const path of [...kept, '/ctools/autocomplete/taxonomy_term/city', '/ctools/autocomplete/taxonomy_term/parks'])
    await portal.anonymous.send('GET', path);
  const ending = setInterval(() => portal.server.endSessions(), 300);
  const { code, report } = await place.publish(manifest).finally(() => clearInterval(ending));
  expect([code, report.items.filter(({ live }) => live).length]).toEqual([0, 8]);
  expect((await place.run(['verify', manifest])).code).toBe(0);
  const admin = await openReader(portal.url, 'admin', 'pass');
  const rows = await admin.list();
  expect([rows.length, doubles(rows)]).toEqual([8, []]);
  const tags = await Promise.all(
    rows
      .filter(({ type }) => type === 'dataset')
      .map(async ({ nid }) => JSON.stringify((await admin.read(nid)).field_tags)),
  );
  expect(new Set(tags).size).toBe(1);
});

// Drafts of an ordinary account, which no list shows, are found again although everything that was known here is lost.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { type GatedPortal, openGatedPortal } from './support/gated-portal.ts';
import { doubles } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { author, remoteConfig } from './support/server.ts';

const datasets = (published: boolean) =>
  Array.from({ length: 3 }, (_, at) => ({
    id: `d${at}`,
    title: `Plan ${at}, "roads"/paths`,
    published,
    resources: [{ id: 'site', title: `Site of ${at}`, published, link: `https://www.example.org/${at}` }],
  }));

/** A folder from which nothing was published yet, and its manifest. */
const fresh = ({ gateway }: GatedPortal, published: boolean) => {
  const place = makeRemotePlace(gateway.url, remoteConfig(gateway.url, author));
  return { place, manifest: place.manifest({ name: 'plans', datasets: datasets(published) }) };
};

const reads = ({ gateway }: GatedPortal): number =>
  gateway.requests.filter(({ method, path }) => method === 'GET' && /\/node\/\d+$/.test(path)).length;

it('by rebuild, also where they are to be published now', async () => {
  const there = await openGatedPortal(['--profile', 'dkan-7.18']);
  const before = fresh(there, false);
  expect((await before.place.publish(before.manifest)).code).toBe(0);
  const { place, manifest } = fresh(there, true);
  const { code, out } = await place.run(['rebuild', manifest]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^6 items: 6 (?!restored)[a-z ]+$/m)]);
  const published = await place.publish(manifest);
  expect([published.code, published.report.counts.actions]).toEqual([0, { updated: 6 }]);
  const rows = await there.reader.list();
  expect([rows.length, doubles(rows)]).toEqual([6, []]);
});

it('by publish, with a request for each instead of one for every number of a node', async () => {
  const there = await openGatedPortal(['--profile', 'dkan-7.18']);
  const before = fresh(there, false);
  await before.place.publish(before.manifest);
  there.gateway.requests.length = 0;
  const { place, manifest } = fresh(there, false);
  const { code, report } = await place.publish(manifest);
  expect([code, report.counts.actions]).toEqual([0, { adopted: 6 }]);
  expect(doubles(await there.reader.list())).toEqual([]);
  expect(reads(there)).toBeLessThan(30);
});

it('also where the portal suggests no drafts to their author, which proves nothing', async () => {
  const site = join(tempDir(), 'site.yaml');
  writeFileSync(site, JSON.stringify({ site: { suggestsDrafts: false } }));
  const there = await openGatedPortal(['--profile', 'dkan-7.18', '--faults', site]);
  const before = fresh(there, false);
  await before.place.publish(before.manifest);
  const { place, manifest } = fresh(there, false);
  const { code, out } = await place.run(['rebuild', manifest]);
  expect([code, out]).toEqual([0, expect.stringContaining('6 items: 6 restored')]);
  const other = fresh(there, false);
  const { report } = await other.place.publish(other.manifest);
  expect(report.counts.actions).toEqual({ adopted: 6 });
  expect(doubles(await there.reader.list())).toEqual([]);
});

// One watched folder, two portals, one of them down: the other is served at once, and no file is archived too early.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { openGateway } from './support/gateway.ts';
import { makePlace } from './support/place.ts';
import { doubles } from './support/reader.ts';
import { remoteConfig, startPortal, writePassword } from './support/server.ts';

it('publishes dropped files to the portal that is there, keeps them for the one that is down, then archives them', async () => {
  const [city, county] = [await startPortal(), await startPortal()];
  const [toCity, toCounty] = [await openGateway(city.url), await openGateway(county.url)];
  toCounty.target = null;
  const place = makePlace({
    manifests: ['../jobs/*.yaml'],
    portals: { city: remoteConfig(toCity.url).portals.local, county: remoteConfig(toCounty.url).portals.local },
  });
  writePassword(place.dir);
  place.write('inbox/trees.csv', 'id\n1\n2\n');
  place.write('inbox/torn.csv', 'id\n"1\n');
  const manifest = { name: 'drops', portals: ['city', 'county'], drop: { folder: '../inbox' } };
  place.write('jobs/drops.yaml', JSON.stringify(manifest));
  const below = (folder: string): string[] => {
    const path = join(place.dir, 'inbox', folder);
    return existsSync(path) ? readdirSync(path) : [];
  };
  const spooled = (): number => below('.sluice/spool').filter((name) => /^\d{13}-/.test(name)).length;

  const service = await place.serve();
  const inCity = await city.reader();
  await waitUntil('the city to have the trees', async () => (await inCity.titles('dataset')).includes('Trees'));
  const live = async (portal: string): Promise<unknown> => {
    const { out } = await place.run(['status', 'drops/trees/trees', '--portal', portal, '--json']);
    return out === '' ? null : (JSON.parse(out) as { items: { live: boolean }[] }).items[0]?.live;
  };
  await waitUntil('the trees to be live in the city', async () => (await live('city')) === true);
  expect(await live('county')).not.toBe(true);
  await service.said('"action":"pause"');
  expect(spooled()).toBe(2);
  expect([...below('.sluice/archive'), ...below('_faulty')]).toEqual([]);

  toCounty.target = county.url;
  await waitUntil('the spool to be empty', () => spooled() === 0);
  expect(below('.sluice/archive')).toEqual(['trees']);
  expect(below('_faulty')).toEqual(['torn']);
  expect(await live('county')).toBe(true);
  for (const reader of [inCity, await county.reader()]) {
    const rows = await reader.list();
    expect(doubles(rows)).toEqual([]);
    expect(rows.filter(({ title }) => title === 'Trees')).toHaveLength(2);
  }
  expect(await service.end('SIGTERM')).toBe(0);
});

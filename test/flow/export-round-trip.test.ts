// What was exported and published elsewhere is the same portal.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProfileName } from '../../src/embedded-portal/portal.ts';
import type { Report } from '../../src/model/report.ts';
import { cases, isWhole } from '../support/extent.ts';
import { startTestPortal, type TestPortal } from '../support/portal.ts';
import { generatePortal } from './support/generated-portal.ts';
import { makePlace, type Place, withReport } from './support/place.ts';
import { type Contents, portalContents } from './support/portal-contents.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const placeWith = (portals: Record<string, TestPortal>): Place => {
  const configured = Object.entries(portals).map(([name, { url }]) => [
    name,
    remoteConfig(url, { username: 'admin' }).portals.local,
  ]);
  const place = makePlace({ portals: Object.fromEntries(configured) });
  writePassword(place.dir, 'pass');
  return place;
};

const emptyTarget = async (profile: ProfileName): Promise<TestPortal> => {
  const portal = await startTestPortal({ profile, races: false });
  const admin = await portal.as('admin');
  await admin.create({ type: 'group', title: 'Water, Works & Roads' });
  await admin.create({ type: 'group', title: 'Parks Department' });
  return portal;
};

const contentsOf = async (portal: TestPortal): Promise<Contents[]> => portalContents(portal, await portal.as('admin'));

/** Exports one portal and publishes it on the other; returns the path of the manifest. */
const move = async (place: Place, from: string, to: string): Promise<string> => {
  expect(await place.run(['export', from, '-o', `${from}-export`])).toMatchObject({ code: 0 });
  const manifest = join(place.dir, `${from}-export`, 'manifest.yaml');
  const { items, reason } = (await published(place, manifest, to)).report;
  const faults = items.flatMap(({ key, reason: why, ...item }) => {
    const warnings = item.warnings.filter((line) => !line.startsWith('the portal imports tables by itself'));
    return why || warnings.length > 0 ? [{ key, why, warnings }] : [];
  });
  expect({ reason, faults }).toEqual({ reason: null, faults: [] });
  return manifest;
};

const published = async (place: Place, manifest: string, portal: string): Promise<{ report: Report }> =>
  withReport(await place.run(['publish', manifest, '--portal', portal, '--json']));

/** Nothing is left to do, and everything is proved to be there. */
const expectWhole = async (place: Place, manifest: string, portal: string, items: number): Promise<void> => {
  const verified = await place.run(['verify', manifest, '--portal', portal, '--content']);
  expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('0 faults') });
  const plan = await place.run(['plan', manifest, '--portal', portal, '--refresh']);
  expect(plan.out).toContain(`${items} items: ${items} unchanged\n`);
};

describe('a portal that was exported', () => {
  it('is the same after publishing on another one', async () => {
    const size = cases({ datasets: 18, resources: 40 }, { datasets: 9, resources: 20 });
    const source = await (await generatePortal(size)).serve('dkan-7.18');
    const target = await emptyTarget('dkan-7.18');
    const place = placeWith({ source, target });
    const manifest = await move(place, 'source', 'target');
    const before = await contentsOf(source);
    expect(before).toHaveLength(size.datasets);
    expect(await contentsOf(target)).toEqual(before);
    await expectWhole(place, manifest, 'target', size.datasets + size.resources);
  });

  it.runIf(isWhole)('is the same on portals with editing forms, but for what the plan says beforehand', async () => {
    const source = await (await generatePortal({ datasets: 18, resources: 40 })).serve('dkan-7.18');
    const [old, older] = [await emptyTarget('dkan-7.14'), await emptyTarget('dkan-7.14')];
    const place = placeWith({ source, old, older });
    expect(await place.run(['export', 'source', '-o', 'out'])).toMatchObject({ code: 0, err: '' });
    const manifest = join(place.dir, 'out', 'manifest.yaml');
    const plan = await place.run(['plan', manifest, '--portal', 'old', '--refresh']);
    for (const limit of [
      'drafts are not created: source/dataset-5',
      'the portal has no field_spatial: ',
      'the portal has no field_is_part_of: ',
      'the portal accepts one item of field_additional_info: ',
      'splits tags that contain a comma',
    ])
      expect(plan.out).toContain(limit);
    await place.run(['publish', manifest, '--portal', 'old']);
    const again = await move(place, 'old', 'older');
    const before = await contentsOf(old);
    expect(before).toHaveLength(17);
    expect(await contentsOf(older)).toEqual(before);
    await expectWhole(place, again, 'older', 17 + before.flatMap(({ resources = [] }) => resources).length);
  });

  it('is not published before its groups are there, which the plan says', async () => {
    const source = await (await generatePortal({ datasets: 4, resources: 4 })).serve('dkan-7.18');
    const target = await startTestPortal({ profile: 'dkan-7.18' });
    const place = placeWith({ source, target });
    await place.run(['export', 'source', '-o', 'out']);
    const plan = await place.run(['plan', join(place.dir, 'out', 'manifest.yaml'), '--portal', 'target', '--refresh']);
    expect(plan.out).toContain('the portal has no group, or several, titled "Parks Department"');
  });
});

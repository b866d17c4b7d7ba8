// A dataset that the portal refuses: its resources are neither called live nor left to readers without it.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import { type GatedPortal, openGatedPortal } from './support/gated-portal.ts';
import { itemOf } from './support/items.ts';
import type { Place } from './support/place.ts';
import { openReader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { author, publisher, remoteConfig } from './support/server.ts';

interface There extends GatedPortal {
  place: Place;
}

let there: There;
beforeAll(async () => {
  const gated = await openGatedPortal(['--profile', 'dkan-7.18']);
  there = { ...gated, place: makeRemotePlace(gated.gateway.url, remoteConfig(gated.gateway.url, author)) };
});

const tables = ['a', 'b', 'c'];

const write = (name: string, more: Record<string, unknown>): string => {
  const { place } = there;
  const resources = tables.map((id) => ({
    id,
    title: `${name} ${id}`,
    file: place.write(`data/${name}-${id}.csv`, 'id\n1\n'),
  }));
  return place.manifest({ name, datasets: [{ id: 'd', title: `${name} dataset`, ...more, resources }] });
};

const resourcesOf = (report: Report, name: string) => tables.map((id) => itemOf(report, `${name}/d/${id}`));

describe('a group that the account is no member of', () => {
  it('stops the dataset before anything else is sent, and is named', async () => {
    const { place, reader, gateway } = there;
    await reader.create({ type: 'group', title: 'Parks Department' });
    gateway.takeWrites();
    const { code, report } = await place.publish(write('grouped', { groups: ['Parks Department'] }));
    expect([code, itemOf(report, 'grouped/d').reason?.hint]).toEqual([
      3,
      expect.stringContaining('member of the group "Parks Department"'),
    ]);
    expect(gateway.takeWrites()).toEqual(['POST /api/dataset/node']);
    expect((await reader.list()).filter(({ title }) => title.startsWith('grouped'))).toEqual([]);
    expect(resourcesOf(report, 'grouped').map(({ live, nid }) => [live, nid])).toEqual(tables.map(() => [false, null]));
  });
});

describe('a value that only the portal refuses', () => {
  it('takes the new resources back; the corrected dataset brings them live', async () => {
    const { place, reader } = there;
    const odd = { fields: { field_public_access_level: { und: [{ value: 'nobody' }] } } };
    const manifest = write('odd', odd);
    const { code, report } = await place.publish(manifest);
    expect([code, itemOf(report, 'odd/d').outcome]).toEqual([3, 'failed']);
    for (const item of resourcesOf(report, 'odd')) {
      expect(item).toMatchObject({ live: false, outcome: 'failed', reason: { code: 'dataset-failed' } });
      expect(await reader.read(item.nid ?? '')).toMatchObject({ status: '0' });
    }
    expect((await place.run(['verify', manifest])).code).toBe(3);
    const again = await place.publish(write('odd', {}));
    expect([again.code, resourcesOf(again.report, 'odd').map(({ live, nid }) => [live, nid])]).toEqual([
      0,
      resourcesOf(report, 'odd').map(({ nid }) => [true, nid]),
    ]);
    const visitor = await openReader(there.portal.url, publisher.username, publisher.password);
    const node = await visitor.read(itemOf(again.report, 'odd/d').nid ?? '');
    expect(node.field_resources).toMatchObject({ und: [{}, {}, {}] });
  });

  it('leaves those alone that the dataset lists already', async () => {
    const { place, reader } = there;
    const first = await place.publish(write('kept', {}));
    const odd = { fields: { field_public_access_level: { und: [{ value: 'nobody' }] } } };
    const { code, report } = await place.publish(write('kept', odd));
    expect([code, itemOf(report, 'kept/d').outcome]).toEqual([3, 'failed']);
    for (const { nid } of resourcesOf(first.report, 'kept')) {
      expect(await reader.read(nid ?? '')).toMatchObject({ status: '1' });
    }
  });
});

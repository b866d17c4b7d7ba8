// Groups of a dataset with many resources, which portals put on its resources later.
import { expect, it } from 'vitest';
import { openGatedPortal } from './support/gated-portal.ts';
import { itemOf } from './support/items.ts';
import { makeRemotePlace } from './support/remote-place.ts';

it('on a dataset of 21 resources are proven by verify', async () => {
  const { reader, gateway } = await openGatedPortal(['--profile', 'dkan-7.18']);
  await reader.create({ type: 'group', title: 'Parks' });
  const place = makeRemotePlace(gateway.url);
  const resources = Array.from({ length: 21 }, (_, at) => ({
    id: `r${at}`,
    title: `Site ${at}`,
    link: `https://www.example.org/${at}`,
  }));
  const manifest = place.manifest({
    name: 'many',
    datasets: [{ id: 'd', title: 'Many', groups: ['Parks'], resources }],
  });
  const { code, report } = await place.publish(manifest);
  expect(code).toBe(0);
  const last = itemOf(report, 'many/d/r20').nid ?? '';
  await reader.change(last, { og_group_ref: { und: [] } });
  const { code: found, out } = await place.run(['verify', manifest]);
  expect([found, out]).toEqual([3, expect.stringContaining('1 of its 21 resources do not have its groups yet')]);
  expect((await place.publish(manifest)).report.counts.actions).toEqual({});
});

// Groups of a dataset with many resources, which portals put on its resources by cron.
import { expect, it } from 'vitest';
import { startTestPortal } from '../support/portal.ts';
import { reportIn } from '../support/printed.ts';
import { itemOf } from './support/items.ts';
import { makePlace } from './support/place.ts';
import { remoteConfig, writePassword } from './support/server.ts';

it.each([20, 21])(
  'on %i resources: the report says when they come later, verify that they have come',
  async (count) => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', races: false });
    const admin = await portal.as('admin');
    await admin.create({ type: 'group', title: 'Parks' });
    const place = makePlace(remoteConfig(portal.url, { username: 'admin' }));
    writePassword(place.dir, 'pass');
    const resources = Array.from({ length: count }, (_, at) => ({
      id: `r${at}`,
      title: `Site ${at}`,
      link: `https://www.example.org/${at}`,
    }));
    const wanted = { id: 'd', title: 'Many', groups: ['Parks'], resources };
    const manifest = place.manifest({ name: 'many', datasets: [wanted] });
    const { code, report } = await place.publish(manifest);
    const late = expect.stringContaining(
      'does not hold og_group_ref of its 21 resources as sent: it holds nothing yet: its next cron run adds them',
    );
    expect([code, itemOf(report, 'many/d').warnings]).toEqual([0, count > 20 ? [late] : []]);
    const verify = async () => {
      const { code: found, out } = await place.run(['verify', manifest]);
      return [found, out];
    };
    const missing = expect.stringContaining('21 of its 21 resources do not have its groups yet');
    const sound = expect.stringContaining(`${count + 1} items checked, 0 faults`);
    expect(await verify()).toEqual(count > 20 ? [3, missing] : [0, sound]);
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    await portal.server.runCron();
    expect(await verify()).toEqual([0, sound]);
    // What the portal saves by itself is no edit.
    const { code: again, out } = await place.run(['publish', manifest, '--refresh', '--json']);
    const second = reportIn(out);
    expect([again, second.counts.actions, itemOf(second, 'many/d').warnings]).toEqual([0, {}, []]);
  },
);

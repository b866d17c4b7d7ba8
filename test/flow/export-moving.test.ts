// `sluice export` of a portal whose list of datasets moves while it is read, on every profile.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProfileName } from '../../src/embedded-portal/portal.ts';
import { profiles } from '../../src/embedded-portal/profiles/profiles.ts';
import { readRecord } from '../../src/pipeline/export/folder.ts';
import { cases } from '../support/extent.ts';
import { type Caller, startTestPortal } from '../support/portal.ts';
import { reportIn } from '../support/printed.ts';
import { openGateway } from './support/gateway.ts';
import { makePlace } from './support/place.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const create = (admin: Caller, title: string): Promise<string> =>
  admin.create({ type: 'dataset', title, status: 1, body: { und: [{ value: title }] } });

const open = async (profile: ProfileName) => {
  const portal = await startTestPortal({ profile });
  const gateway = await openGateway(portal.url);
  const place = makePlace({ ...remoteConfig(gateway.url, { username: 'admin' }), jobs: {} });
  writePassword(place.dir, 'pass');
  const admin = await portal.as('admin');
  const exported = async () => {
    const { out, err } = await place.run(['export', 'local', '-o', 'out', '--json']);
    expect(err).toBe('');
    return reportIn(out);
  };
  return { gateway, place, admin, exported };
};

/** True for a page of the list of datasets after the first one. */
const isLaterPage = (path: string): boolean => /type%5D=dataset/.test(path) && /[?&]page=[1-9]/.test(path);

describe.each(cases<ProfileName[]>(Object.keys(profiles) as ProfileName[], ['dkan-7.18.16']))(
  'a list of %s that moves',
  (profile) => {
    it('is exported with all datasets that are listed throughout; what is added or removed meanwhile may be there', async () => {
      const { gateway, place, admin, exported } = await open(profile);
      const nids: string[] = [];
      for (let index = 0; index < 65; index += 1) nids.push(await create(admin, `Dataset ${index}`));
      const gone = nids.slice(2, 7);
      let turns = 0;
      gateway.before = async ({ path }) => {
        if (!isLaterPage(path) || turns === 3) return;
        turns += 1;
        // Before the first, second and third further page: some go, others come.
        for (const nid of gone.splice(0, 2)) await admin.send('DELETE', `/api/dataset/node/${nid}`);
        await create(admin, `Later ${turns}`);
      };
      const { items, remarks } = await exported();
      const here = new Set(items.map(({ nid }) => nid));
      expect(nids.filter((nid, index) => (index < 2 || index > 6) && !here.has(nid))).toEqual([]);
      expect((remarks ?? []).filter((remark) => remark.includes('may be missing'))).toEqual([]);
      // The next export finds the rest, and marks what is gone.
      gateway.before = () => undefined;
      const again = await exported();
      expect(again.items.filter(({ actions }) => actions.includes('marked as removed')).length).toBeLessThanOrEqual(5);
      for (const { key } of again.items.filter(({ nid }) => nid !== null && nids.slice(7).includes(nid)))
        expect((await readRecord(join(place.dir, 'out/datasets', key.split('/')[1] ?? '')))?.removed).toBeNull();
    });
  },
);

it('of a portal that lists nothing any more marks nothing as removed, and says so', async () => {
  const { gateway, admin, exported } = await open('dkan-7.18');
  await create(admin, 'Only one');
  await exported();
  gateway.before = (passed) => {
    if (passed.path.includes('type%5D=dataset')) passed.path = passed.path.replace('dataset&', 'nothing&');
  };
  const { items, remarks } = await exported();
  expect(items.flatMap(({ actions }) => actions)).toEqual([]);
  expect((remarks ?? []).join()).toContain(
    'datasets may be missing, and none was marked as removed: it lists no datasets',
  );
});

// Files that exceed an upload limit of the portal: said with their size, not sent at every run, sent again by retry.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openGateway } from './support/gateway.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';

const rows = (count: number): string => `a,b\n${`1,${'x'.repeat(40)}\n`.repeat(count)}`;

const limits = [
  ['postMaxSize', 'Missing required argument field_name', 'post_max_size'],
  ['uploadMaxFilesize', 'Failed to upload file. 1', 'upload_max_filesize'],
] as const;

it.each(cases(limits.slice(), limits.slice(1)))(
  '%s: the former file stays, nothing is uploaded again, `retry` brings it once the limit is raised, and others follow',
  async (limit, words, name) => {
    const site = join(tempDir(), 'site.yaml');
    const setLimit = (size: string): void => writeFileSync(site, JSON.stringify({ site: { [limit]: size } }));
    setLimit('4 KiB');
    const portal = await startPortal(['--profile', 'dkan-7.18', '--faults', site]);
    const gateway = await openGateway(portal.url);
    const place = makeRemotePlace(gateway.url);
    place.write('data/t.csv', rows(10));
    place.write('data/u.csv', rows(200));
    const resources = ['t', 'u'].map((id) => ({ id, title: id, file: `data/${id}.csv` }));
    const manifest = place.manifest({ name: 'city', datasets: [{ id: 'd', title: 'D', resources }] });
    const first = await place.publish(manifest);
    expect(first.report.items.find(({ key }) => key === 'city/d/u')).toMatchObject({
      outcome: 'failed',
      nid: null,
      reason: { code: 'portal-refused', hint: expect.stringContaining('raise the limit') },
    });
    place.write('data/t.csv', rows(300));
    const { report } = await place.publish(manifest);
    const item = report.items.find(({ key }) => key === 'city/d/t');
    expect(item).toMatchObject({ live: false, stale: true, rows: 10 });
    expect(item?.reason?.message).toContain(words);
    expect(item?.reason?.message).toContain('t.csv with 12904 bytes is too large');
    expect(item?.reason?.message).toContain(name);
    expect(item?.reason?.message).toContain('refused 8604 bytes before');
    gateway.takeWrites();
    await place.publish(manifest);
    expect(gateway.takeWrites()).toEqual([]);
    setLimit('1 MiB');
    await portal.command.end('SIGTERM');
    await portal.restart();
    await place.run(['retry', 'city/d/t']);
    // A file that is as large as this one was taken.
    const again = await place.publish(manifest);
    expect(again.report.items.map(({ key, live, rows: found }) => [key, live, found])).toEqual([
      ['city/d', true, null],
      ['city/d/t', true, 300],
      ['city/d/u', true, 200],
    ]);
  },
);

it('a resource that was deleted and comes back with a file that is refused is not made again, at no later run either', async () => {
  const site = join(tempDir(), 'site.yaml');
  writeFileSync(site, JSON.stringify({ site: { postMaxSize: '4 KiB' } }));
  const portal = await startPortal(['--profile', 'dkan-7.18', '--faults', site]);
  const gateway = await openGateway(portal.url);
  const place = makeRemotePlace(gateway.url, { kept: { total: '0 B' } });
  place.write('data/t.csv', rows(10));
  const resources = [{ id: 't', title: 't', file: 'data/t.csv' }];
  const manifest = place.manifest({ name: 'city', datasets: [{ id: 'd', title: 'D', resources }] });
  expect((await place.publish(manifest)).code).toBe(0);
  expect((await place.run(['remove', 'city/d/t', '--how', 'delete', '--yes'])).code).toBe(0);
  place.write('data/t.csv', rows(300));
  for (const _run of [1, 2]) {
    const { report } = await place.publish(manifest);
    expect(report.items.find(({ key }) => key === 'city/d/t')).toMatchObject({ nid: null, live: false, stale: false });
  }
  gateway.takeWrites();
  await place.publish(manifest);
  expect(gateway.takeWrites()).toEqual([]);
});

// A portal that ends every connection with its reply, as PHP's own server does: published to and exported like any other.
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';

it('gets tables and gives their files back whole', async () => {
  const portal = await startPortal(['--profile', 'dkan-7.18', '--close']);
  const place = makeRemotePlace(portal.url);
  const large = `a,b\n${`1,${'x'.repeat(5000)}\n`.repeat(cases(400, 100))}`;
  const resources = [0, 1, 2, 3].map((index) => ({
    id: `t${index}`,
    title: `Table ${index}`,
    file: place.write(`data/t${index}.csv`, large),
  }));
  const manifest = place.manifest({ name: 'city', datasets: [{ id: 'd', title: 'D', resources }] });
  const { code, report } = await place.publish(manifest);
  expect([code, report.items.filter(({ live }) => !live)]).toEqual([0, []]);
  const ended = await place.run(['export', 'local', '-o', 'out']);
  expect(ended.code, ended.err).toBe(0);
  const files = (await readdir(join(place.dir, 'out'), { recursive: true })).filter((path) => /t\d\.csv$/.test(path));
  expect(files).toHaveLength(4);
  for (const path of files) expect(readFileSync(join(place.dir, 'out', path), 'utf8')).toBe(large);
});

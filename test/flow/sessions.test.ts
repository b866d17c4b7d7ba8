// Sessions that end and maintenance that begins while tables are published: waited out, and nothing is lost or doubled.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { doubles, openReader, type Row } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { author, publisher, remoteConfig, startPortal } from './support/server.ts';

const start = async (rules: object[]) => {
  const faults = join(tempDir(), 'faults.yaml');
  writeFileSync(faults, JSON.stringify({ rules }));
  const portal = await startPortal(['--profile', 'dkan-7.18', '--faults', faults]);
  const direct = /without faults: (\S+)/.exec(portal.command.out())?.[1] ?? '';
  const place = makeRemotePlace(portal.url, remoteConfig(portal.url, author));
  const manifest = place.manifest({
    name: 'city',
    datasets: [0, 1, 2, 3].map((dataset) => ({
      id: `d${dataset}`,
      title: `Dataset ${dataset}`,
      published: dataset !== 3, // only its author may read a draft
      tags: ['budget'],
      resources: [0, 1, 2].map((table) => ({
        id: `t${table}`,
        title: `Table ${dataset} ${table}`,
        file: place.write(`data/${dataset}-${table}.csv`, 'a,b\n1,2\n3,4\n'),
      })),
    })),
  });
  /** Publishes, and returns what is on the portal: every table once, with its rows. */
  const publish = async (): Promise<Row[]> => {
    const { code, report } = await place.publish(manifest);
    expect(report.items.filter(({ reason }) => reason !== null)).toEqual([]);
    expect([code, report.items.length]).toEqual([0, 16]);
    const reader = await openReader(direct, publisher.username, publisher.password);
    const rows = await reader.list();
    expect(doubles(rows)).toEqual([]);
    expect(rows).toHaveLength(16);
    for (const { type, uuid } of rows) if (type === 'resource') expect(await reader.count(uuid)).toBe(2);
    return rows;
  };
  const injected = async () => {
    await portal.command.end('SIGTERM');
    const [, counts = '{}'] = /faults injected: (.*)/.exec(portal.command.out()) ?? [];
    return JSON.parse(counts) as Record<string, number>;
  };
  return { publish, injected };
};

it('sessions that end every few requests make nothing fail: all is live once, nothing refused or deleted', async () => {
  const { publish, injected } = await start([
    { route: '* /api/dataset/{node,datastore}/**', probability: 0.25, fault: 'end-sessions' },
  ]);
  const nids = (await publish()).map(({ nid }) => Number(nid));
  expect(Math.max(...nids) - Math.min(...nids), 'ids without gaps: nothing was made and deleted').toBe(15);
  expect((await injected())['end-sessions']).toBeGreaterThan(12);
});

it('maintenance in the middle of a publish is waited out', async () => {
  const { publish, injected } = await start([
    { route: 'POST /api/dataset/datastore/*/import', every: 2, times: 1, fault: 'maintenance', lasts: '3s' },
  ]);
  await publish();
  expect(await injected()).toEqual({ maintenance: 1 });
});

// How many requests a file costs on a portal as deployed, whose overlapping saves deadlock, for the account of a creator.
import { afterAll, expect, it } from 'vitest';
import { type PortalServer, startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import { cases } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openGateway } from './support/gateway.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher, remoteConfig } from './support/server.ts';

let server: PortalServer;
afterAll(() => server.close());

it('publishes seven tables a dataset with six requests a table at most, and asks nothing for what is unchanged', async () => {
  server = await startPortalServer({
    dataDir: tempDir(),
    users: [{ name: publisher.username, password: publisher.password, roles: ['content creator'] }],
    log: createLog({ level: 'silent' }),
    profile: 'dkan-7.18',
    races: { seed: 3, pauseMs: 40 },
  });
  const gateway = await openGateway(server.url);
  const place = makeRemotePlace(gateway.url, {
    ...remoteConfig(gateway.url, { concurrency: 4 }),
    jobs: { lock: '30s', stalledCheck: '30s' },
  });
  const [datasets, tables] = [cases(6, 3), 7];
  const manifest = place.manifest({
    name: 'city',
    datasets: Array.from({ length: datasets }, (_d, at) => ({
      id: `d${at}`,
      title: `Dataset ${at}`,
      tags: ['budget', `tag ${at % 3}`],
      resources: Array.from({ length: tables }, (_t, index) => ({
        id: `t${index}`,
        title: `Table ${at} ${index}`,
        file: place.write(`data/${at}-${index}.csv`, `id,what\n${index},of ${at}\n`),
      })),
    })),
  });
  const { code, report } = await place.publish(manifest);
  expect(code).toBe(0);
  expect(report.items.filter(({ live }) => live)).toHaveLength(datasets * (tables + 1));
  const byKind = Object.groupBy(gateway.requests, ({ method, path }) =>
    `${method} ${path}`.replace(/\?.*/, '').replaceAll(/\d+/g, 'N'),
  );
  const counts = Object.fromEntries(Object.entries(byKind).map(([kind, all = []]) => [kind, all.length]));
  // How many saves deadlock depends on the machine; each costs a look and another try.
  const deadlocks = gateway.requests.filter(({ status }) => status !== null && status >= 500).length;
  expect(gateway.requests.length, JSON.stringify(counts)).toBeLessThanOrEqual(6 * datasets * tables + 2 * deadlocks);
  expect(gateway.requests.some(({ method }) => method === 'HEAD')).toBe(false);
  const before = gateway.requests.length;
  expect((await place.publish(manifest)).code).toBe(0);
  expect(gateway.requests.slice(before)).toEqual([]);
});

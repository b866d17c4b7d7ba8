// Portals whose overlapping requests lose references and datastore states, as deployed ones do: everything that is called
// live is there, at any concurrency, from several workers, over kills.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { type PortalServer, startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { Place } from './support/place.ts';
import { doubles, openReader, type Reader } from './support/reader.ts';
import { makeRedisPlace } from './support/redis-place.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher, remoteConfig } from './support/server.ts';

const datasets = ['bikes', 'halls', 'parks', 'roads', 'trams'];
const tables = ['a', 'b', 'c', 'd', 'e', 'f'];

const servers: PortalServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

const startPortal = async (profile: 'dkan-7.18' | 'dkan-7.14', seed: number): Promise<PortalServer> => {
  const server = await startPortalServer({
    dataDir: tempDir(),
    users: [{ name: publisher.username, password: publisher.password, roles: ['administrator'] }],
    log: createLog({ level: 'silent' }),
    profile,
    races: { seed },
  });
  servers.push(server);
  return server;
};

const write = (place: Place): string =>
  place.manifest({
    name: 'city',
    datasets: datasets.map((id, number) => ({
      id,
      title: `City ${id}`,
      tags: ['budget', `of ${id}`],
      resources: tables.map((table, index) => {
        const rows = Array.from({ length: number + index + 1 }, (_, row) => `${row},${id} ${table}`).join('\n');
        return {
          id: table,
          title: `${id} ${table}`,
          file: place.write(`data/${id}-${table}.csv`, `id,what\n${rows}\n`),
        };
      }),
    })),
  });

const targets = (value: unknown): string[] =>
  ((value as { und?: { target_id: string }[] } | undefined)?.und ?? []).map(({ target_id }) => String(target_id));

/** Every dataset lists its tables in order and every table holds its rows; nothing stands twice. */
const expectWhole = async (reader: Reader, hasRows: boolean): Promise<void> => {
  const rows = await reader.list();
  expect(doubles(rows)).toEqual([]);
  const byTitle = new Map(rows.map((row) => [row.title, row]));
  for (const [number, id] of datasets.entries()) {
    const dataset = await reader.read(byTitle.get(`City ${id}`)?.nid ?? '');
    const wanted = tables.map((table) => byTitle.get(`${id} ${table}`));
    expect(targets(dataset.field_resources)).toEqual(wanted.map((row) => row?.nid));
    if (!hasRows) continue;
    const counts = await Promise.all(wanted.map((row) => reader.count(row?.uuid ?? '')));
    expect(counts).toEqual(tables.map((_, index) => number + index + 1));
  }
};

const quick = { retry: { backoff: '50ms', maxBackoff: '200ms' } };
const openPlace = (url: string): Place => makeRemotePlace(url, { ...remoteConfig(url, { concurrency: 8 }), ...quick });

describe.each([
  ['dkan-7.18', Array.from({ length: 20 }, (_, index) => index + 1)],
  ['dkan-7.14', [1, 2, 3]],
] as const)('on a portal as %s, 5 datasets with 6 tables each, 8 requests at once', (profile, seeds) => {
  it.each(seeds)('all is live that is called live, seed %i', async (seed) => {
    const { url } = await startPortal(profile, seed);
    const place = openPlace(url);
    const manifest = write(place);
    const { code, report } = await place.publish(manifest);
    expect(code, JSON.stringify(report.items.map(({ reason }) => reason).filter(Boolean))).toBe(0);
    await expectWhole(await openReader(url, publisher.username, publisher.password), profile === 'dkan-7.18');
    expect((await place.run(['verify', manifest])).out).toContain('35 items checked, 0 faults');
  });
});

describe('on a portal as dkan-7.18', () => {
  it.each([21, 22])('two workers publish the same, seed %i', async (seed) => {
    const { url } = await startPortal('dkan-7.18', seed);
    const place = makeRedisPlace(url, { ...remoteConfig(url, { concurrency: 4 }), ...quick });
    const manifest = write(place);
    const workers = [place.spawn(['worker']), place.spawn(['worker'])];
    for (const worker of workers) await worker.said('"worker is running"');
    const { code, out } = await place.run(['publish', manifest]);
    expect(code, out).toBe(0);
    await expectWhole(await openReader(url, publisher.username, publisher.password), true);
    for (const worker of workers) expect(await worker.end('SIGTERM')).toBe(0);
  });

  it.each([31, 32, 33])('over kills, seed %i', async (seed) => {
    const { url } = await startPortal('dkan-7.18', seed);
    const place = openPlace(url);
    const manifest = write(place);
    for (const pauseMs of [600, 900, 1300, 1900].map((pause) => pause + seed * 10)) {
      const run = place.spawn(['publish', manifest]);
      await sleep(pauseMs);
      await run.end('SIGKILL');
    }
    const { code, out } = await place.run(['publish', manifest]);
    expect(code, out).toBe(0);
    await expectWhole(await openReader(url, publisher.username, publisher.password), true);
    expect((await place.run(['verify', manifest])).out).toContain('35 items checked, 0 faults');
  });
});

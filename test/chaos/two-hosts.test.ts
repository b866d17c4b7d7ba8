// Two hosts: two processes with state folders of their own, one Redis, one folder of manifests, tables and spool shared.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { datasetKey, resourceKey, uuidOfKey } from '../../src/dkan/identity.ts';
import { redisKeys } from '../../src/ledger/keys.ts';
import { openSwitchboard, type Seen, type Switchboard } from '../../src/server/faults/switchboard.ts';
import { type PortalProcess, publisher, startPortalProcess } from '../flow/support/server.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Sluice, startSluice } from './support/processes.ts';

const concurrency = 3;
const perSecond = 60;

let server: TestRedis;
let portal: PortalProcess;
let switchboard: Switchboard;
const started: Sluice[] = [];
/** When each request came to the portal, and how many were under way at most. */
const times: number[] = [];
const underWay = new Set<Seen>();
/** The requests that were under way when most were. */
let most: string[] = [];
beforeAll(async () => {
  server = await startTestRedis();
  portal = await startPortalProcess();
  switchboard = await openSwitchboard({
    target: portal.url,
    // Slow enough that requests of several jobs are under way together.
    plan: { seed: 1, rules: [{ route: '* /api/**', fault: 'delay', delay: '40ms' }] },
    onBegin: (seen) => {
      times.push(performance.now());
      underWay.add(seen);
      if (underWay.size > most.length) most = [...underWay].map(({ method, path }) => `${method} ${path}`);
    },
    onEnd: (seen) => void underWay.delete(seen),
  });
});
afterAll(async () => {
  await Promise.all(started.map((sluice) => sluice.end('SIGKILL')));
  await switchboard.close();
  await server.close();
});

/** A host: its own state folder and configuration, the Redis and the shared folder of all. */
const openHost = (shared: string) => {
  const dir = tempDir();
  mkdirSync(join(dir, 'config'));
  writeFileSync(join(dir, 'config', 'password'), publisher.password);
  chmodSync(join(dir, 'config', 'password'), 0o600);
  const local = {
    kind: 'remote',
    url: switchboard.url,
    username: publisher.username,
    password: { file: 'password' },
    concurrency,
    requestsPerSecond: perSecond,
  };
  const config = {
    portals: { local },
    manifests: [join(shared, '*.yaml')],
    jobs: { lock: '1500ms', stalledCheck: '500ms' },
    retry: { backoff: '100ms', maxBackoff: '500ms' },
    inbox: { settle: '300ms', rescan: '1s' },
  };
  writeFileSync(join(dir, 'config', 'sluice.yaml'), JSON.stringify(config));
  const env = { REDIS_URL: `unix://${'path' in server.options ? server.options.path : ''}` };
  return (...args: string[]): Sluice => {
    const sluice = startSluice([...args, '--state', 'state'], dir, env);
    started.push(sluice);
    return sluice;
  };
};

const count = 24;
const idOf = (index: number): string => `d${String(index).padStart(2, '0')}`;

/** A manifest of half of the datasets, and an inbox with the other half. */
const writeShared = (): { shared: string; manifest: string } => {
  const shared = tempDir();
  const drop = (index: number): string => join('inbox', idOf(index), 'table.csv');
  for (let index = 0; index < count; index++) {
    const path = join(shared, index % 2 === 0 ? `data/${idOf(index)}.csv` : drop(index));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `id,name\n1,${idOf(index)}\n2,b\n`);
  }
  const datasets = Array.from({ length: count / 2 }, (_, half) => idOf(2 * half)).map((id) => ({
    id,
    title: `Written ${id}`,
    resources: [{ id: 'table', title: `Written table ${id}`, file: `data/${id}.csv` }],
  }));
  writeFileSync(join(shared, 'written.yaml'), JSON.stringify({ name: 'written', portal: 'local', datasets }));
  writeFileSync(
    join(shared, 'dropped.yaml'),
    JSON.stringify({ name: 'dropped', portal: 'local', drop: { folder: 'inbox' } }),
  );
  return { shared, manifest: join(shared, 'written.yaml') };
};

/** Requests in the fullest window of so many seconds. */
const fullest = (seconds: number): number =>
  Math.max(...times.map((from, at) => times.slice(at).filter((time) => time < from + seconds * 1000).length));

it('publish each thing once, over a kill of either, and keep the limits of the portal together', async () => {
  const { shared, manifest } = writeShared();
  const [hostA, hostB] = [openHost(shared), openHost(shared)];
  let service = hostA('start');
  await service.said('"sluice is running"');
  let worker = hostB('worker');
  await worker.said('"worker is running"');
  const publishing = hostB('publish', manifest, '--json');
  const from = times.length;
  await waitUntil('work on both hosts', () =>
    [service, worker].every((each) => each.out().includes('"action":"attach"')),
  );
  expect(await worker.end('SIGKILL')).toBe('SIGKILL');
  worker = hostB('worker');
  await waitUntil('more work', () => times.length > from + 150);
  expect(await service.end('SIGKILL')).toBe('SIGKILL');
  service = hostA('start');
  expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);

  const redis = new Redis(server.options);
  const keys = redisKeys('sluice');
  const live = async (name: string): Promise<number> => {
    const entries = await redis.hvals(keys.entries({ manifest: name, portal: 'local' }));
    return entries.filter((text) => (JSON.parse(text) as { live: boolean }).live).length;
  };
  await waitUntil('everything to be live', async () => (await live('written')) + (await live('dropped')) === 2 * count);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(await worker.end('SIGTERM')).toBe(0);

  expect(most, most.join('\n')).toHaveLength(concurrency);
  // A bucket holds one second's requests; one second more for those that are late on their way.
  for (const seconds of [1, 3]) expect(fullest(seconds)).toBeLessThanOrEqual(perSecond * (seconds + 2));

  const reader = await portal.reader();
  const rows = await reader.list();
  const wanted = Array.from({ length: count }, (_, index) => [index % 2 === 0 ? 'written' : 'dropped', idOf(index)]);
  const uuids = wanted.flatMap(([name = '', id = '']) => [datasetKey(name, id), resourceKey(name, id, 'table')]);
  expect(rows.map(({ uuid }) => uuid).sort()).toEqual(uuids.map(uuidOfKey).sort());
  for (const { uuid, type } of rows) if (type === 'resource') expect(await reader.count(uuid)).toBe(2);
}, 120_000);

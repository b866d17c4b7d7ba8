// Two hosts: two processes with state folders of their own, one Redis, one folder of manifests, tables and spool shared.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { endSluices } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { expectOnce, makeHost, waitUntilLive, writeShared } from './support/hosts.ts';
import { openWatchedPortal, type WatchedPortal } from './support/watched-portal.ts';

const concurrency = 3;
const perSecond = 60;

let server: TestRedis;
let portal: WatchedPortal;
beforeAll(async () => {
  server = await startTestRedis();
  portal = await openWatchedPortal('40ms');
});
afterAll(async () => {
  endSluices();
  await portal.close();
  await server.close();
});

// Those that are written down alone make enough requests for both kills: the dropped ones may be through before.
const count = 60;

/** Requests in the fullest window of so many seconds. */
const fullest = (seconds: number): number =>
  Math.max(
    ...portal.times.map((from, at) => portal.times.slice(at).filter((time) => time < from + seconds * 1000).length),
  );

it('publish each thing once, over a kill of either, and keep the limits of the portal together', async () => {
  const { shared, manifest } = writeShared(count);
  const redisUrl = `unix://${'path' in server.options ? server.options.path : ''}`;
  const there = { shared, redisUrl, portalUrl: portal.url, concurrency, requestsPerSecond: perSecond };
  const [hostA, hostB] = [makeHost(there), makeHost(there)];
  let service = hostA('start');
  await service.said('"sluice is running"');
  let worker = hostB('worker');
  await worker.said('"worker is running"');
  const publishing = hostB('publish', manifest, '--json');
  const from = portal.times.length;
  await waitUntil('work on both hosts', () =>
    [service, worker].every((each) => each.out().includes('"action":"attach"')),
  );
  expect(await worker.end('SIGKILL')).toBe('SIGKILL');
  worker = hostB('worker');
  await waitUntil('more work', () => portal.times.length > from + 150);
  expect(await service.end('SIGKILL')).toBe('SIGKILL');
  service = hostA('start');
  expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);

  const redis = new Redis(server.options);
  await waitUntilLive(count, redis);
  redis.disconnect();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(await worker.end('SIGTERM')).toBe(0);

  expect(portal.most(), portal.most().join('\n')).toHaveLength(concurrency);
  // A bucket holds one second's requests; one second more for those that are late on their way.
  for (const seconds of [1, 3]) expect(fullest(seconds)).toBeLessThanOrEqual(perSecond * (seconds + 2));

  await expectOnce(count, await portal.reader());
});

// A worker that has a portal to itself: more jobs at once than requests, and never more requests than are allowed.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeHost, writeShared } from '../chaos/support/hosts.ts';
import { openWatchedPortal, type WatchedPortal } from '../chaos/support/watched-portal.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { endSluices } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';

const concurrency = 2;

let server: TestRedis;
let portal: WatchedPortal;
beforeAll(async () => {
  server = await startTestRedis();
  portal = await openWatchedPortal('30ms');
});
afterAll(async () => {
  endSluices();
  await portal.close();
  await server.close();
});

it('works on three times as many jobs as it sends requests', async () => {
  const { shared, manifest } = writeShared(24);
  const redisUrl = `unix://${'path' in server.options ? server.options.path : ''}`;
  const host = makeHost({ shared, redisUrl, portalUrl: portal.url, concurrency, requestsPerSecond: 0 });
  const redis = new Redis(server.options);
  const publishing = host('publish', manifest, '--json');
  const active = async (): Promise<number> => {
    const [name] = await redis.keys('*:portal.*:active');
    return name === undefined ? 0 : redis.llen(name);
  };
  await waitUntil('as many jobs as there may be', async () => (await active()) === 3 * concurrency);
  expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);
  redis.disconnect();
  expect(portal.most()).toHaveLength(concurrency);
}, 60_000);

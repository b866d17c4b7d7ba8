// Jobs and requests at once, of a worker that has a portal to itself and of several: never more requests than are allowed.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { makeHost, writeShared } from '../chaos/support/hosts.ts';
import { openWatchedPortal, type WatchedPortal } from '../chaos/support/watched-portal.ts';
import { isWhole } from '../support/extent.ts';
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
});

it.runIf(isWhole)('sends nothing beside the requests of jobs where other workers share the portal', async () => {
  const { shared, manifest } = writeShared(12);
  const alone = await startTestRedis();
  const watched = await openWatchedPortal('30ms');
  onTestFinished(async () => {
    endSluices();
    await watched.close();
    await alone.close();
  });
  const redisUrl = `unix://${'path' in alone.options ? alone.options.path : ''}`;
  const host = makeHost({ shared, redisUrl, portalUrl: watched.url, concurrency: 1, requestsPerSecond: 0 });
  const workers = [host('worker'), host('worker')];
  for (const worker of workers) await worker.said('"worker is running"');
  const publishing = host('publish', manifest, '--json');
  expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);
  expect(watched.most(), watched.most().join('\n')).toHaveLength(1);
});

// A worker that has a portal to itself: more jobs at once than requests, and never more requests than are allowed.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSwitchboard, type Seen, type Switchboard } from '../../src/server/faults/switchboard.ts';
import { makeHost, writeShared } from '../chaos/support/hosts.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { endSluices } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type PortalProcess, startPortalProcess } from './support/server.ts';

const concurrency = 2;

let server: TestRedis;
let portal: PortalProcess;
let switchboard: Switchboard;
const underWay = new Set<Seen>();
let most = 0;
beforeAll(async () => {
  server = await startTestRedis();
  portal = await startPortalProcess();
  switchboard = await openSwitchboard({
    target: portal.url,
    plan: { seed: 1, rules: [{ route: '* /api/**', fault: 'delay', delay: '30ms' }] },
    onBegin: (seen) => {
      underWay.add(seen);
      most = Math.max(most, underWay.size);
    },
    onEnd: (seen) => void underWay.delete(seen),
  });
});
afterAll(async () => {
  endSluices();
  await switchboard.close();
  await server.close();
});

it('works on twice as many jobs as it sends requests', async () => {
  const { shared, manifest } = writeShared(24);
  const redisUrl = `unix://${'path' in server.options ? server.options.path : ''}`;
  const host = makeHost({ shared, redisUrl, portalUrl: switchboard.url, concurrency, requestsPerSecond: 0 });
  const redis = new Redis(server.options);
  const publishing = host('publish', manifest, '--json');
  const active = async (): Promise<number> => {
    const [name] = await redis.keys('*:portal.*:active');
    return name === undefined ? 0 : redis.llen(name);
  };
  await waitUntil('as many jobs as there may be', async () => (await active()) === 2 * concurrency);
  expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);
  redis.disconnect();
  expect(most).toBe(concurrency);
}, 60_000);

// Two hosts with networks of their own, one Redis over TCP: each thing once, also when the wire of one is pulled in mid-work.
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { endSluices } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { expectOnce, makeHost, waitUntilLive, writeShared } from './support/hosts.ts';
import { makeNetwork, type Network, whyNoNetworks } from './support/network.ts';
import { openWatchedPortal, type WatchedPortal } from './support/watched-portal.ts';

const why = whyNoNetworks();
const concurrency = 3;
const perSecond = 60;
const count = 24;

describe.skipIf(why !== null)(`hosts with networks of their own${why === null ? '' : ` (not run: ${why})`}`, () => {
  let networks: [Network, Network];
  let server: TestRedis;
  let portal: WatchedPortal;
  beforeAll(async () => {
    networks = [makeNetwork(0), makeNetwork(1)];
    const host = networks[0].here;
    server = await startTestRedis({ host, port: 16_379 + (process.pid % 1000) });
    portal = await openWatchedPortal('40ms', host);
  });
  afterAll(async () => {
    endSluices();
    await portal.close();
    await server.close();
    for (const network of networks) network.remove();
  });

  it('publish each thing once and keep the limits together, over a pulled wire', async () => {
    const { shared, manifest } = writeShared(count);
    const redisUrl = `redis://${networks[0].here}:${16_379 + (process.pid % 1000)}`;
    const there = { shared, redisUrl, portalUrl: portal.url, concurrency, requestsPerSecond: perSecond };
    const [hostA, hostB] = networks.map(({ through }) => makeHost({ ...there, through }));
    if (!hostA || !hostB) throw new Error('no hosts');
    const service = hostA('start');
    await service.said('"sluice is running"');
    const worker = hostB('worker');
    await worker.said('"worker is running"');
    const publishing = hostA('publish', manifest, '--json');
    await waitUntil('work on both hosts', () =>
      [service, worker].every((each) => each.out().includes('"action":"attach"')),
    );
    const [, wireOfB] = networks;
    wireOfB.wire('down');
    await setTimeout(200); // what had come in before has begun by then
    portal.cutOff();
    // Its jobs are taken over by the other host, which ends them while the first owner is cut off in the middle of them.
    expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);
    wireOfB.wire('up');
    const redis = new Redis(server.options);
    await waitUntilLive(count, redis);
    redis.disconnect();
    await waitUntil('the host that was cut off to notice', () => worker.out().includes('"action":"lost"'));
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await worker.end('SIGTERM')).toBe(0);

    expect(portal.most(), portal.most().join('\n')).toHaveLength(concurrency);
    const { times } = portal;
    const fullest = Math.max(...times.map((from, at) => times.slice(at).filter((time) => time < from + 3000).length));
    expect(fullest).toBeLessThanOrEqual(perSecond * 5);
    await expectOnce(count, await portal.reader());
  });
});

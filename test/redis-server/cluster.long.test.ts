// A Redis Cluster: how it is recognized, and publishing while the node with the keys changes, or is killed.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { reachExternal } from '../../src/redis-server/embedded.ts';
import { expectOnce, makeHost, waitUntilLive, writeShared } from '../chaos/support/hosts.ts';
import { openWatchedPortal } from '../chaos/support/watched-portal.ts';
import { startTestCluster, type TestCluster } from '../support/redis-cluster.ts';
import { endSluices } from '../support/sluice-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { keptLog } from './embedded-support.ts';

const prefix = '{sluice}';
const count = 40;

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster(prefix);
});
afterAll(async () => {
  endSluices();
  await cluster.close();
});

const reach = (url: string, wanted = prefix) => reachExternal(url, { log: keptLog().log, prefix: wanted });

it('a cluster is recognized by one of its nodes, and each connection goes to the node with the keys', async () => {
  for (const node of cluster.hosts.split(',')) {
    const { options, describe } = await reach(`redis://127.0.0.1:1,${node}`);
    expect(describe).toMatch(/^(Redis|Valkey) [\d.]+ cluster at 127\.0\.0\.1:1, /);
    const client = new Redis(options);
    expect(await client.set(`${prefix}.a`, node)).toBe('OK');
    expect(await cluster.owner().get(`${prefix}.a`)).toBe(node);
    await client.quit();
  }
});

it('a prefix that spreads the keys over the nodes, or a database, is refused', async () => {
  const url = `redis://${cluster.hosts}`;
  await expect(reach(url, 'sluice')).rejects.toMatchObject({
    code: 'redis-unreachable',
    message: expect.stringContaining('is a cluster, and the prefix "sluice" (redis.prefix) spreads the keys'),
    hint: expect.stringContaining('redis.prefix: "{sluice}"'),
  });
  await expect(reach(`${url}/3`)).rejects.toThrow('has no database but 0');
});

it('each thing is published once, over a handover of the keys and a kill of their node', async () => {
  const portal = await openWatchedPortal('30ms');
  onTestFinished(() => portal.close());
  const { shared, manifest } = writeShared(count);
  const redisUrl = `redis://${cluster.hosts}`;
  const host = makeHost({ shared, redisUrl, prefix, portalUrl: portal.url, concurrency: 3, requestsPerSecond: 0 });
  const service = host('start');
  await service.said('"sluice is running"');
  const publishing = host('publish', manifest, '--json');
  await waitUntil('work', () => portal.times.length > 60);
  await cluster.handOver();
  const from = portal.times.length;
  await waitUntil('more work', () => portal.times.length > from + 60);
  await cluster.killOwner();
  expect(await publishing.ended, publishing.out() + publishing.err()).toBe(0);
  await waitUntilLive(count, cluster.owner(), prefix);
  expect(await service.end('SIGTERM')).toBe(0);
  await expectOnce(count, await portal.reader());
});

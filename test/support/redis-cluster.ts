// A Redis Cluster of one test file: three masters, and a copy of the one that holds the keys.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort, killRedis, redisArguments, spawnRedis } from './redis-process.ts';
import { tempDir } from './temp-dir.ts';
import { waitUntil } from './wait-until.ts';

/** See the head of this file. */
export interface TestCluster {
  /** Addresses of the masters, as in a Redis URL: `host:port,host:port,host:port`. */
  hosts: string;
  /** Lets the copy take over from the master of the slot, which continues as its copy, as managed clusters do for updates. */
  handOver(): Promise<void>;
  /** Kills the master that holds the slot; resolves when the copy has taken over. */
  killOwner(): Promise<void>;
  /** A connection to the node that holds the slot now. */
  owner(): Redis;
  close(): Promise<void>;
}

interface Node {
  port: number;
  busPort: number;
  process: ChildProcess;
  client: Redis;
}

const slots = 16_384;

/** Starts a cluster; the copy belongs to the master of the slot of `prefix`. */
export const startTestCluster = async (prefix: string): Promise<TestCluster> => {
  const dir = tempDir();
  const nodes: Node[] = [];
  for (let index = 0; index < 4; index++) nodes.push(await startNode(join(dir, String(index))));
  const [first, ...others] = nodes;
  if (!first) throw new Error('no node was started');
  await waitUntil('the nodes to answer', () => allOf(nodes, async ({ client }) => (await client.ping()) === 'PONG'));
  const masters = nodes.slice(0, 3);
  for (const [index, { client }] of masters.entries()) {
    const [from, to] = [index, index + 1].map((part) => Math.floor((slots * part) / masters.length));
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1));
  }
  for (const { port, busPort } of others) {
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort));
  }
  await waitUntil('the nodes to know each other', () =>
    allOf(nodes, async ({ client }) => /known_nodes:4\b/.test(await infoOf(client))),
  );
  const slot = await first.client.cluster('KEYSLOT', prefix);
  let owner = masters[Math.floor((slot * masters.length) / slots)];
  let copy = nodes[3];
  if (!owner || !copy) throw new Error('no node holds the slot');
  await copy.client.cluster('REPLICATE', String(await owner.client.cluster('MYID')));
  await waitUntil('the cluster to be whole', () =>
    allOf(nodes, async ({ client }) => /cluster_state:ok/.test(await infoOf(client))),
  );
  /** The copy takes over once it is in step and `cause` has happened. */
  const change = async (from: Node, to: Node, cause: () => unknown): Promise<void> => {
    const says = async (words: RegExp): Promise<boolean> => words.test(await to.client.info('replication'));
    await waitUntil('the copy to be in step', () => says(/master_link_status:up/));
    await cause();
    await waitUntil('the copy to take over', () => says(/role:master/));
    [owner, copy] = [to, from];
  };
  return {
    hosts: masters.map(({ port }) => `127.0.0.1:${port}`).join(','),
    handOver: async () => {
      if (owner && copy) await change(owner, copy, () => copy?.client.cluster('FAILOVER'));
    },
    killOwner: async () => {
      if (owner && copy) await change(owner, copy, () => owner?.process.kill('SIGKILL'));
    },
    owner: () => (owner ?? first).client,
    close: async () => {
      for (const { client } of nodes) client.disconnect();
      await Promise.all(nodes.map(({ process: server }) => killRedis(server)));
    },
  };
};

const startNode = async (dir: string): Promise<Node> => {
  mkdirSync(dir);
  const [port, busPort] = [await freePort(), await freePort()];
  const server = spawnRedis(
    redisArguments({
      port,
      bind: '127.0.0.1',
      'cluster-enabled': 'yes',
      'cluster-port': busPort,
      'cluster-node-timeout': 1000,
      'cluster-require-full-coverage': 'no',
      dir,
      save: '',
      'maxmemory-policy': 'noeviction',
    }),
  );
  const client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
  client.on('error', () => {}); // not there yet, or killed
  return { port, busPort, process: server, client };
};

const infoOf = async (client: Redis): Promise<string> => String(await client.cluster('INFO'));

const allOf = async (nodes: readonly Node[], holds: (node: Node) => Promise<boolean>): Promise<boolean> =>
  (await Promise.all(nodes.map(holds))).every(Boolean);

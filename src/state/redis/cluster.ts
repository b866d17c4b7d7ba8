// Connections to the node of a Redis Cluster that holds our keys: the hash tag of the prefix puts all of them in one slot.
import { createConnection, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector } from 'ioredis';
import { z } from 'zod';
import { type RedisConnectionOptions, withConnection } from './connection.ts';

type ClusterNode = { host: string; port: number };

/** How long one node may take to describe its cluster; the next one is asked then. */
const askMs = 2_000;

const rangesSchema = z.array(
  z.tuple([z.number(), z.number()]).rest(z.tuple([z.string().nullable(), z.number()]).rest(z.unknown())),
);

/**
 * What every connection to a cluster is made with. A connection goes to the node that owns the slot of `prefix`, as the
 * first reachable of `seeds` and the nodes learned from them knows, and follows the slot: when it moves, the command is
 * sent again to the new owner. While the slot has no owner the connection is tried again and again, like that to a single
 * server that is down. (The cluster client of ioredis gives commands up after some redirections, and keeps connections to
 * nodes that hold none of our keys.)
 */
export const clusterOptions = (
  seeds: readonly ClusterNode[],
  prefix: string,
  access: Pick<RedisConnectionOptions, 'username' | 'password' | 'tls'>,
): RedisConnectionOptions => {
  const owner = ownerFinder(seeds, prefix, access);
  class SlotConnector extends AbstractConnector {
    constructor() {
      super(2_000); // ioredis' own time for a connection to end
    }

    async connect() {
      this.connecting = true;
      const node = await owner();
      if (!this.connecting) throw new Error('Connection is closed.');
      const stream = access.tls ? connectTls({ ...node, ...tlsOf(node.host) }) : createConnection({ ...node });
      stream.once('error', (error) => {
        this.firstError = error;
      });
      this.stream = stream;
      return stream;
    }
  }
  return { ...access, Connector: SlotConnector, reconnectOnError: resendElsewhere };
};

/** For the option of ioredis: a command that this server does not take any more is sent again on a new connection. */
export const resendElsewhere = (error: Error): 2 | false =>
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|UNBLOCKED)\b/.test(error.message) ? 2 : false;

/** The server name for TLS: an address cannot be one (RFC 6066). */
export const tlsOf = (host: string): { servername?: string } => (isIP(host) === 0 ? { servername: host } : {});

/** Connections that are made at the same time share one answer. */
const ownerFinder = (
  seeds: readonly ClusterNode[],
  prefix: string,
  access: RedisConnectionOptions,
): (() => Promise<ClusterNode>) => {
  let known = [...seeds];
  let asking: Promise<ClusterNode> | null = null;
  const find = async (): Promise<ClusterNode> => {
    for (const node of known) {
      const view = await viewOf(node, prefix, access).catch(() => null);
      if (!view?.owner) continue;
      known = distinct([...view.nodes, ...seeds]);
      return view.owner;
    }
    // The owner is unknown. A connection to any node fails, or is refused, and is made again after a pause.
    known.push(...known.splice(0, 1));
    return known[0] ?? { host: '127.0.0.1', port: 6379 };
  };
  return () => {
    asking ??= find().finally(() => {
      asking = null;
    });
    return asking;
  };
};

/** The nodes of a cluster and the owner of our slot, as one node sees them. */
const viewOf = (node: ClusterNode, prefix: string, access: RedisConnectionOptions) => {
  const tls = access.tls ? { tls: tlsOf(node.host) } : {};
  return withConnection({ ...access, ...node, ...tls }, askMs, async (client) => {
    const slot = await client.cluster('KEYSLOT', prefix);
    const ranges = rangesSchema.parse(await client.cluster('SLOTS'));
    // A node that does not know its own address leaves it out.
    const addressOf = ([host, port]: [string | null, number, ...unknown[]]) => ({ host: host || node.host, port });
    const ours = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2];
    return {
      nodes: ranges.flatMap(([, , ...members]) => members.map(addressOf)),
      owner: ours ? addressOf(ours) : null,
    };
  });
};

const distinct = (nodes: readonly ClusterNode[]): ClusterNode[] => [
  ...new Map(nodes.map((node) => [`${node.host} ${node.port}`, node])).values(),
];

// Who connects to our servers: sites, addresses behind trusted proxies, and a limit of connections for each.
import type { IncomingMessage, Server } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';

const noCompiler = (): never => {
  throw new Error('routes have no schemas');
};

/** What our servers tell fastify; `proxies` are addresses and networks whose X-Forwarded-For is believed. */
export const serverOptions = (proxies: readonly string[]) => ({
  logger: false as const,
  forceCloseConnections: 'idle' as const,
  trustProxy: proxies.length > 0 && [...proxies],
  // Otherwise two compilers of JSON schemas are loaded.
  schemaController: { compilersFactory: { buildValidator: () => noCompiler, buildSerializer: () => noCompiler } },
});

/** The client's address: that of the connection, or what trusted proxies forward, where that is one. */
export const clientAddress = ({ ip, raw }: FastifyRequest): string =>
  plainAddress(isIP(ip) === 0 ? (raw.socket.remoteAddress ?? '') : ip);

/** True for a request that a page of this server made, or no browser at all. */
export const isOwnOrigin = ({ headers }: IncomingMessage, publicUrl: string | null): boolean => {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined) return true;
  const from = URL.parse(origin)?.host;
  return from !== undefined && (from === host || (publicUrl !== null && from === new URL(publicUrl).host));
};

/** An IPv4 address without the prefix that sockets of both families give it. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** Who an address belongs to, for counting: of version 6 its /64, for who has one of these addresses has them all. */
export const networkOf = (address: string): string => {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [before = [], after] = plain.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = after ? Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0') : [];
  const groups = [...before, ...zeros, ...(after ?? [])].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
};

/** Ends connections beyond `most` of one address at once; trusted proxies are not counted. */
export const limitConnections = (server: Server, most: number, proxies: readonly string[]): void => {
  const counts = new Map<string, number>();
  const exempted = listOf(proxies);
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isIn(exempted, address)) return;
    const count = (counts.get(address) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    counts.set(address, count);
    socket.once('close', () => {
      const left = (counts.get(address) ?? 1) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
  });
};

/** True for an address that a list holds; IPv4 addresses written as IPv6 are judged as IPv4. */
export const isIn = (list: BlockList, address: string): boolean =>
  list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

export const listOf = (places: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const place of places) {
    const [address = '', bits] = place.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
};

// At most so many connections from one address, so that a single client cannot take all there are.
import type { Server } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';

/** Ends connections beyond `most` of one address at once; those of the `exempt` addresses and networks are not counted. */
export const limitConnections = (
  server: Server,
  { most, exempt }: { most: number; exempt: readonly string[] },
): void => {
  const counts = new Map<string, number>();
  const exempted = listOf(exempt);
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (exempted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
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

const listOf = (places: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const place of places) {
    const [address = '', bits] = place.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
};

// A connection to Redis whose next reply can be lost with the connection, so that the client sends the command again.
import { mkdtempSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

interface LossyRedis {
  client: Redis;
  /** Loses the reply that follows the next `count` ones, and the connection with it. */
  cutAfter: (count: number) => void;
  close: () => void;
}

/** A client of the Redis at a socket, through a proxy that can lose a reply. */
export const lossyRedis = async (socket: string): Promise<LossyRedis> => {
  let left = Number.POSITIVE_INFINITY;
  const proxy = createServer((client) => {
    const server = connect(socket);
    client.pipe(server).on('error', () => undefined);
    server.on('data', (reply) => {
      left -= 1;
      if (left >= 0) client.write(reply);
      else client.destroy();
      if (left < 0) left = Number.POSITIVE_INFINITY;
    });
    client.on('close', () => server.destroy()).on('error', () => undefined);
  });
  const path = join(mkdtempSync(join(tmpdir(), 'sl-')), 's');
  await new Promise<void>((resolve) => proxy.listen(path, resolve));
  const client = new Redis({ path, maxRetriesPerRequest: null });
  return {
    client,
    cutAfter: (count) => {
      left = count;
    },
    close: () => {
      client.disconnect();
      proxy.close();
    },
  };
};

// A line to a server that takes bytes slowly, and brings answers at once.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

/** Opens one; it is closed after the test file. Takes `piece` bytes each `pauseMs` milliseconds, besides what buffers hold. */
export const slowLineTo = async (
  url: string,
  { piece, pauseMs }: { piece: number; pauseMs: number },
): Promise<string> => {
  const { port, hostname } = new URL(url);
  const sockets = new Set<Socket>();
  const carry = async (incoming: Socket): Promise<void> => {
    const outgoing = connect(Number(port), hostname);
    for (const socket of [incoming, outgoing]) sockets.add(socket.on('error', () => incoming.destroy()));
    outgoing.pipe(incoming);
    for await (const chunk of incoming) {
      outgoing.write(chunk);
      if (incoming.bytesRead > piece) await sleep((pauseMs * (chunk as Buffer).length) / piece);
    }
    outgoing.end();
  };
  // Who hangs up in the middle ends the line with it.
  const server = createServer((incoming) => void carry(incoming).catch(() => incoming.destroy()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

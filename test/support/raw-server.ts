// A server that answers every request with the same bytes, whether or not they are HTTP, and closes the connection.
import { type AddressInfo, createServer } from 'node:net';
import { atFileEnd } from './file-end.ts';

/** Starts it on a free port and resolves with `host:port`; it ends with the test file. */
export const startRaw = async (answer: string | Buffer): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  });
  atFileEnd(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
};

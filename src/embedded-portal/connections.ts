// Connections: where they are taken, and the end of those that do not speak HTTP.
import type { Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { PortalPortError } from '../model/errors.ts';
import { http } from '../util/http.ts';

/** The address of a server about to listen, which then survives failed connections (`report`). Throws PortalPortError. */
export const listenOn = async (
  server: Server,
  listening: Promise<unknown>,
  { host, port, report = () => undefined }: { host: string; port: number; report?: (error: Error) => void },
): Promise<string> => {
  try {
    await listening;
  } catch (cause) {
    throw new PortalPortError(`the portal cannot listen on ${host}:${port}: ${(cause as Error).message}`, {
      hint: 'choose another port (0 for a free one), or stop the program that uses this one',
      cause,
    });
  }
  server.on('error', report);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server does not listen on a port');
  return `http://${isIPv6(host) ? `[${host}]` : host}:${address.port}`;
};

/** Makes a reply end its connection; a body of no given length ends with it. To be called before its head is written. */
export const closeAfter = (reply: ServerResponse): void => {
  reply.shouldKeepAlive = false;
  reply.useChunkedEncodingByDefault = false;
};

const statuses: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Ends a connection on which an HTTP fault came, with 408, 431 or 400 where the client still listens. */
export const answerClientError = (error: Error & { code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? 400;
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  // A client that neither reads nor ends its side holds nothing.
  socket.setTimeout(1000, () => socket.destroy());
};

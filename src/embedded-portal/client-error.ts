// Answers what is no HTTP request: too long, too slow, or not understood. The connection ends with the answer.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

const statuses: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Ends a connection on which an HTTP fault came, with 408, 431 or 400 where the client still listens. */
export const answerClientError = (error: Error & { code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  // A client that neither reads nor ends its side holds nothing.
  socket.setTimeout(1000, () => socket.destroy());
};

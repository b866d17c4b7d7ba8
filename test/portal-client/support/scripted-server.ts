// A real HTTP server on loopback whose every reply a test decides.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived. */
export interface Seen {
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The running server; every request it got is in `seen`. */
export interface ScriptedServer {
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

/** Starts a server on a free port of 127.0.0.1. */
export const startScriptedServer = async (
  handle: (seen: Seen, response: ServerResponse) => void,
): Promise<ScriptedServer> => {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks) };
      seen.push(one);
      handle(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server listens on an address
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** What a reply consists of; a body that is no string or buffer is sent as JSON. */
export interface Answer {
  status?: number;
  reason?: string;
  headers?: Record<string, string | string[]>;
  body?: unknown;
}

/** Sends a reply with a Content-Length. */
export const answer = (response: ServerResponse, { status = 200, reason, headers = {}, body }: Answer): void => {
  const raw = body === undefined ? '' : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const all = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(raw)), ...headers };
  if (reason === undefined) response.writeHead(status, all);
  else response.writeHead(status, reason, all);
  response.end(raw);
};

/** An error as these portals send it: the message in the reason phrase and as a one-element list. */
export const refusal = (status: number, message: string): Answer => {
  const prefix = { 401: 'Unauthorized ', 404: 'Not found ', 406: 'Not Acceptable ' }[status] ?? '';
  return { status, reason: `${prefix}: ${message}`, body: [message] };
};

/** How unknown routes are answered: the message in the reason phrase only, an empty body called HTML. */
export const unknownRoute = (message: string): Answer => ({
  status: 404,
  reason: `Not found : ${message}`,
  headers: { 'content-type': 'text/html; charset=UTF-8' },
  body: '',
});

/** A page of a web site. */
export const page = (status: number, title: string): Answer => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`,
});

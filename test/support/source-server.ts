// A web server that hands out files as told, and remembers what it was asked.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atFileEnd } from './file-end.ts';

/** A request as it came. */
export interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
}

/** Answers one path. */
export type Answering = (request: IncomingMessage, response: ServerResponse) => void;

/** See the head of this file. */
export interface SourceServer {
  /** Address without a slash at the end. */
  url: string;
  port: number;
  /** What was asked, oldest first. */
  asked: Asked[];
  /** Answers a path (without query) from now on; others are 404. */
  on(path: string, answer: Answering): void;
}

/** Starts a server on a free port of a loopback address; it ends with the test file. */
export const startSources = async (host = '127.0.0.1'): Promise<SourceServer> => {
  const answers = new Map<string, Answering>();
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    asked.push({ path, headers: request.headers });
    const answer = answers.get(path);
    if (answer) answer(request, response);
    else response.writeHead(404, { 'content-type': 'text/html' }).end('<title>No such page</title>');
  });
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return { url: `http://${host}:${port}`, port, asked, on: (path, answer) => answers.set(path, answer) };
};

/** A file as a good server hands it out: conditional, with a strong ETag. `modified` adds Last-Modified. */
export const fileAnswer = (
  content: string | Buffer,
  { etag, modified, type = 'text/csv' }: { etag?: string; modified?: string; type?: string },
): Answering => {
  const bytes = Buffer.from(content);
  return ({ headers }, response) => {
    const facts = {
      'content-type': type,
      ...(etag === undefined ? {} : { etag }),
      ...(modified === undefined ? {} : { 'last-modified': modified }),
    };
    const byTag = headers['if-none-match'];
    if (byTag === undefined ? modified && headers['if-modified-since'] === modified : byTag === etag) {
      response.writeHead(304, facts).end();
      return;
    }
    response.writeHead(200, { ...facts, 'content-length': bytes.length }).end(bytes);
  };
};

// Answers: errors in the format that was requested, and how they go out: written straight to node's response.
import { open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { Log } from '../model/log.ts';
import { isErrno } from '../util/files.ts';
import { closeAfter } from './connections.ts';
import type { Format } from './media/formats.ts';
import type { Value } from './media/value.ts';
import { cleanReason, Refusal, reasonPhrase } from './refusal.ts';

interface StreamedBody {
  path: string;
  bytes: number;
  disposition: string;
}

export interface Answer {
  status: number;
  /** The reason phrase; the standard one when absent. */
  reason?: string;
  contentType: string;
  headers?: Record<string, string>;
  /** True: without the headers that every answer of the service has. */
  plain?: boolean;
  body: string | StreamedBody;
}

export const htmlType = 'text/html; charset=UTF-8';

/** A refusal as answer: its message or own body in the format that was chosen; where none was, the message as text/html. */
export const formatError = (
  { status, message, details }: Refusal,
  chosen?: Pick<Format, 'write'> & { contentType: string; callback: unknown },
): Answer => {
  const reason = details.reason ?? reasonPhrase(status, message);
  if (chosen === undefined) return { status, reason, contentType: htmlType, body: details.raw ?? message };
  // A message alone is a scalar: JSON and YAML make the one-element list of it, XML and PHP the bare text.
  const value = details.body === undefined ? message : details.body;
  const { write, contentType, callback } = chosen;
  const body = details.raw ?? write(value as Value, { shape: 'plain', callback }); // what JSON can say
  return { status, reason, contentType, body };
};

export const redirectTo = (location: string, status: 301 | 302 = 301): Answer => ({
  status,
  contentType: htmlType,
  headers: { location },
  body: '',
});

/** The refusal that was thrown, or that for a failure on our side; the log holds its details. */
export const refusalOf = (error: unknown, log: Log): Refusal => {
  if (error instanceof Refusal) return error;
  log.error({ err: error }, 'a request failed');
  const code =
    error instanceof Error && 'errcode' in error ? error.errcode : (error as { code?: unknown } | null)?.code;
  if (code === 13 || code === 'ENOSPC' || code === 'EDQUOT') {
    return new Refusal(507, 'The portal has no space left; nothing was changed.');
  }
  if (code === 8 || code === 10 || code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return new Refusal(503, 'The portal cannot write its store; nothing was changed.');
  }
  return new Refusal(500, 'An error occurred.', { reason: 'Internal Server Error : An error occurred.' });
};

const serviceHeaders = {
  expires: 'Sun, 19 Nov 1978 05:00:00 GMT',
  'cache-control': 'no-cache, must-revalidate',
  'x-content-type-options': 'nosniff',
};

const partBytes = 65_536;

/** Sends a long body; a client that takes too long for one part is cut off. */
const sendParts = async (raw: ServerResponse, source: Readable, idleMs: number): Promise<void> => {
  const timer = setTimeout(() => raw.destroy(), idleMs).unref();
  source.on('data', () => timer.refresh());
  try {
    await pipeline(source, raw);
  } catch {
    raw.destroy(); // the client went away, or the disk failed half way: nothing more can be sent
  } finally {
    clearTimeout(timer);
  }
};

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}

/** The bytes of a file; its headers keep a browser from running them. */
const openFile = async ({ path, bytes, disposition }: StreamedBody) => {
  const file = await open(path).catch((error: unknown) => {
    throw isErrno(error, 'ENOENT') ? new Refusal(404, 'The bytes of this file are lost.') : error;
  });
  const headers = {
    'content-length': bytes,
    'content-disposition': disposition,
    'content-security-policy': "sandbox; default-src 'none'",
  };
  return { stream: file.createReadStream({ highWaterMark: partBytes }), headers };
};

/**
 * Sends the answer; resolves when node has taken it over. Throws, before anything is sent, what opening its file throws: a
 * Refusal where its bytes are lost. `idleMs`: longest time for a part; `closes`: the connection ends with it.
 */
export const sendAnswer = async (
  reply: FastifyReply,
  { status, reason, contentType, plain, body, ...answer }: Answer,
  { longestReason, idleMs, closes }: { longestReason: number; idleMs: number; closes: boolean },
): Promise<void> => {
  const source = typeof body === 'string' ? Buffer.from(body) : await openFile(body);
  const { raw } = reply;
  reply.hijack();
  if (closes) closeAfter(raw);
  if (reason !== undefined) raw.statusMessage = cleanReason(reason, longestReason);
  const headers = { ...(plain === true ? {} : serviceHeaders), ...answer.headers, 'content-type': contentType };
  if (!Buffer.isBuffer(source)) {
    raw.writeHead(status, { ...headers, ...source.headers });
    return sendParts(raw, source.stream, idleMs);
  }
  raw.writeHead(status, closes ? headers : { ...headers, 'content-length': source.length });
  if (source.length <= partBytes) raw.end(source);
  else await sendParts(raw, Readable.from(partsOf(source), { objectMode: false }), idleMs);
};

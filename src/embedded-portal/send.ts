// Puts an answer on the wire. Written straight to node's response: with fastify's reply it costs twice as much.
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { Answer } from './answer.ts';
import type { StreamedBody } from './call.ts';
import { cleanReason } from './refusal.ts';

const serviceHeaders = {
  expires: 'Sun, 19 Nov 1978 05:00:00 GMT',
  'cache-control': 'no-cache, must-revalidate',
  'x-content-type-options': 'nosniff',
};

/** What of an answer depends on portal and request. */
export interface SendOptions {
  /** Most characters of a reason phrase. */
  longestReason: number;
  /** True: the connection ends with this answer. */
  isLast: boolean;
  /** Longest time for a part of a long answer, milliseconds. */
  idleMs: number;
}

const headersOf = ({ contentType, headers, plain }: Answer, isLast: boolean): Record<string, string | number> => ({
  ...(plain === true ? {} : serviceHeaders),
  ...headers,
  'content-type': contentType,
  ...(isLast ? { connection: 'close' } : {}),
});

/** The bytes of a file; its own headers keep a browser from running them. */
const sendFile = async (
  raw: ServerResponse,
  file: FileHandle,
  {
    headers,
    status,
    body,
    idleMs,
  }: { headers: Record<string, string | number>; status: number; body: StreamedBody; idleMs: number },
): Promise<void> => {
  raw.writeHead(status, {
    ...headers,
    'content-length': body.bytes,
    'content-disposition': body.disposition,
    'content-security-policy': "sandbox; default-src 'none'",
  });
  await sendParts(raw, file.createReadStream({ highWaterMark: partBytes }), idleMs);
};

const partBytes = 65_536;

/** Sends a long body; a client that leaves one part of it lying for too long is cut off. */
const sendParts = async (raw: ServerResponse, source: Readable, idleMs: number): Promise<void> => {
  const timer = setTimeout(() => raw.destroy(), idleMs).unref();
  source.on('data', () => timer.refresh());
  try {
    await pipeline(source, raw);
  } catch {
    raw.destroy(); // the client went away, or the disk failed half way: nothing more can be told
  } finally {
    clearTimeout(timer);
  }
};

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}

/**
 * Sends the answer; resolves when node has taken it over. Throws what opening the file of a streamed body throws; then
 * nothing has been sent and another answer can be.
 */
export const sendAnswer = async (
  reply: FastifyReply,
  answer: Answer,
  { longestReason, isLast, idleMs }: SendOptions,
): Promise<void> => {
  const { status, reason, body } = answer;
  const file = typeof body === 'string' ? null : await open(body.path);
  const { raw } = reply;
  reply.hijack();
  const headers = headersOf(answer, isLast);
  if (reason !== undefined) raw.statusMessage = cleanReason(reason, longestReason);
  if (typeof body !== 'string') {
    if (file !== null) await sendFile(raw, file, { headers, status, body, idleMs });
    return;
  }
  const length = Buffer.byteLength(body);
  raw.writeHead(status, { ...headers, 'content-length': length });
  if (length > partBytes) {
    await sendParts(raw, Readable.from(partsOf(Buffer.from(body)), { objectMode: false }), idleMs);
  } else if (length === body.length) {
    raw.end(body, 'latin1'); // plain ASCII: head and body leave in one piece
  } else {
    raw.end(Buffer.from(body));
  }
};

// What a fault makes of a request: passed on to the portal byte by byte, or answered in its place.
import { type IncomingMessage, type OutgoingHttpHeaders, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { durationMs } from '../../util/quantity.ts';
import type { FaultRule } from './rules.ts';

/** A whole answer of the portal. */
export interface Forwarded {
  status: number;
  reason: string;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

/** Headers that are about one connection only (RFC 9110, 7.6.1). */
const perConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect', 'upgrade', 'te', 'trailer']);

const carried = (headers: OutgoingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !perConnection.has(name)));

/** Sends the request to the portal; resolves with the head of its answer. Every request has a connection of its own. */
export const forward = (incoming: IncomingMessage, target: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { method, url = '/' } = incoming;
    const headers = carried({ ...incoming.headers });
    const outgoing = request(new URL(url, target), { method, headers, agent: false }, resolve);
    outgoing.once('error', reject);
    // A caller who breaks off in the middle of his body: the portal sees the same.
    pipeline(incoming, outgoing).catch(reject);
  });

/** Reads an answer to its end: then the portal has done what it was asked for. */
export const answerOf = async (answer: IncomingMessage): Promise<Forwarded> => {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer); // no encoding is set
  return {
    status: answer.statusCode ?? 502,
    reason: answer.statusMessage ?? '',
    headers: carried({ ...answer.headers }),
    body: Buffer.concat(chunks),
  };
};

/** Passes an answer on as it comes. */
export const passOn = async (answer: IncomingMessage, reply: ServerResponse, isWhole: boolean): Promise<void> => {
  const headers = carried({ ...answer.headers });
  if (!isWhole) headers.connection = 'close'; // the portal answered before it had read everything
  reply.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headers);
  await pipeline(answer, reply);
};

/** Words of such portals for a status, in the order they are known (spec 7). */
const words: Record<number, string> = {
  401: 'CSRF validation failed',
  403: 'Access denied for user anonymous',
  406: 'Unknown or unsupported response format.',
  429: 'Too many requests.',
};

/** An error status as this API words it: the message as a list of one in the body, and in the status line. */
export const statusAnswer = (reply: ServerResponse, rule: Extract<FaultRule, { fault: 'status' }>): void => {
  const { status, retryAfter } = rule;
  const message = rule.message ?? words[status] ?? 'Injected fault.';
  const body = JSON.stringify([message]);
  if (retryAfter !== undefined) reply.setHeader('retry-after', Math.ceil(durationMs(retryAfter) / 1000));
  reply.writeHead(status, message.replaceAll(/[^\x20-\x7e]/g, ' '), {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  reply.end(body);
};

const page = '<!DOCTYPE html><html><head><title>Site under maintenance</title></head><body>Soon back.</body></html>\n';

/** 200 with an HTML page, as some proxies and maintenance pages answer. */
export const plainAnswer = (reply: ServerResponse): void => {
  reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': Buffer.byteLength(page) });
  reply.end(page);
};

/** An answer of the portal whose body was changed. */
export const sendWhole = (reply: ServerResponse, { status, reason, headers, body }: Forwarded): void => {
  reply.writeHead(status, reason, { ...headers, 'content-length': body.length });
  reply.end(body);
};

/** Half of the body: under the length of the whole, then `cut`; or, with null, as if it were all. */
export const sendHalf = (reply: ServerResponse, answer: Forwarded, cut: (() => void) | null): void => {
  const half = answer.body.subarray(0, Math.floor(answer.body.length / 2));
  const length = cut === null ? half.length : answer.body.length;
  reply.writeHead(answer.status, answer.reason, { ...answer.headers, 'content-length': length });
  if (cut === null) reply.end(half);
  else reply.write(half.length > 0 ? half : ' ', () => cut());
};

/** A datastore status that says "paused" (5) in `data_import`, in JSON or YAML. */
export const pausedBody = (body: Buffer): Buffer =>
  Buffer.from(body.toString('utf8').replaceAll(/(\bdata_import["']?\s*:\s*["']?)\d+/g, (_all, head) => `${head}5`));

// The answers that faults give in the portal's place.
import type { ServerResponse } from 'node:http';
import { durationMs } from '../../util/quantity.ts';
import type { Forwarded } from './forward.ts';
import type { FaultRule } from './rules.ts';

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
  const message = rule.message ?? words[status] ?? 'The fault was asked for.';
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

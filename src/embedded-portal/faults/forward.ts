// Passes one request on to the portal behind the switchboard, byte by byte, and its answer back.
import { type IncomingMessage, type OutgoingHttpHeaders, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';

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

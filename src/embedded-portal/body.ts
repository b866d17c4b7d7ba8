// Reads the body of a request by its content type (spec 1, recorded behaviour 4).
import type { IncomingMessage } from 'node:http';
import { escapeHtml } from '../util/html.ts';
import { chooseParser } from './media/formats.ts';
import { readMultipart, type UploadedFile } from './media/multipart.ts';
import { MalformedBody } from './media/value.ts';
import type { Call, PortalLimits, Wire } from './portal.ts';
import { Refusal } from './refusal.ts';

const names: Readonly<Record<string, string>> = {
  'application/json': 'JSON',
  'application/vnd.php.serialized': 'PHP serialization',
  'application/x-www-form-urlencoded': 'form',
  'application/x-yaml': 'YAML',
  'application/xml': 'XML',
  'text/xml': 'XML',
  'multipart/form-data': 'multipart body',
};

const tooLarge = (bytes: number): Refusal => new Refusal(413, `The body is larger than ${bytes} bytes.`);

/** Ends a request whose body pauses too long, or drips so slowly that it would hold a connection for hours. */
const guardPace = (request: IncomingMessage, { bodyIdleMs, bodyRate }: PortalLimits): (() => void) => {
  const begun = performance.now();
  let bytes = 0;
  const timer = setTimeout(() => request.destroy(), bodyIdleMs).unref();
  const note = (chunk: Buffer): void => {
    bytes += chunk.length;
    timer.refresh();
    const ms = performance.now() - begun;
    if (ms > bodyIdleMs && bytes < (bodyRate * ms) / 1000) request.destroy();
  };
  request.on('data', note);
  return () => {
    clearTimeout(timer);
    request.off('data', note);
  };
};

/** Reads what a client still sends of a body and forgets it, so that the client gets the answer; resolves at the end of it. */
export const dropRest = async (request: IncomingMessage, limits: PortalLimits): Promise<void> => {
  if (request.complete || request.destroyed) return;
  const release = guardPace(request, limits);
  await new Promise<unknown>((resolve) => request.once('end', resolve).once('close', resolve).resume());
  release();
};

const readBytes = async (request: IncomingMessage, most: number): Promise<Buffer> => {
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The stream must outlive an early end, or the answer could not be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
};

/** Runs a reader of the body at a guarded pace. The error of a body whose client went away within it need not be logged. */
const paced = async <T>({ request, portal }: Call, read: () => Promise<T>): Promise<T> => {
  const release = guardPace(request, portal.limits);
  try {
    return await read();
  } catch (error) {
    throw request.destroyed && !request.complete ? new Refusal(400, 'The body is cut short.') : error;
  } finally {
    release();
  }
};

/** The bytes of the whole body. Throws a Refusal (413), or the stream's error when the client went away. */
export const readRaw = (call: Call): Promise<Buffer> =>
  paced(call, () => readBytes(call.request, call.portal.limits.bodyBytes));

/** The reader for a content type. Throws 406 for what is not known (recorded behaviour 4). */
const chosenParser = (header: string | undefined, { readers, ignoresCase, malformedMime }: Wire) => {
  const choice = chooseParser(ignoresCase ? header?.split(';')[0]?.toLowerCase() : header, readers);
  if ('malformed' in choice) {
    throw malformedMime(`The request content type ${escapeHtml(choice.malformed)} is malformed`);
  }
  if ('type' in choice) return choice;
  throw new Refusal(406, `Unsupported request content type ${escapeHtml(choice.unsupported)}`);
};

interface Body {
  value: unknown;
  files: UploadedFile[];
}

const nothing: Body = { value: null, files: [] };

const readMultipartBody = async ({ request, portal }: Call, keepFiles: boolean): Promise<Body> => {
  const { site, store, limits } = portal;
  const most = site.postMaxSize ?? Number.POSITIVE_INFINITY;
  if (Number(request.headers['content-length'] ?? 0) > most) return nothing;
  return await readMultipart(request, { store, fileBytes: limits.fileBytes, keepFiles });
};

/** Reads the whole body of a call. Throws a Refusal: 406 for its type, 400 or 406 for a malformed one, 413 for its size. */
export const readBody = async (call: Call, { keepFiles }: { keepFiles: boolean }): Promise<Body> => {
  const { request, portal } = call;
  const { wire } = portal.profile;
  if (wire.skipsBody(call)) return nothing;
  const { type, parser } = chosenParser(request.headers['content-type'], wire);
  return await paced(call, async () => {
    try {
      if (parser === null) return await readMultipartBody(call, keepFiles);
      const bytes = await readBytes(request, portal.limits.bodyBytes);
      return { value: bytes.length === 0 ? null : parser(bytes), files: [] };
    } catch (error) {
      if (!(error instanceof MalformedBody)) throw error;
      const words = `Invalid ${names[type] ?? 'body'}.${wire.explains ? ` ${escapeHtml(error.message)}` : ''}`;
      throw new Refusal(type.endsWith('/xml') ? 406 : 400, words);
    }
  });
};

// Reads the body of a request by its content type (spec 1, recorded behaviour 4).
import type { IncomingMessage } from 'node:http';
import { escapeHtml } from '../util/html.ts';
import type { Portal, PortalLimits } from './call.ts';
import { bodyParsers, chooseParser } from './media/formats.ts';
import { readMultipart, type UploadedFile } from './media/multipart.ts';
import { type BodyParser, MalformedBody } from './media/value.ts';
import type { Profile } from './profiles/profile.ts';
import { Refusal } from './refusal.ts';

/** Status and words for a malformed body, by type. */
const faults: Record<string, { status: number; words: string }> = {
  'application/json': { status: 400, words: 'Invalid JSON.' },
  'application/vnd.php.serialized': { status: 400, words: 'Invalid PHP serialization.' },
  'application/x-www-form-urlencoded': { status: 400, words: 'Invalid form.' },
  'application/x-yaml': { status: 400, words: 'Invalid YAML.' },
  'application/xml': { status: 406, words: 'Invalid XML.' },
  'text/xml': { status: 406, words: 'Invalid XML.' },
  'multipart/form-data': { status: 400, words: 'Invalid multipart body.' },
};

/** Every reader; that of multipart bodies takes the stream and is here as null. */
const parsers: Readonly<Record<string, BodyParser<unknown> | null>> = { ...bodyParsers, 'multipart/form-data': null };

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

/** The bytes of the whole body. Throws a Refusal (413), or the stream's error when the client went away. */
export const readRaw = async (request: IncomingMessage, { limits }: Portal): Promise<Buffer> => {
  const release = guardPace(request, limits);
  try {
    return await readBytes(request, limits.bodyBytes);
  } catch (error) {
    throw cutShort(request) ?? error;
  } finally {
    release();
  }
};

/** The error of a body whose client went away or was cut off within it, which need not be logged; else null. */
const cutShort = (request: IncomingMessage): Refusal | null =>
  request.destroyed && !request.complete ? new Refusal(400, 'The body is cut short.') : null;

const malformed = (error: unknown, { status, words }: { status: number; words: string }, portal: Portal): unknown => {
  if (!(error instanceof MalformedBody)) return error;
  return new Refusal(status, portal.profile.explainsMalformed ? `${words} ${escapeHtml(error.message)}` : words);
};

/** The content type without its parameters where case does not matter; as it was sent where it does. */
const typeOf = ({ headers }: IncomingMessage, { formats }: Profile): string | undefined =>
  formats.prefersJson ? headers['content-type']?.split(';')[0]?.toLowerCase() : headers['content-type'];

/** The reader for the request's content type. Throws 406 for what is not known (recorded behaviour 4). */
const chosenParser = (
  request: IncomingMessage,
  profile: Profile,
): { type: string; parser: BodyParser<unknown> | null } => {
  const choice = chooseParser(typeOf(request, profile), parsers);
  if ('malformed' in choice) {
    throw profile.malformedMime(`The request content type ${escapeHtml(choice.malformed)} is malformed`);
  }
  if ('type' in choice && profile.refusedTypes.includes(choice.type)) {
    throw new Refusal(406, `Unsupported request content type ${escapeHtml(choice.type)}`);
  }
  if ('unsupported' in choice) {
    throw new Refusal(406, `Unsupported request content type ${escapeHtml(choice.unsupported)}`);
  }
  return choice;
};

/**
 * Reads the whole body. Throws a Refusal: 406 for an unknown type, 400 or 406 with the place for a malformed body,
 * 413 for one that is too large.
 */
export const readBody = async (
  request: IncomingMessage,
  portal: Portal,
  { keepFiles }: { keepFiles: boolean },
): Promise<{ value: unknown; files: UploadedFile[] }> => {
  const { type, parser } = chosenParser(request, portal.profile);
  if (portal.profile.isUnread(type, request.method ?? '')) return { value: null, files: [] };
  const release = guardPace(request, portal.limits);
  try {
    if (parser !== null) {
      const bytes = await readBytes(request, portal.limits.bodyBytes);
      return { value: bytes.length === 0 ? null : parser(bytes), files: [] };
    }
    const most = portal.site.postMaxSize;
    if (most !== null && Number(request.headers['content-length'] ?? 0) > most) return { value: null, files: [] };
    const { fields, files } = await readMultipart(request, {
      dir: portal.store.filesDir,
      syncDir: () => portal.store.syncFiles(),
      fileBytes: portal.limits.fileBytes,
      keepFiles,
    });
    return { value: fields, files };
  } catch (error) {
    throw cutShort(request) ?? malformed(error, faults[type] ?? { status: 400, words: 'Invalid body.' }, portal);
  } finally {
    release();
  }
};

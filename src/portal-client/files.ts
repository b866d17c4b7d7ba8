// Uploads: the multipart body of attach_file, text parts before the file part, and the file in chunks.
import { hash, randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { paths } from '../dataset-api/paths.ts';
import { missingSource, PortalError, PortalRefusedError, SourceChangedError } from '../model/errors.ts';
import type { TellMoved } from '../model/moved.ts';
import { isAnswer } from './answers.ts';
import { attachResultSchema } from './replies.ts';
import type { Caller } from './session.ts';
import type { Traits } from './settings.ts';

export interface PortalFile {
  path: string;
  name: string;
  /** Size it must have; another size means that it changed meanwhile. */
  bytes: number;
  contentType: string;
  /** Told how much of a streamed file the portal has taken. */
  moved?: TellMoved;
}

/** `sha256` (hex) of what was sent; null for a streamed file, of which size and times are known. */
type Attached = { fid: string; sha256: string | null };

/** Up to this size one hand-built buffer is quickest; above it memory must stay flat. */
const [oneBufferBytes, chunkBytes] = [1024 * 1024, 256 * 1024];
/** The slowest upload that is still waited for, besides the time the reply may take. */
const slowestBytesPerMs = 256;

const sizeLimits = {
  'request-too-large': 'the request exceeds `post_max_size` of the portal, which dropped it',
  'file-too-large': 'the file exceeds `upload_max_filesize` of the portal',
  'body-too-large': 'a web server or proxy limits the size of requests',
} as const;
const sizeSituations = Object.keys(sizeLimits) as (keyof typeof sizeLimits)[]; // its own keys

/** How files are sent to a portal, each within these times. */
export const fileSender = (
  caller: Caller,
  traits: Traits,
  { headersMs, uploadMs }: { headersMs: number; uploadMs: number },
) => {
  /** The refusal of a file that is too large, with its size and the limit as far as it is known; any other error as it is. */
  const sized = (error: unknown, { name, bytes }: PortalFile): unknown => {
    const situation = sizeSituations.find((each) => isAnswer(error, each));
    if (!situation || !(error instanceof PortalError)) return error;
    const tooLarge = Math.min(bytes, traits.get('tooLarge') ?? bytes);
    traits.learn({ tooLarge });
    const limit = tooLarge < bytes ? `; it refused ${tooLarge} bytes before` : '';
    const message = `${error.message}: ${name} with ${bytes} bytes is too large: ${sizeLimits[situation]}${limit}`;
    return new PortalRefusedError(message, error.request, { hint: error.hint, cause: error });
  };
  /**
   * Sends a file as the resource's `field_upload`, replacing what is there (`attach` 0). @throws SourceMissingError,
   * SourceChangedError about the local file; PortalRefusedError with its size for one that is too large, which is remembered.
   */
  return async (nid: string, file: PortalFile, signal: AbortSignal): Promise<Attached> => {
    // The portal may import the file before it answers, so a larger file is given longer.
    const patience = { headersMs: Math.min(uploadMs, headersMs + file.bytes / slowestBytesPerMs), totalMs: uploadMs };
    // A long upload must not keep the others from saving.
    const isSave = file.bytes <= oneBufferBytes;
    const { sha256, ...body } = await (isSave ? oneBuffer(file) : streamed(file));
    const to = { action: 'attach file', method: 'POST', path: paths.attachFile(nid), upload: file.name } as const;
    const call = { ...to, isSave, ...body, ...patience };
    const sending = caller.body(call, attachResultSchema, 'the fid of the file', signal);
    const result = await sending.catch((error: unknown) => {
      throw sized(error, file);
    });
    if (file.bytes >= (traits.get('tooLarge') ?? Number.POSITIVE_INFINITY)) traits.learn({ tooLarge: null });
    return { ...result, sha256 };
  };
};

/** True where a file, or the request that sends it, exceeds a limit of the portal. */
export const isTooLarge = (error: unknown): boolean => isAnswer(error, ...sizeSituations);

/** Where Drupal serves the schemes of files, below the portal's address. */
const served: Record<string, string> = { public: '/sites/default/files/', private: '/system/files/' };

/** Path of a file of the portal by its `uri`; null for a scheme that is not served, and for one that leads out of its folder. */
export const filePath = (uri: string): string | null => {
  const [, scheme = '', rest = ''] = /^(\w+):\/\/(.+)$/.exec(uri) ?? [];
  const base = Object.hasOwn(served, scheme) ? served[scheme] : undefined;
  const isOutside = rest.split('/').some((part) => part === '.' || part === '..');
  return base === undefined || isOutside ? null : base + rest.split('/').map(encodeURIComponent).join('/');
};

const oneBuffer = async (file: PortalFile) => {
  const content = await readFile(file.path).catch((error: unknown) => {
    throw missingSource(file.path, error);
  });
  if (content.length !== file.bytes) throw changed(file);
  const { head, tail, headers } = frame(file);
  return { body: Buffer.concat([head, content, tail]), headers, sha256: hash('sha256', content, 'hex') };
};

/** Read as it is sent, by the file's own chunks; the length is known beforehand. */
const streamed = async (file: PortalFile) => {
  const facts = await stat(file.path, { bigint: true }).catch((error: unknown) => {
    throw missingSource(file.path, error);
  });
  if (facts.size !== BigInt(file.bytes)) throw changed(file);
  const { head, tail, headers } = frame(file);
  const faults = { changed: () => changed(file), unreadable: (cause: unknown) => missingSource(file.path, cause) };
  const body = async function* (): AsyncGenerator<Buffer> {
    yield head;
    let sent = 0;
    for await (const chunk of fileChunks(file.path, facts, faults)) {
      yield chunk;
      sent += chunk.length; // the socket has taken it
      file.moved?.(sent, file.bytes);
    }
    yield tail;
  };
  return { body, headers, sha256: null };
};

/** What stands around the file's bytes: the text parts, the head of the file part, the last boundary. */
const frame = (file: PortalFile): { head: Buffer; tail: Buffer; headers: Record<string, string> } => {
  const boundary = `sluice-${randomBytes(18).toString('hex')}`;
  const textPart = (name: string, value: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const texts = textPart('attach', '0') + textPart('field_name', 'field_upload');
  // As browsers do (WHATWG HTML, multipart/form-data encoding).
  const name = file.name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const disposition = `Content-Disposition: form-data; name="files[1]"; filename="${name}"`;
  const type = `Content-Type: ${mediaType(file.contentType)}`;
  const head = Buffer.from(`${texts}--${boundary}\r\n${disposition}\r\n${type}\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const headers = {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(head.length + file.bytes + tail.length),
  };
  return { head, tail, headers };
};

const mediaType = (type: string): string =>
  /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.-]+)?$/.test(type) ? type : 'application/octet-stream';

const changed = (file: PortalFile): SourceChangedError =>
  new SourceChangedError(`${file.path} changed while it was being sent (it was ${file.bytes} bytes)`, {
    hint: 'the next attempt reads it again; publish a file only after its writer has finished',
  });

/**
 * The bytes of a file, in chunks whose memory is used again four chunks later: undici asks for the next one only when the
 * socket has taken the previous one. So memory stays flat, where fresh buffers would pile up some 60 MB until collected.
 * @param facts what `stat` said before; throws `changed()` when the file is another one at the end, before its last chunk.
 */
export async function* fileChunks(
  path: string,
  facts: BigIntStats,
  { changed, unreadable }: { changed: () => Error; unreadable: (cause: unknown) => Error },
): AsyncGenerator<Buffer> {
  const bytes = Number(facts.size);
  const handle = await open(path).catch(() => {
    throw changed();
  });
  try {
    const ring = Array.from({ length: 4 }, () => Buffer.allocUnsafeSlow(chunkBytes));
    for (let sent = 0, turn = 0; sent < bytes; turn = (turn + 1) % ring.length) {
      const buffer = ring[turn] ?? Buffer.allocUnsafeSlow(chunkBytes);
      const length = Math.min(chunkBytes, bytes - sent);
      const { bytesRead } = await handle.read(buffer, 0, length).catch((cause: unknown) => {
        throw unreadable(cause);
      });
      if (bytesRead === 0) throw changed();
      sent += bytesRead;
      if (sent === bytes && isOther(await handle.stat({ bigint: true }), facts)) throw changed();
      yield bytesRead === chunkBytes ? buffer : buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

const isOther = (now: BigIntStats, before: BigIntStats): boolean =>
  now.size !== before.size || now.mtimeNs !== before.mtimeNs || now.ino !== before.ino;

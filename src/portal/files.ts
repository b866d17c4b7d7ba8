// Uploads: the multipart body of attach_file, text parts before the file part.
import { randomBytes } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { FormData } from 'undici';
import { paths } from '../dkan/paths.ts';
import { PortalUnreachableError, SourceChangedError, SourceMissingError } from '../errors.ts';
import { attachResultSchema, bodyOf } from './replies.ts';
import type { Session } from './session.ts';

/** A local file to send. */
export interface PortalFile {
  /** Absolute path. */
  path: string;
  /** File name the portal shall see. */
  name: string;
  /** Size it must have; another size means that it changed meanwhile. */
  bytes: number;
  contentType: string;
}

/** Up to this size one hand-built buffer is quickest; above it memory must stay flat. */
const oneBufferBytes = 1024 * 1024;
/** The slowest upload that is still waited for, besides the time the reply may take. */
const slowestBytesPerMs = 256;

const textParts = { attach: '0', field_name: 'field_upload' } as const;
const filePart = 'files[1]';

/** The upload calls of one portal. */
export class Files {
  private readonly session: Session;
  private readonly timeouts: { headersMs: number; uploadMs: number };

  constructor(session: Session, timeouts: { headersMs: number; uploadMs: number }) {
    this.session = session;
    this.timeouts = timeouts;
  }

  /** See `Portal.attachFile`. */
  async attach(nid: string, file: PortalFile, signal: AbortSignal): Promise<{ fid: string | null }> {
    const { headersMs, uploadMs } = this.timeouts;
    // The portal may import the file before it answers, so a larger file is given longer.
    const patience = { headersMs: Math.min(uploadMs, headersMs + file.bytes / slowestBytesPerMs), totalMs: uploadMs };
    const body = file.bytes <= oneBufferBytes ? await oneBuffer(file) : await streamed(file);
    const call = { action: 'attach file', method: 'POST', path: paths.attachFile(nid), ...body, ...patience } as const;
    try {
      return bodyOf(
        await this.session.call(call, signal),
        attachResultSchema,
        this.session.portal,
        'the fid of the file',
      );
    } catch (error) {
      throw error instanceof PortalUnreachableError && isSourceFault(error.cause) ? changed(file, error) : error;
    }
  }
}

const oneBuffer = async (file: PortalFile): Promise<{ body: Buffer; headers: Record<string, string> }> => {
  const content = await readFile(file.path).catch((error: unknown) => {
    throw missing(file, error);
  });
  if (content.length !== file.bytes) throw changed(file);
  const boundary = `sluice-${randomBytes(18).toString('hex')}`;
  const head = Object.entries(textParts)
    .map(([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('');
  const disposition = `Content-Disposition: form-data; name="${filePart}"; filename="${escapeName(file.name)}"`;
  const type = `Content-Type: ${mediaType(file.contentType)}`;
  return {
    body: Buffer.concat([
      Buffer.from(`${head}--${boundary}\r\n${disposition}\r\n${type}\r\n\r\n`),
      content,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
};

/** undici reads the blob from disk as it sends, and knows its size beforehand (Content-Length). */
const streamed = async (file: PortalFile): Promise<{ body: FormData }> => {
  const blob = await opened(file);
  if (blob.size !== file.bytes) throw changed(file);
  const form = new FormData();
  for (const [name, value] of Object.entries(textParts)) form.append(name, value);
  form.append(filePart, blob, file.name);
  return { body: form };
};

const opened = async (file: PortalFile): Promise<Blob> => {
  try {
    return await openAsBlob(file.path, { type: mediaType(file.contentType) });
  } catch (error) {
    throw missing(file, error);
  }
};

/** As browsers do (WHATWG HTML, multipart/form-data encoding). */
const escapeName = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const mediaType = (type: string): string =>
  /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.-]+)?$/.test(type) ? type : 'application/octet-stream';

/** The blob notices that its file was modified; undici notices that fewer or more bytes came than announced. */
const isSourceFault = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'NotReadableError' || ('code' in error && error.code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'));

const changed = (file: PortalFile, cause?: unknown): SourceChangedError =>
  new SourceChangedError(`${file.path} changed while it was being sent (it was ${file.bytes} bytes)`, {
    hint: 'it is read afresh by the next attempt; publish a file only when its writer is done',
    ...(cause === undefined ? {} : { cause }),
  });

const missing = (file: PortalFile, cause: unknown): SourceMissingError =>
  new SourceMissingError(`${file.path} cannot be read`, {
    hint: 'check that the file exists and that sluice may read it',
    cause,
  });

// Reads multipart/form-data: text parts into a tree, file parts straight to disk.
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { Refusal } from '../refusal.ts';
import type { Store } from '../store/open.ts';
import { treeOf } from './form.ts';
import { MalformedBody } from './value.ts';

/** A file part, complete and durable on disk. Whoever keeps the bytes sets `path` to null, or they are removed. */
export interface UploadedFile {
  /** Name of the part, such as `files[1]`. */
  part: string;
  /** File name as sent; empty when the form had a file field without a file. */
  filename: string;
  /** Where the bytes lie; null when they were not kept, or have an owner now. The last part is a random UUID. */
  path: string | null;
  bytes: number;
  sha256: string;
}

interface MultipartOptions {
  store: Store;
  /** Largest file, bytes; more is 413. */
  fileBytes: number;
  /** False: file parts are read and thrown away (the caller may not store anything). */
  keepFiles: boolean;
}

const limits = { fieldNameSize: 1000, fieldSize: 1_000_000, fields: 5000, files: 20, parts: 5020, headerPairs: 50 };

/** Resolves when the bytes and the name of the file are durable; without a path they are only counted. */
const keep = async (stream: Readable, path: string | null, store: Store) => {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* noted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const sink =
    path === null
      ? new Writable({ write: (_chunk, _encoding, done) => done() })
      : createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(stream, noted, sink);
  if (path !== null) store.syncFiles();
  return { bytes, sha256: hash.digest('hex') };
};

const tooLarge = (bytes: number): Refusal => new Refusal(413, `The file is larger than ${bytes} bytes.`);

/** Stores bytes that came in another way than as a part of a form, as a part would be. Throws a {@link Refusal} (413). */
export const keepBytes = async (
  { part, filename, bytes }: { part: string; filename: string; bytes: Buffer },
  { store, fileBytes }: Omit<MultipartOptions, 'keepFiles'>,
): Promise<UploadedFile> => {
  if (bytes.length > fileBytes) throw tooLarge(fileBytes);
  const path = join(store.filesDir, randomUUID());
  try {
    return { part, filename, path, ...(await keep(Readable.from([bytes]), path, store)) };
  } catch (error) {
    await rm(path, { force: true }); // none is there when it could not even be made
    throw error;
  }
};

export const discard = async (files: UploadedFile[]): Promise<void> => {
  await Promise.all(files.map(({ path }) => (path === null ? null : rm(path, { force: true }))));
};

/** A body that does not have to be read on tells why by `fail`. */
const openParser = (request: IncomingMessage, { fileBytes }: MultipartOptions, fail: (error: Error) => void) => {
  let busboy: BusboyInstance;
  try {
    // The caller has seen a content-type header that starts with multipart/form-data.
    busboy = new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: { ...limits, fileSize: fileBytes },
      isPartAFile: (_name, _type, filename) => filename !== undefined,
    });
  } catch (error) {
    throw new MalformedBody((error as Error).message);
  }
  for (const what of ['parts', 'files', 'fields'] as const) {
    busboy.on(`${what}Limit`, () => fail(new Refusal(413, `The form has too many ${what}.`)));
  }
  busboy.on('error', (error) => fail(new MalformedBody((error as Error).message)));
  request.on('error', fail);
  request.on('close', () => {
    if (!request.complete) fail(new MalformedBody('the body is cut short'));
  });
  return busboy;
};

/** Reads a multipart body; files stream to the store, durable. Throws MalformedBody or a Refusal (413), and leaves none there. */
export const readMultipart = async (request: IncomingMessage, options: MultipartOptions) => {
  const { store, keepFiles, fileBytes } = options;
  const pairs: [string, string][] = [];
  const files: UploadedFile[] = [];
  const streams: Readable[] = [];
  const work: Promise<void>[] = [];
  const { promise: parsed, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error): void => {
    request.unpipe(busboy);
    request.resume();
    for (const stream of streams) stream.destroy(error);
    reject(error);
  };
  const busboy = openParser(request, options, fail);
  busboy.on('finish', () => resolve());
  busboy.on('field', (name, value, nameTruncated, valueTruncated) => {
    if (nameTruncated || valueTruncated) fail(new Refusal(413, 'A field of the form is too long.'));
    else pairs.push([name, value]);
  });
  busboy.on('file', (part = '', stream, filename = '') => {
    stream.once('limit', () => fail(tooLarge(fileBytes)));
    // Busboy reports a body that is cut short on the part, possibly before it is read.
    stream.on('error', (error) => stream.destroy(error));
    streams.push(stream);
    const path = keepFiles && filename !== '' ? join(store.filesDir, randomUUID()) : null;
    const entry: UploadedFile = { part, filename, path, bytes: 0, sha256: '' };
    files.push(entry);
    const reading = keep(stream, path, store);
    // A part that cannot be stored ends the body: the rest of it would not be read.
    reading.catch((error: unknown) => fail(error as Error));
    work.push(reading.then((facts) => void Object.assign(entry, facts)));
  });
  try {
    request.pipe(busboy);
    await parsed;
    await Promise.all(work);
    return { value: treeOf(pairs), files };
  } catch (error) {
    await Promise.allSettled(work);
    await discard(files);
    throw error;
  }
};

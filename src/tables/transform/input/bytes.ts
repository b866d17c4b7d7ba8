// The bytes of a source: unpacked from gzip, guarded against compression bombs, and decoded.
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { TableFaultError, TableInputError } from '../../../model/errors.ts';
import type { Cancellable } from '../../../util/worker-pool.ts';
import { decoderOf, markedEncoding } from '../../scan/encodings.ts';
import { fileChunks } from '../../scan/open-table.ts';
import { damaged, freeBytes, type Limits, mostGrowth, tooLarge } from '../row.ts';

/** Chunks that can be read more than once. */
export type Bytes = () => AsyncIterable<Buffer>;

/** Refuses compression bombs; to be told of bytes that were unpacked, and how many compressed ones were read so far. */
export const bombGuard = (what: string, limits: Limits): ((bytes: number, compressed: number) => void) => {
  let out = 0;
  return (bytes, compressed) => {
    out += bytes;
    if (out > limits.tableBytes) throw tooLarge(what, limits);
    if (out <= freeBytes || out <= compressed * mostGrowth) return;
    throw new TableInputError(
      `${what} expands to more than ${mostGrowth} times its size: it looks like a compression bomb`,
      { hint: 'publish the table itself, not an archive of it' },
    );
  };
};

/** The bytes of a file, unpacked when its name ends with `.gz`. */
export const fileBytes = (path: string, name: string, bounds: Cancellable<{ limits: Limits }>): Bytes =>
  /\.gz$/i.test(name) ? () => gunzipped(path, bounds) : () => Readable.from(fileChunks(path, bounds.cancelled));

async function* gunzipped(
  path: string,
  { limits, cancelled }: Cancellable<{ limits: Limits }>,
): AsyncGenerator<Buffer> {
  const what = basename(path);
  const guard = bombGuard(what, limits);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const compressed = Readable.from(fileChunks(path, cancelled));
  compressed.on('error', (error) => gunzip.destroy(error));
  compressed.pipe(gunzip);
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      guard(chunk.length, gunzip.bytesWritten);
      yield chunk;
    }
  } catch (error) {
    const isBroken = error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
    throw isBroken ? damaged(what, error) : error;
  } finally {
    compressed.destroy();
    gunzip.destroy();
  }
}

/** The text of `bytes` in pieces: UTF-8, or what a byte order mark names. Throws a TableFaultError at bytes that are no text. */
export async function* decoded(bytes: Bytes): AsyncGenerator<string> {
  let encoding = 'UTF-8';
  let decoder: ReturnType<typeof decoderOf> | null = null;
  let line = 1;
  const decode = (chunk?: Buffer): string => {
    try {
      return decoder?.decode(chunk, { stream: chunk !== undefined }) ?? '';
    } catch {
      throw invalidText(encoding, line + newlinesIn(decoderOf(encoding).decode(chunk).split('\ufffd')[0] ?? ''));
    }
  };
  for await (const chunk of bytes()) {
    if (decoder === null) {
      encoding = markedEncoding(chunk) ?? encoding;
      decoder = decoderOf(encoding, { fatal: true });
    }
    const text = decode(chunk);
    line += newlinesIn(text);
    if (text !== '') yield text;
  }
  const rest = decode();
  if (rest !== '') yield rest;
}

const newlinesIn = (text: string): number => text.split('\n').length - 1;

export const invalidText = (
  encoding: string,
  line: number,
  hint = encoding === 'UTF-8'
    ? 'save the file as UTF-8, or set its encoding, such as `encoding: windows-1252`'
    : 'set the right one with `encoding`',
): TableFaultError =>
  new TableFaultError(`the text is not valid ${encoding.toUpperCase()}`, { code: 'table-encoding', line }, { hint });

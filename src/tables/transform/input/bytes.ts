// The bytes of a source: unpacked from gzip, guarded against compression bombs, and decoded.
import { basename } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { TableFaultError } from '../../../model/errors.ts';
import type { CancelFlag } from '../../../util/worker-pool.ts';
import { type ByteDecoder, decoderOf, markedEncoding } from '../../scan/encodings.ts';
import { fileChunks } from '../../scan/open-table.ts';
import { bomb, damaged, type Limits, tooLarge } from '../row.ts';

/** Chunks that can be read more than once. */
export type Bytes = () => AsyncIterable<Buffer>;

/** Counts unpacked bytes and refuses compression bombs. */
export class BombGuard {
  readonly #what: string;
  readonly #limits: Limits;
  #out = 0;

  constructor(what: string, limits: Limits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** `compressed`: compressed bytes that were read so far. */
  count(bytes: number, compressed: number): void {
    this.#out += bytes;
    if (this.#out > this.#limits.bytes) throw tooLarge(this.#what, this.#limits);
    if (this.#out > this.#limits.freeBytes && this.#out > compressed * this.#limits.ratio) {
      throw bomb(this.#what, this.#limits);
    }
  }
}

/** The bytes of a file, unpacked when its name ends with `.gz`. */
export const fileBytes = (
  path: string,
  name: string,
  { limits, cancelled }: { limits: Limits; cancelled: CancelFlag },
): Bytes => {
  if (!/\.gz$/i.test(name)) return () => Readable.from(fileChunks(path, cancelled));
  return () => gunzipped(path, { limits, cancelled });
};

async function* gunzipped(
  path: string,
  { limits, cancelled }: { limits: Limits; cancelled: CancelFlag },
): AsyncGenerator<Buffer> {
  const what = basename(path);
  const guard = new BombGuard(what, limits);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const compressed = Readable.from(fileChunks(path, cancelled));
  compressed.on('error', (error) => gunzip.destroy(error));
  compressed.pipe(gunzip);
  try {
    yield* counted(gunzip, guard);
  } catch (error) {
    throw isZlibFault(error) ? damaged(what, error) : error;
  } finally {
    compressed.destroy();
    gunzip.destroy();
  }
}

async function* counted(gunzip: Transform & { bytesWritten: number }, guard: BombGuard): AsyncGenerator<Buffer> {
  for await (const chunk of gunzip as AsyncIterable<Buffer>) {
    guard.count(chunk.length, gunzip.bytesWritten);
    yield chunk;
  }
}

const isZlibFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));

/** The text of `bytes` in pieces: UTF-8, or what a byte order mark names. Throws a TableFaultError at bytes that are no text. */
export async function* decoded(bytes: Bytes): AsyncGenerator<string> {
  let encoding = 'utf-8';
  let decoder: ByteDecoder | null = null;
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
  hint = encoding === 'utf-8'
    ? 'save the file as UTF-8, or set its encoding, such as `encoding: windows-1252`'
    : 'set the right one with `encoding`',
): TableFaultError =>
  new TableFaultError(`the text is not valid ${encoding.toUpperCase()}`, { code: 'table-encoding', line }, { hint });

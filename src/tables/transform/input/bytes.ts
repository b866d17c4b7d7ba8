// The bytes of a source: unpacked from gzip, guarded against compression bombs, and decoded from a named encoding.
import { basename } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { TableFaultError } from '../../../model/errors.ts';
import type { CancelFlag } from '../../../util/worker-pool.ts';
import { EncodingWatch, encodingHint } from '../../inspect/encoding.ts';
import { type ByteDecoder, decoderOf, hasBom, markedEncoding, Utf8Check } from '../../scan/encodings.ts';
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

/** True for what zlib throws at damaged bytes. */
const isZlibFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));

/**
 * The text of `bytes` in pieces. `encoding` null: UTF-8, or what a byte order mark names.
 *
 * @throws TableFaultError (`table-encoding`) with the line of the first byte that cannot be read
 */
export async function* decoded(bytes: Bytes, encoding: string | null): AsyncGenerator<string> {
  let decoder: ByteDecoder | null = null;
  let name = '';
  let lines = 1;
  for await (const chunk of bytes()) {
    if (decoder === null) {
      name = markedEncoding(chunk) ?? encoding ?? 'utf-8';
      decoder = decoderOf(name, { fatal: true });
    }
    const text = decodeOr(decoder, chunk, () => unreadable(name, chunk, lines));
    lines += newlinesIn(text);
    if (text !== '') yield text;
  }
  const rest = decoder === null ? '' : decodeOr(decoder, null, () => invalidText(name, lines));
  if (rest !== '') yield rest;
}

/**
 * The bytes of text in UTF-8, without a byte order mark. `encoding` null: UTF-8, or what a byte order mark names.
 *
 * @throws TableFaultError (`table-encoding`) with the line of the first byte that cannot be read
 */
export async function* utf8Bytes(bytes: Bytes, encoding: string | null): AsyncGenerator<Buffer> {
  let name: string | null = null;
  const check = new Utf8Check();
  for await (const chunk of bytes()) {
    const isFirst = name === null;
    name ??= markedEncoding(chunk) ?? encoding ?? 'utf-8';
    if (name !== 'utf-8') break;
    const bad = check.feed(chunk);
    if (bad >= 0) throw await notUtf8(bytes, bad);
    yield isFirst && hasBom(chunk) ? chunk.subarray(3) : chunk;
  }
  const cut = check.end();
  if (cut >= 0) throw await notUtf8(bytes, cut);
  if (name !== null && name !== 'utf-8') for await (const text of decoded(bytes, name)) yield Buffer.from(text);
}

/** The fault of text that is not UTF-8 from byte `bad` on, with the encodings that it may be in. */
const notUtf8 = async (bytes: Bytes, bad: number): Promise<TableFaultError> => {
  const watch = new EncodingWatch();
  let [line, seen] = [1, 0];
  for await (const chunk of bytes()) {
    watch.feed(chunk);
    line += newlinesIn(chunk.toString('latin1', 0, Math.max(0, bad - seen)));
    seen += chunk.length;
  }
  return invalidText('utf-8', line, watch.bad === 0 ? undefined : encodingHint(watch.verdict()));
};

const decodeOr = (decoder: ByteDecoder, chunk: Buffer | null, fault: () => TableFaultError): string => {
  try {
    return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw fault();
  }
};

/** How many lines end in a text. */
const newlinesIn = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
};

const unreadable = (encoding: string, chunk: Buffer, linesBefore: number): TableFaultError => {
  const lossy = decoderOf(encoding).decode(chunk);
  const at = lossy.indexOf('\ufffd');
  return invalidText(encoding, linesBefore + newlinesIn(lossy.slice(0, Math.max(0, at))));
};

const invalidText = (
  encoding: string,
  line: number,
  hint = encoding === 'utf-8'
    ? 'save the file as UTF-8, or set its encoding, such as `encoding: windows-1252`'
    : 'set the right one with `encoding`',
): TableFaultError =>
  new TableFaultError(`the text is not valid ${encoding.toUpperCase()}`, { code: 'table-encoding', line }, { hint });

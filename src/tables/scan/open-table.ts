// Opens a file as the bytes of a table in UTF-8: tells what is no table, decodes other encodings, skips leading lines.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { extensionOf, kindOfBytes } from '../../dataset-api/file-types.ts';
import { readFlags } from '../../util/file-calls.ts';
import { type CancelFlag, throwIfCancelled } from '../../util/worker-pool.ts';
import { decoderOf, hasBom, markedEncoding, sniffBytes, wideOf } from './encodings.ts';
import { findLayout, type Layout } from './layout.ts';

const chunkBytes = 256 * 1024;

interface ChunkOptions {
  /** Read every chunk into the same memory: each must be done with before the next is requested. */
  reuse?: boolean;
}

/** Yields the bytes of a file in buffers of up to 256 KB; throws a CancelledError when the flag is raised. */
export function* fileChunks(path: string, cancelled: CancelFlag, options: ChunkOptions = {}): Generator<Buffer> {
  const fd = openSync(path, readFlags);
  try {
    const stats = fstatSync(fd);
    // Reading a pipe could block forever; the system itself refuses to read a folder.
    if (!stats.isFile() && !stats.isDirectory())
      throw Object.assign(new Error('not a regular file'), { code: 'ENXIO', syscall: 'open' });
    // One byte more than a small file has, so that the second read finds the end without a large buffer.
    const size = Math.min(chunkBytes, stats.size + 1);
    const same = options.reuse === true ? Buffer.allocUnsafeSlow(size) : null;
    for (;;) {
      throwIfCancelled(cancelled);
      const chunk = same ?? Buffer.allocUnsafeSlow(size);
      const bytes = readSync(fd, chunk, 0, size, null);
      if (bytes === 0) return;
      yield chunk.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}

const archive = 'a ZIP archive or an Excel workbook (.xlsx)';

/** Kinds of files that are no table of text, in words. */
const kinds: Readonly<Record<string, string>> = {
  ...{ zip: archive, xlsx: archive, ods: archive, docx: archive, pdf: 'a PDF document', gz: 'a gzip archive' },
  ...{ html: 'a web page', xml: 'an XML document', json: 'JSON' },
  xls: 'an old Excel workbook (.xls), or one with a password',
};

/** What a file is that begins with these bytes; null when it may be a table. */
export const signatureOf = (head: Buffer): string | null => {
  if (head.toString('latin1', 0, 50).startsWith('version https://git-lfs.github.com/spec/'))
    return 'a Git LFS pointer, which only names a file';
  return kinds[extensionOf(`.${kindOfBytes(head) ?? ''}`)] ?? null;
};

export interface OpenTable {
  signature: string | null;
  bom: boolean;
  decodedFrom: string | null;
  layout: Layout;
  /** Where lines were to be skipped: how many, and the skipper that has them. They are no part of {@link chunks}. */
  skipped: { lines: number; skipper: LineSkipper } | null;
  /** The bytes without a byte order mark; each chunk only until the next is requested. */
  chunks: Generator<Buffer>;
}

interface OpenOptions {
  path: string;
  delimiter?: string | undefined;
  /** The encoding, a name that `encodingNamed` knows, where it was given; UTF-8 and UTF-16 are seen. */
  encoding?: string | undefined;
  /** A byte order mark counts more than that. */
  trustsMark?: boolean;
  /** Lines above the header, where given; 0: the first line is the header. */
  skipRows?: number | undefined;
  /** Throw a TypeError at bytes that are invalid in that encoding. */
  fatal?: boolean;
  cancelled: CancelFlag;
  onBytes?: (bytes: Buffer) => void;
}

function* rawChunks({ path, cancelled, onBytes }: OpenOptions): Generator<Buffer> {
  for (const chunk of fileChunks(path, cancelled, { reuse: true })) {
    onBytes?.(chunk);
    yield chunk;
  }
}

/** The first chunk, which was inspected already, and those after it. */
function* following(first: Buffer, rest: Generator<Buffer>): Generator<Buffer> {
  if (first.length > 0) yield first;
  yield* rest;
}

function* decoded(chunks: Iterable<Buffer>, encoding: string, fatal: boolean): Generator<Buffer> {
  const decoder = decoderOf(encoding, { fatal });
  for (const chunk of chunks) {
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch (error) {
      yield Buffer.from(decoderOf(encoding).decode(chunk).split('\ufffd')[0] ?? ''); // up to the bytes at fault
      throw error;
    }
    yield Buffer.from(text);
  }
  const last = decoder.decode();
  if (last !== '') yield Buffer.from(last);
}

function* withoutLines(chunks: Generator<Buffer>, skipper: LineSkipper): Generator<Buffer> {
  for (const chunk of chunks) {
    const rest = skipper.rest(chunk);
    if (rest.length > 0) yield rest;
  }
}

/** Opens a file; throws the system's error when it cannot be read. `chunks` must be read or returned to close it. */
export const openTable = (options: OpenOptions): OpenTable => {
  const raw = rawChunks(options);
  const head = raw.next().value ?? Buffer.alloc(0);
  const whole = head.length < sniffBytes;
  const skipped =
    options.skipRows === undefined ? null : { lines: options.skipRows, skipper: new LineSkipper(options.skipRows) };
  const given = options.trustsMark && markedEncoding(head) !== null ? undefined : options.encoding;
  const wide = given === undefined ? wideOf(head) : { encoding: given, marked: false };
  const decodedFrom = wide?.encoding ?? null;
  const isDecoded = wide !== null && wide.encoding !== 'UTF-32';
  const bom = isDecoded ? wide.marked : hasBom(head);
  const text = isDecoded
    ? decoded(following(head, raw), wide.encoding, options.fatal ?? false)
    : following(head.subarray(bom ? 3 : 0), raw);
  const chunks = skipped === null ? text : withoutLines(text, skipped.skipper);
  const first = chunks.next().value ?? Buffer.alloc(0);
  const known = { delimiter: options.delimiter, isHeader: skipped !== null };
  const layout = findLayout(first.subarray(0, sniffBytes), whole, known);
  return { signature: signatureOf(head), bom, decodedFrom, layout, skipped, chunks: following(first, chunks) };
};

const lf = 10;
const cr = 13;

const mostKept = 64 * 1024;

/** Takes a text piece by piece and leaves its first lines out. */
export class LineSkipper {
  /** Bytes that were left out, and the first of them. */
  bytes = 0;
  kept: Buffer = Buffer.alloc(0);
  #left: number;
  /** A line ended with CR at the end of a piece; an LF at the start of the next one belongs to it. */
  #afterReturn = false;

  constructor(count: number) {
    this.#left = count;
  }

  rest(piece: Buffer): Buffer {
    let at = this.#afterReturn && piece[0] === lf ? 1 : 0;
    this.#afterReturn = false;
    for (; this.#left > 0 && at < piece.length; at++) {
      const byte = piece[at];
      if (byte !== lf && byte !== cr) continue;
      this.#left--;
      if (byte === cr && piece[at + 1] === lf) at++;
      this.#afterReturn = byte === cr && at + 1 === piece.length;
    }
    this.bytes += at;
    if (at > 0 && this.kept.length < mostKept) this.kept = Buffer.concat([this.kept, piece.subarray(0, at)]);
    return piece.subarray(at);
  }
}

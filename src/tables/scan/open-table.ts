// Opens a file as the bytes of a table in UTF-8: tells what is no table, decodes other encodings, skips leading lines.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { extensionOf, kindOfBytes } from '../../dataset-api/file-types.ts';
import { readFlags } from '../../util/files.ts';
import { type CancelFlag, throwIfCancelled } from '../../util/worker-pool.ts';
import { CellScanner } from './cell-scanner.ts';
import type { GivenReading } from './dialect.ts';
import { decoderOf, hasBom, markedEncoding, sniffBytes, wideOf } from './encodings.ts';
import { findLayout, type Layout } from './layout.ts';

const chunkBytes = 256 * 1024;

interface ChunkOptions {
  /** Read every chunk into the same memory: each must be done with before the next is requested. */
  reuse?: boolean;
  from?: number;
  most?: number;
  onBytes?: ((bytes: Buffer) => void) | undefined;
}

/** Yields the bytes of a file in buffers of up to 256 KB; throws a CancelledError when the flag is raised. */
export function* fileChunks(
  path: string,
  cancelled: CancelFlag,
  { reuse = false, from = 0, most = chunkBytes, onBytes }: ChunkOptions = {},
): Generator<Buffer> {
  const fd = openSync(path, readFlags);
  try {
    const stats = fstatSync(fd);
    // Reading a pipe could block forever; the system itself refuses to read a folder.
    if (!stats.isFile() && !stats.isDirectory())
      throw Object.assign(new Error('not a regular file'), { code: 'ENXIO', syscall: 'open' });
    // One byte more than a small file has, so that the second read finds the end without a large buffer.
    const size = Math.min(most, stats.size + 1);
    const same = reuse ? Buffer.allocUnsafeSlow(size) : null;
    for (let [at, bytes] = [from, 0]; ; at += bytes) {
      throwIfCancelled(cancelled);
      const chunk = same ?? Buffer.allocUnsafeSlow(size);
      bytes = readSync(fd, chunk, 0, size, at);
      if (bytes === 0) return;
      onBytes?.(chunk.subarray(0, bytes));
      yield chunk.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}

const archive = 'a ZIP archive or an Excel workbook (.xlsx)';

/** Kinds of files that are no table of text, in words. */
const kinds: Readonly<Record<string, string>> = {
  zip: archive,
  xlsx: archive,
  ods: archive,
  docx: archive,
  pdf: 'a PDF document',
  gz: 'a gzip archive',
  html: 'a web page',
  xml: 'an XML document',
  json: 'JSON',
  xls: 'an old Excel workbook (.xls), or one with a password',
};

/** How files of other kinds begin, one character a byte. */
const beginnings: [RegExp, string][] = [
  [/^version https:\/\/git-lfs\.github\.com\/spec\//, 'a Git LFS pointer, which only names a file'],
  [/^(?:(?:PAR|ARROW)1[^\s\w,;|"]|SQLite format 3)/, 'a database (Parquet, Arrow or SQLite)'],
  [/^(?:\x89PNG|GIF8[79]a|\xff\xd8\xff|\{\\rtf)/, 'an image or a document'],
  [/^(?:BEGIN:V|- \w+:.*\r?\n {2}\w+:|\[\w+\]\r?\n\w+ ?=)/, 'an address book, a calendar, or settings'],
  [/^(?:-----BEGIN |(?:> .*\r?\n){2}|HTTP\/\d|--\S+\r?\nContent-)/, 'a message as it was sent'],
  [/^[\w+/]{76}\r?\n[\w+/]+=*\r?\n/, 'a message in Base64'],
  [/^(?:diff --git |@@ -|COPY .* FROM stdin;|\*+ 1\. row \*)/, 'what a program prints for another one'],
  [/^(?:\+-[-+]+\+\s|\xe2\x94\x8c\xe2\x94\x80)/, 'a table that is drawn for people'],
  [/^(?:\{\||\|\||\|.*\|\s*\n\|[-+|: ]+\|)/, 'a table in the markup of a wiki'],
  [/^(?:1: ?.*\n2: ?.*\n3:| +1\t.*\n +2\t|([\w./-]+\.\w{2,4}):.*\n\1:)/, 'lines with their numbers or files'],
  [/^(?:\[\d{4}-\d\d-\d\d[ T][\d:.,]+\S*\] |\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: )/, 'a log'],
  [/^(?:# A tibble: |Rows: \d+\r?\nCol|'data\.frame':|shape: \(\d| .*\r?\n ?Min\. *:)/, 'what R or Python prints'],
  [/^(?:[^"\n]*& [^"\n]*\\\\\s*(?:\\hline\s*)?\n|\s*\\(?:begin\{|document|\w+rule|hline))/, 'a table in LaTeX'],
  [/^"?TOA5"?,/, 'what a data logger writes, with four lines above the rows'],
  [/^(?:(?:[^{}\n]+\{\s*[a-z-]+ ?:[^{}]*\}\s*?\n){2}|[^"\n]*\w[^"\n]*[[{]\r?\n)/, 'a style sheet or a program'],
  [
    /^(?:#!\/|<\?php|#include |(?:import|package|using) [\w.*]+;\s|(?:const|let|var|int) \w+(?: ?=[^;]*)?;\s)/,
    'a program',
  ],
];

/** What a file is that begins with these bytes; null when it may be a table. */
export const signatureOf = (head: Buffer): string | null => {
  const text = head.toString('latin1', 0, 400).replace(/^\xef\xbb\xbf/, '');
  const found = beginnings.find(([begin]) => begin.test(text));
  return found?.[1] ?? kinds[extensionOf(`.${kindOfBytes(head) ?? ''}`)] ?? null;
};

export interface OpenTable {
  signature: string | null;
  bom: boolean;
  decodedFrom: string | null;
  layout: Layout;
  /** Where lines were to be skipped. */
  skipped: SkippedLines | null;
  /** The bytes without a byte order mark and skipped lines; each chunk only until the next is requested. */
  chunks: Generator<Buffer>;
  [Symbol.dispose](): void;
}

interface OpenOptions extends GivenReading, Pick<ChunkOptions, 'onBytes'> {
  path: string;
  /** A byte order mark counts more than the encoding. */
  trustsMark?: boolean;
  /** Throw a TypeError at bytes that are invalid in that encoding. */
  fatal?: boolean;
  cancelled: CancelFlag;
}

/** The first chunk, which was inspected already, and those after it. */
function* following(first: Buffer, rest: Iterable<Buffer>): Generator<Buffer> {
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

interface SkippedLines {
  lines: number;
  /** How many bytes they have so far, and the first of these. */
  bytes: number;
  kept: Buffer;
}

const [lf, cr] = [10, 13];

/** Leaves the first lines of a text out, which `skipped` counts and keeps. */
function* withoutLines(chunks: Iterable<Buffer>, skipped: SkippedLines): Generator<Buffer> {
  let left = skipped.lines;
  let last: number | undefined;
  for (const chunk of chunks) {
    let at = 0;
    // An LF behind a CR is a part of the same line end, also where it begins the next chunk.
    for (; at < chunk.length && (left > 0 || (last === cr && chunk[at] === lf)); at++) {
      if (chunk[at] === cr || (chunk[at] === lf && last !== cr)) left--;
      last = chunk[at];
    }
    skipped.bytes += at;
    if (at > 0 && skipped.kept.length < sniffBytes) skipped.kept = Buffer.concat([skipped.kept, chunk.subarray(0, at)]);
    if (at === chunk.length) continue;
    last = undefined;
    yield chunk.subarray(at);
  }
}

/** Opens a file, which the caller closes; throws the system's error when it cannot be read. */
export const openTable = (options: OpenOptions): OpenTable => {
  const raw = fileChunks(options.path, options.cancelled, { reuse: true, onBytes: options.onBytes });
  try {
    return opened(raw, options);
  } catch (error) {
    raw.return(undefined);
    throw error;
  }
};

const opened = (raw: Generator<Buffer>, options: OpenOptions): OpenTable => {
  const head = raw.next().value ?? Buffer.alloc(0);
  const whole = head.length < sniffBytes;
  const { skipRows: lines } = options;
  const skipped = lines === undefined ? null : { lines, bytes: 0, kept: Buffer.alloc(0) };
  const given = options.trustsMark && markedEncoding(head) !== null ? undefined : options.encoding;
  const wide = given === undefined ? wideOf(head) : { encoding: given, marked: false };
  const decodedFrom = wide?.encoding ?? null;
  const isDecoded = wide !== null && wide.encoding !== 'UTF-32';
  const bom = isDecoded ? wide.marked : hasBom(head);
  const text = isDecoded
    ? decoded(following(head, raw), wide.encoding, options.fatal ?? false)
    : following(head.subarray(bom ? 3 : 0), raw);
  const chunks = skipped === null ? text : withoutLines(text, skipped);
  const first = chunks.next().value ?? Buffer.alloc(0);
  const known = { delimiter: options.delimiter, isHeader: skipped !== null };
  const layout = findLayout(first.subarray(0, sniffBytes), whole, known);
  return {
    signature: signatureOf(head),
    bom,
    decodedFrom,
    layout,
    skipped,
    chunks: following(first, chunks),
    [Symbol.dispose]: () => void raw.return(undefined),
  };
};

/** A scanner for the rows of an opened file, whose places are those of the file. */
export const scannerOf = (
  { layout, bom, decodedFrom, skipped }: Pick<OpenTable, 'layout' | 'bom' | 'decodedFrom' | 'skipped'>,
  rowBytes: number,
): CellScanner => {
  const scanner = new CellScanner(layout.dialect, rowBytes);
  scanner.beginBelow((skipped?.bytes ?? 0) + (bom && decodedFrom === null ? 3 : 0), skipped?.lines ?? 0);
  return scanner;
};

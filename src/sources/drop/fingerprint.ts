// Fingerprint of a local file: "did it change since we last saw it?".
import { createHash, hash as hashOf } from 'node:crypto';
import { type BigIntStats, statSync } from 'node:fs';
import { kindBytes, kindOfBytes } from '../../dataset-api/file-kinds.ts';
import { missingSource, SourceChangedError, SourceRefusedError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import {
  closeFile,
  isSmall,
  openFile,
  readFile,
  readFlags,
  readSmall,
  smallBytes,
  statFile,
  statPath,
} from '../../util/file-calls.ts';

/** A hash is trusted without reading again when it was made at least this long (ms) after the file last changed. */
const quietMs = 2000;

const chunkBytes = 1024 * 1024;

/** The stat facts of a fingerprint; equal facts of a file that was quiet for {@link quietMs} mean equal bytes. */
export type StatFacts = Pick<SourceFingerprint, 'bytes' | 'mtimeNs' | 'ctimeNs' | 'ino'>;

/** Takes the facts that a fingerprint keeps from bigint stats. */
export const factsOf = (stats: BigIntStats): StatFacts => ({
  bytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
  ctimeNs: String(stats.ctimeNs),
  ino: String(stats.ino),
});

/** True when nothing that stat shows has moved between the two. */
export const sameFacts = (a: StatFacts, b: StatFacts): boolean =>
  a.bytes === b.bytes && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;

const wasQuiet = (known: SourceFingerprint): boolean => {
  const changedNs = BigInt(known.mtimeNs) > BigInt(known.ctimeNs) ? BigInt(known.mtimeNs) : BigInt(known.ctimeNs);
  return BigInt(known.hashedAt - quietMs) * 1_000_000n >= changedNs;
};

const regular = (path: string, stats: BigIntStats): StatFacts => {
  if (stats.isFile()) return factsOf(stats);
  throw new SourceRefusedError(`${path} is not a regular file`, {
    hint: 'use a file, not a folder, pipe or device',
  });
};

const statRegular = async (path: string): Promise<StatFacts> => {
  const stats = await statPath(path, { bigint: true }).catch((cause) => {
    throw missingSource(path, cause);
  });
  return regular(path, stats);
};

/** Of the first `bytes` bytes, or of all when there are fewer; the caller checks whether that is the whole file. */
const hashFile = async (
  read: (chunk: Buffer, most: number) => Promise<{ bytesRead: number }>,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<Content> => {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.max(1, Math.min(bytes, chunkBytes)));
  let kind: string | null = null;
  for (let left = bytes; left > 0; ) {
    signal?.throwIfAborted();
    const { bytesRead } = await read(chunk, Math.min(chunk.length, left));
    if (bytesRead === 0) break;
    const content = chunk.subarray(0, bytesRead);
    if (left === bytes) kind = kindOfBytes(content);
    hash.update(content);
    left -= bytesRead;
  }
  return { sha256: hash.digest('hex'), ...withKind(kind) };
};

const withKind = (kind: string | null): Pick<Content, 'kind'> => (kind === null ? {} : { kind });

/** What the first bytes of a file show it to be, as {@link kindOfBytes}. */
export const kindOfFile = async (path: string): Promise<string | null> => {
  const file = await openFile(path, readFlags);
  try {
    const head = Buffer.alloc(2 * kindBytes);
    const { bytesRead } = await readFile(file, head, 0, head.length, 0);
    return kindOfBytes(head.subarray(0, bytesRead));
  } finally {
    await closeFile(file);
  }
};

/**
 * Fingerprint of the file at `path` (symbolic links are followed). No byte is read when its stat facts equal `known` and
 * `known` was hashed at least {@link quietMs} after both mtime and ctime; `known` itself is returned then. Otherwise the
 * sha256 is made of a stream, with memory for one chunk, and the facts are compared before and after.
 *
 * @throws SourceMissingError when it does not exist or cannot be read
 * @throws SourceRefusedError when it is no regular file
 * @throws SourceChangedError when it moved while it was read
 */
export const fingerprintFile = async (
  path: string,
  known: SourceFingerprint | null,
  signal?: AbortSignal,
): Promise<SourceFingerprint> => {
  signal?.throwIfAborted();
  const before = await statRegular(path);
  if (known !== null && sameFacts(before, known) && wasQuiet(known)) return known;
  const hashedAt = Date.now();
  const { content, read, after } = isSmall(before.bytes)
    ? readAtOnce(path, before.bytes)
    : await readOnTheSide(path, before.bytes, signal);
  if (!sameFacts(before, read) || !sameFacts(before, after)) {
    throw new SourceChangedError(`${path} changed while it was being read`, {
      hint: 'sluice reads it again once its writer is done',
    });
  }
  return { ...after, ...content, hashedAt };
};

type Content = Pick<SourceFingerprint, 'sha256' | 'kind'>;

/** What was read, and what was true of the file that was read and of the path when it had been read. */
interface Reading {
  content: Content;
  read: StatFacts;
  after: StatFacts;
}

/** Small files are only hashed here: none of their bytes is needed after that. */
const memory = Buffer.allocUnsafeSlow(smallBytes + 1);

const readAtOnce = (path: string, bytes: number): Reading => {
  try {
    const { content, stats } = readSmall(path, bytes, memory);
    const whole = content.subarray(0, bytes);
    const found = { sha256: hashOf('sha256', whole), ...withKind(kindOfBytes(whole)) };
    return { content: found, read: factsOf(stats), after: regular(path, statSync(path, { bigint: true })) };
  } catch (error) {
    throw error instanceof SourceRefusedError ? error : missingSource(path, error);
  }
};

const readOnTheSide = async (path: string, bytes: number, signal: AbortSignal | undefined): Promise<Reading> => {
  const isMissing = (cause: unknown): never => {
    throw missingSource(path, cause);
  };
  const file = await openFile(path, readFlags).catch(isMissing);
  try {
    const content = await hashFile(
      (chunk, most) => readFile(file, chunk, 0, most, null).catch(isMissing),
      bytes,
      signal,
    );
    const read = factsOf(await statFile(file, { bigint: true }));
    return { content, read, after: await statRegular(path) };
  } finally {
    await closeFile(file);
  }
};

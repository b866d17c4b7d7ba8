// Fingerprint of a local file: "did it change since we last saw it?".
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { kindBytes, kindOfBytes } from '../../dataset-api/file-types.ts';
import { missingSource, SourceChangedError, SourceRefusedError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import { readFlags } from '../../util/files.ts';
import { defined } from '../../util/json.ts';

/** A hash is trusted without reading again when it was made at least this long (ms) after the file last changed. */
const quietMs = 2000;

const chunkBytes = 256 * 1024;

/** The stat facts of a fingerprint; equal facts of a file that was quiet for {@link quietMs} mean equal bytes. */
export type StatFacts = Pick<SourceFingerprint, 'bytes' | 'mtimeNs' | 'ctimeNs' | 'ino'>;

export const factsOf = (stats: BigIntStats): StatFacts => ({
  bytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
  ctimeNs: String(stats.ctimeNs),
  ino: String(stats.ino),
});

export const sameFacts = (a: StatFacts, b: StatFacts): boolean =>
  a.bytes === b.bytes && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;

const wasQuiet = (known: SourceFingerprint): boolean => {
  const changedNs = BigInt(known.mtimeNs) > BigInt(known.ctimeNs) ? BigInt(known.mtimeNs) : BigInt(known.ctimeNs);
  return BigInt(known.hashedAt - quietMs) * 1_000_000n >= changedNs;
};

/**
 * Fingerprint of the file at `path` (symbolic links are followed); `known` itself, without reading a byte, where it still holds.
 *
 * @throws SourceMissingError when it cannot be read, SourceRefusedError when it is no regular file, SourceChangedError when
 *   it moved while it was read
 */
export const fingerprintFile = async (path: string, known: SourceFingerprint | null, signal?: AbortSignal) => {
  signal?.throwIfAborted();
  const before = await statRegular(path);
  if (known !== null && sameFacts(before, known) && wasQuiet(known)) return known;
  const hashedAt = Date.now();
  const { content, read } = await contentOf(path, before.bytes, signal);
  const after = await statRegular(path);
  if (sameFacts(before, read) && sameFacts(before, after)) return { ...after, ...content, hashedAt };
  throw new SourceChangedError(`${path} changed while it was being read`, {
    hint: 'sluice reads it again once its writer is done',
  });
};

const statRegular = async (path: string): Promise<StatFacts> => {
  const stats = await stat(path, { bigint: true }).catch((cause) => {
    throw missingSource(path, cause);
  });
  if (stats.isFile()) return factsOf(stats);
  throw new SourceRefusedError(`${path} is not a regular file`, { hint: 'use a file, not a folder, pipe or device' });
};

/** Of the first `bytes` bytes, or of all when there are fewer, with the facts of the file that was read. */
const contentOf = async (path: string, bytes: number, signal: AbortSignal | undefined) => {
  const hash = createHash('sha256');
  let kind: string | null = null;
  try {
    await using file = await open(path, readFlags);
    const chunk = Buffer.allocUnsafe(Math.min(bytes, chunkBytes));
    for (let [at, read] = [0, 0]; at < bytes; at += read) {
      signal?.throwIfAborted();
      read = (await file.read(chunk, 0, Math.min(chunk.length, bytes - at), at)).bytesRead;
      if (read === 0) break;
      if (at === 0) kind = kindOfBytes(chunk.subarray(0, read));
      hash.update(chunk.subarray(0, read));
    }
    const content = { sha256: hash.digest('hex'), ...defined({ kind: kind ?? undefined }) };
    return { content, read: factsOf(await file.stat({ bigint: true })) };
  } catch (error) {
    throw signal?.aborted ? error : missingSource(path, error);
  }
};

/** What the first bytes of a file show it to be, as {@link kindOfBytes}. */
export const kindOfFile = async (path: string): Promise<string | null> => {
  await using file = await open(path, readFlags);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2 * kindBytes), 0, 2 * kindBytes, 0);
  return kindOfBytes(buffer.subarray(0, bytesRead));
};

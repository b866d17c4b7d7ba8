// From a settled file to a claim: moves it out of the inbox by rename, then hashes and records it.
import { existsSync } from 'node:fs';
import { access, constants, lstat, open, realpath, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { orNull, SourceChangedError, SourceMissingError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { gone, isErrno, makeFolder, moveWithoutReplacing, unless } from '../../util/files.ts';
import { factsOf, fingerprintFile, sameFacts } from './fingerprint.ts';
import { linkReason, type Settler, snapshotOf } from './inbox-view.ts';
import { type Claim, claimPaths, parseClaimId, putMarkerBack, removeClaimFolder, writeRecord } from './spool.ts';

/** Result of a claim by rename: the file is in the spool, another process was faster, or it stays for a reason. */
export type Taken = { outcome: 'taken' | 'lost' } | { outcome: 'left'; reason: string };

const lost: Taken = { outcome: 'lost' };

const denied =
  'cannot be moved or read: permission denied; let the user that runs sluice read it and write to its folder';

const refusals: Record<string, string> = {
  EXDEV: 'is on another file system than the inbox, so it cannot be taken by a rename: drop it into a plain folder',
  EACCES: denied,
  EPERM: denied,
  EROFS: 'cannot be moved, as the file system is read-only: mount it for writing',
};

const refusedOrLost = (error: unknown): Taken => {
  if (isErrno(error, ...gone)) return lost;
  const reason = error instanceof Error && 'code' in error ? refusals[String(error.code)] : undefined;
  if (reason === undefined) throw error;
  return { outcome: 'left', reason };
};

/** Where Linux shows the files that this process holds open. */
const openFiles = '/proc/self/fd';

/** Calls `use` with a path of the folder that stays its own while another folder is swapped in for it; elsewhere than on Linux its path. */
const inFolder = async <T>(path: string, use: (folder: string) => Promise<T>): Promise<T> => {
  await using handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  return await use(existsSync(openFiles) ? join(openFiles, String(handle.fd)) : path);
};

interface TakeOptions {
  inbox: string;
  dropped: string;
  settled: { dev: string; ino: string };
  folder: string;
  /** Path of the marker in the inbox, null when none is taken along. */
  marker: string | null;
}

/** Moves the marker, then the file: killed between the two, {@link adoptUnfinished} puts the marker back. */
const moveIn = async (from: string, options: TakeOptions): Promise<Taken> => {
  const { inbox, dropped, settled, folder, marker } = options;
  const paths = claimPaths(folder, dropped);
  const file = join(from, basename(dropped));
  await access(file, constants.R_OK);
  const [root, real] = await Promise.all([realpath(inbox), realpath(from)]);
  if (real !== dirname(join(root, dropped))) return { outcome: 'left', reason: linkReason };
  await makeFolder(dirname(paths.file));
  if (marker !== null) {
    await makeFolder(dirname(paths.marker));
    await rename(join(from, basename(marker)), paths.marker);
  }
  await rename(file, paths.file);
  const moved = await lstat(paths.file, { bigint: true });
  if (moved.isFile() && String(moved.dev) === settled.dev && String(moved.ino) === settled.ino)
    return { outcome: 'taken' };
  // It was replaced meanwhile; another file in its place settles first.
  await moveWithoutReplacing(paths.file, file);
  return moved.isFile() ? lost : { outcome: 'left', reason: linkReason };
};

/** Claims a file by rename. Of several watchers that try, the rename lets one through; the others get `lost`. */
export const takeFile = async (options: TakeOptions): Promise<Taken> => {
  const { inbox, dropped, folder, marker } = options;
  const taken = await inFolder(dirname(join(inbox, dropped)), async (from) => {
    const moved = await moveIn(from, options).catch(refusedOrLost);
    if (moved.outcome !== 'taken' && marker !== null)
      await putMarkerBack(folder, dropped, join(from, basename(marker)));
    return moved;
  }).catch(refusedOrLost);
  if (taken.outcome !== 'taken') await removeClaimFolder(folder, dropped);
  return taken;
};

export type Spooled = Settler & { folder: string };

export const isSpooled = (settler: Settler): settler is Spooled => settler.folder !== null;

/** A writer that pauses between two writes is given this long (ms) to show itself after the hash. */
const secondLookMs = 250;

const hashOne = async ({ folder, path, still }: Spooled, signal: AbortSignal): Promise<SourceFingerprint | null> => {
  const { file } = claimPaths(folder, path);
  const stats = await unless(lstat(file, { bigint: true }), gone, null);
  if (stats === null || !isDeepStrictEqual(snapshotOf(stats), still)) return null;
  return orNull(fingerprintFile(file, null, signal), [SourceChangedError, SourceMissingError]);
};

const claimOf = ({ folder, path, place }: Spooled, fingerprint: SourceFingerprint): Claim => ({
  id: basename(folder),
  dataset: place.dataset,
  resource: place.resource,
  name: basename(path),
  path: claimPaths(folder, path).file,
  dropped: path,
  claimedAt: parseClaimId(basename(folder))?.claimedAt ?? 0,
  fingerprint,
});

/** Hashes all files, and records those that still stand as they had settled a moment later. */
export const completeClaims = async (files: Spooled[], signal: AbortSignal) => {
  const hashes = await eachAtOnce(files, atOnce, (file) => hashOne(file, signal));
  const hashed = files.flatMap((file, at) => (hashes[at] ? [claimOf(file, hashes[at])] : []));
  if (hashed.length > 0) await wait(secondLookMs, undefined, { signal });
  const recorded = await eachAtOnce(hashed, atOnce, async (claim) => {
    signal.throwIfAborted();
    const stats = await unless(lstat(claim.path, { bigint: true }), gone, null);
    if (stats === null || !sameFacts(factsOf(stats), claim.fingerprint)) return false;
    // A folder that is gone was taken over by another watcher meanwhile.
    return (await unless(writeRecord(claim), gone, 'gone')) !== 'gone';
  });
  const claims = hashed.filter((_, at) => recorded[at]);
  const done = new Set(claims.map((claim) => claim.id));
  return { claims, moving: files.filter(({ folder }) => !done.has(basename(folder))) };
};

const atOnce = 8;

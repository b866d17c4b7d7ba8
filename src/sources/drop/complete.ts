// Completes claims: hashes files in the spool, looks whether anybody still writes to them, and records those that stand still.
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SourceChangedError, SourceMissingError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import { type Claim, claimPaths, parseClaimId, writeRecord } from './claim.ts';
import { unless } from './durable.ts';
import { factsOf, fingerprintFile, sameFacts } from './fingerprint.ts';
import { type Settler, sameStill, stillOf } from './settling.ts';

const accessMode = 0o3;

const quiet = async <T>(pending: Promise<T>): Promise<T | null> => pending.catch(() => null);

const opensForWriting = async (pid: string, fd: string): Promise<boolean> => {
  const info = await quiet(readFile(`/proc/${pid}/fdinfo/${fd}`, 'utf8'));
  const flags = /^flags:\s*([0-7]+)/m.exec(info ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & accessMode) !== 0;
};

const identity = (stats: { dev: bigint; ino: bigint }): string => `${stats.dev}:${stats.ino}`;

/**
 * The paths among `paths` that a process whose descriptors we may see (ours, our user's, all for root) holds open for writing.
 * Empty where there is no `/proc`, and blind to writers on other hosts: one sign among several, never the only one.
 */
export const heldForWriting = async (paths: string[]): Promise<Set<string>> => {
  const wanted = new Map<string, string>();
  for (const path of paths) {
    const stats = await quiet(lstat(path, { bigint: true }));
    if (stats !== null) wanted.set(identity(stats), path);
  }
  const held = new Set<string>();
  if (wanted.size === 0) return held;
  const names = new Set(paths.map((path) => basename(path)));
  const pids = (await quiet(readdir('/proc')))?.filter((name) => /^\d+$/.test(name)) ?? [];
  for (const pid of pids) {
    for (const fd of (await quiet(readdir(`/proc/${pid}/fd`))) ?? []) {
      const target = await quiet(readlink(`/proc/${pid}/fd/${fd}`));
      if (target === null || !names.has(basename(target))) continue;
      const stats = await quiet(stat(`/proc/${pid}/fd/${fd}`, { bigint: true }));
      const path = stats === null ? undefined : wanted.get(identity(stats));
      if (path !== undefined && (await opensForWriting(pid, fd))) held.add(path);
    }
  }
  return held;
};

/** A file that a claim was made for and that has no record yet. */
export interface Unrecorded {
  settler: Settler;
  folder: string;
}

/** What completing gave: the claims that now stand recorded, and the files that still move (or were taken over by another watcher). */
interface Completed {
  claims: Claim[];
  moving: Unrecorded[];
}

/** A writer that pauses between two writes is given this long (ms) to show itself after the hash. */
const secondLookMs = 250;

const hashOne = async ({ settler, folder }: Unrecorded, signal: AbortSignal): Promise<SourceFingerprint | null> => {
  const { file } = claimPaths(folder, settler.path);
  const stats = await unless(lstat(file, { bigint: true }), ['ENOENT', 'ENOTDIR'], null);
  if (stats === null || !sameStill(stillOf(stats), settler.still)) return null;
  try {
    return await fingerprintFile(file, null, signal);
  } catch (error) {
    if (error instanceof SourceChangedError || error instanceof SourceMissingError) return null;
    throw error;
  }
};

const standsStill = async ({ path, fingerprint }: Claim): Promise<boolean> => {
  const stats = await unless(lstat(path, { bigint: true }), ['ENOENT', 'ENOTDIR'], null);
  return stats !== null && sameFacts(factsOf(stats), fingerprint);
};

const claimOf = ({ settler, folder }: Unrecorded, fingerprint: SourceFingerprint): Claim => {
  const id = basename(folder);
  return {
    id,
    dataset: settler.place.dataset,
    resource: settler.place.resource,
    name: basename(settler.path),
    path: claimPaths(folder, settler.path).file,
    dropped: settler.path,
    bytes: fingerprint.bytes,
    sha256: fingerprint.sha256,
    claimedAt: parseClaimId(id)?.claimedAt ?? 0,
    fingerprint,
  };
};

/**
 * Hashes all files, looks at all of them again a moment later, and writes the records of those that stood still from
 * settling to then and that no process of this machine holds open for writing (a marker vouches for its file).
 */
export const completeClaims = async (files: Unrecorded[], signal: AbortSignal): Promise<Completed> => {
  const hashes = await eachOf(files, (file) => hashOne(file, signal));
  const hashed = files.flatMap((file, at) => (hashes[at] ? [{ file, claim: claimOf(file, hashes[at]) }] : []));
  if (hashed.length > 0) await wait(secondLookMs, undefined, { signal });
  const unsure = hashed.filter(({ file }) => file.settler.marker !== 'now').map(({ claim }) => claim.path);
  const held = await heldForWriting(unsure);
  const recorded = await eachOf(hashed, async ({ claim }) => {
    signal.throwIfAborted();
    return !held.has(claim.path) && (await standsStill(claim)) && (await record(claim));
  });
  const claims = hashed.flatMap(({ claim }, at) => (recorded[at] ? [claim] : []));
  const done = new Set(claims.map((claim) => claim.id));
  return { claims, moving: files.filter(({ folder }) => !done.has(basename(folder))) };
};

const atOnce = 8;

/** Runs `work` over `items`, a few at once; results in the order of the items. */
const eachOf = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  }
  return results;
};

/** False when another watcher took the folder over meanwhile. */
const record = async (claim: Claim): Promise<boolean> =>
  await unless(
    writeRecord(claim).then(() => true),
    ['ENOENT', 'ENOTDIR'],
    false,
  );

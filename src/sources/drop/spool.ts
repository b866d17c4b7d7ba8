// The spool: claims that wait for their run, and the two ways out of it. Each way may be killed at any line and called again.

import { lstat, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { dump } from 'js-yaml';
import type { Reason } from '../../model/report.ts';
import { makeFolder } from '../../util/make-folder.ts';
import {
  type Claim,
  claimPaths,
  folderOfClaim,
  foldersOf,
  foldersOfClaim,
  parseClaimId,
  readClaim,
  removeClaimFolder,
} from './claim.ts';
import { exists, unless, writeDurably } from './durable.ts';

/** YAML text of the reason file of a quarantined claim. `when` is an ISO time. */
const reasonText = (claim: Claim, reason: Reason, when: string): string =>
  dump({
    file: claim.dropped,
    code: reason.code,
    message: reason.message,
    ...(reason.line === undefined ? {} : { line: reason.line }),
    ...(reason.column === undefined ? {} : { column: reason.column }),
    ...(reason.hint === null ? {} : { hint: reason.hint }),
    when,
    dropped: new Date(claim.claimedAt).toISOString(),
    bytes: claim.bytes,
    sha256: claim.sha256,
    resubmit: `fix the file and drop it into the inbox again as ${claim.dropped}; this copy and this note may then be deleted`,
  });

export type { Claim } from './claim.ts';

/**
 * What became of a claim. `reopened`: its file was written to after the claim, so it is left in the spool and claimed again
 * by the watcher. `gone`: neither in the spool nor where this call would have put it (an earlier call has dealt with it).
 */
type WayOut = { outcome: 'archived' | 'quarantined'; path: string } | { outcome: 'reopened' | 'gone'; path: null };

const readLimit = 32;

/** All complete claims of a spool folder, oldest first; an absent folder holds none. Claims still being made are left out. */
export const listClaims = async (spoolDir: string): Promise<Claim[]> => {
  const names = (await unless(readdir(spoolDir), ['ENOENT'], [])).filter((name) => parseClaimId(name) !== null).sort();
  const claims: Claim[] = [];
  for (let at = 0; at < names.length; at += readLimit) {
    const read = await Promise.all(names.slice(at, at + readLimit).map((name) => readClaim(join(spoolDir, name))));
    claims.push(...read.filter((claim) => claim !== null));
  }
  return claims;
};

/** UTC time that sorts as text and may be part of a file name: `20261130T113344.123Z`. */
const stamp = (unixMs: number): string => new Date(unixMs).toISOString().replaceAll(/[-:]/g, '');

const versionPattern = /^\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}(\.[^.]*)?$/;

/** `file` is the claim as it was hashed, `grown` when it was written to since, `gone` when it is not in the spool. */
const stateOfFile = async (claim: Claim): Promise<'whole' | 'grown' | 'gone'> => {
  const stats = await unless(lstat(claim.path, { bigint: true }), ['ENOENT', 'ENOTDIR'], null);
  if (stats === null) return 'gone';
  const { bytes, mtimeNs } = claim.fingerprint;
  return Number(stats.size) === bytes && String(stats.mtimeNs) === mtimeNs ? 'whole' : 'grown';
};

/** Without its record a claim is unfinished, and its watcher settles and claims the file again. */
const reopen = async (claim: Claim): Promise<WayOut> => {
  await unless(unlink(claimPaths(folderOfClaim(claim), claim.dropped).record), ['ENOENT', 'ENOTDIR'], undefined);
  return { outcome: 'reopened', path: null };
};

/** Moves the claim's file to `target`, a name made of this claim alone; a repeated call finds it there. */
const moveOut = async (claim: Claim, target: string, outcome: 'archived' | 'quarantined'): Promise<WayOut> => {
  await unless(rename(claim.path, target), ['ENOENT', 'ENOTDIR'], undefined);
  await removeClaimFolder(folderOfClaim(claim), claim.dropped);
  return (await exists(target)) ? { outcome, path: target } : { outcome: 'gone', path: null };
};

const prune = async (folder: string, keep: number): Promise<void> => {
  const versions = (await readdir(folder)).filter((name) => versionPattern.test(name)).sort();
  const oldest = versions.slice(0, Math.max(0, versions.length - Math.max(1, keep)));
  for (const name of oldest.flatMap((version) => [version, `${version}${mendsEnding}`]))
    await unless(unlink(join(folder, name)), ['ENOENT'], undefined);
};

/** Ends the name of the note beside an archived file that was mended on its way. */
const mendsEnding = '.mends.yaml';

const archiveTarget = (claim: Claim): string =>
  join(
    foldersOfClaim(claim).archive,
    claim.dataset,
    claim.resource,
    `${stamp(claim.claimedAt)}-${claim.sha256.slice(0, 8)}${extname(claim.name)}`,
  );

/**
 * Moves a published (or superseded) claim to `<inbox>/.sluice/archive/<dataset>/<resource>/<UTC time>-<sha8>.csv` and keeps the
 * newest `keep` (at least 1) versions of that resource there; only older ones are deleted. Where the file was mended before
 * it was sent, `<name>.mends.yaml` beside it (written first) says what was done, a line each.
 */
export const archiveClaim = async (
  claim: Claim,
  { keep, mended = [] }: { keep: number; mended?: string[] },
): Promise<WayOut> => {
  const state = await stateOfFile(claim);
  if (state === 'grown') return await reopen(claim);
  const target = archiveTarget(claim);
  await makeFolder(dirname(target));
  if (mended.length > 0 && state === 'whole') {
    const note = dump({ file: claim.dropped, when: new Date().toISOString(), sha256: claim.sha256, mended });
    await writeDurably(`${target}${mendsEnding}`, note, folderOfClaim(claim));
  }
  const way = await moveOut(claim, target, 'archived');
  await prune(dirname(target), keep);
  return way;
};

/**
 * Moves a faulty claim to `<inbox>/.sluice/quarantine/<dataset>/<resource>-<UTC time>.csv`, with `<name>.reason.yaml` beside it
 * (written first): code, message, line, column, hint, when, and how to submit the file again.
 */
export const quarantineClaim = async (claim: Claim, reason: Reason): Promise<WayOut> => {
  const state = await stateOfFile(claim);
  if (state === 'grown') return await reopen(claim);
  const folder = join(foldersOfClaim(claim).quarantine, claim.dataset);
  const target = join(folder, `${claim.resource}-${stamp(claim.claimedAt)}${extname(claim.name)}`);
  if (state === 'whole') {
    await makeFolder(folder);
    // What a kill leaves of it goes with the claim.
    await writeDurably(
      `${target}.reason.yaml`,
      reasonText(claim, reason, new Date().toISOString()),
      folderOfClaim(claim),
    );
  }
  return await moveOut(claim, target, 'quarantined');
};

/** Which version is searched for. */
interface ArchivedVersion {
  /** Path of a claim of the same inbox in its spool, and the claim's id. */
  path: string;
  claim: string;
  dataset: string;
  resource: string;
  sha256: string;
}

/** Path of the newest archived version with that content, or null. Its name holds only the first 8 digits: check its bytes. */
export const findArchived = async (wanted: ArchivedVersion): Promise<string | null> => {
  const { path, claim, dataset, resource, sha256 } = wanted;
  const at = path.lastIndexOf(join('/.sluice', 'spool', claim));
  if (at < 0) return null;
  const folder = join(foldersOf(path.slice(0, at)).archive, dataset, resource);
  const names = await unless(readdir(folder), ['ENOENT', 'ENOTDIR'], []);
  const name = names
    .filter((candidate) => candidate.includes(`-${sha256.slice(0, 8)}`))
    .sort()
    .at(-1);
  return name === undefined ? null : join(folder, name);
};

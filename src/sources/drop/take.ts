// Moves settled files out of the inbox, and takes over abandoned claims.
import { existsSync } from 'node:fs';
import { access, constants, lstat, open, readdir, realpath, rename, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { gone, isErrno, moveWithoutReplacing, unless } from '../../util/durable.ts';
import { makeFolder } from '../../util/make-folder.ts';
import { linkReason } from './inbox-view.ts';
import { claimId, claimPaths, parseClaimId, readClaim, removeClaimFolder } from './spool.ts';

/** Result of a claim by rename: the file is in the spool, another process was faster, or it stays for a reason. */
export type Taken = { outcome: 'taken' | 'lost' } | { outcome: 'left'; reason: string };

const lost: Taken = { outcome: 'lost' };

const refusals: Record<string, string> = {
  EXDEV: 'is on another file system than the inbox, so it cannot be claimed by a rename: drop it into a plain folder',
  EACCES: 'cannot be moved or read: permission denied on the file or its folder',
  EPERM: 'cannot be moved or read: permission denied on the file or its folder',
  EROFS: 'cannot be moved: the file system is read-only',
};

const refusalOf = (error: unknown): Taken => {
  const reason = error instanceof Error && 'code' in error ? refusals[String(error.code)] : undefined;
  if (reason === undefined) throw error;
  return { outcome: 'left', reason };
};

const refusedOrLost = (error: unknown): Taken => (isErrno(error, 'ENOENT', 'ENOTDIR') ? lost : refusalOf(error));

/** Where Linux shows the files that this process holds open. */
const openFiles = '/proc/self/fd';

/** Calls `use` with a path of the folder that stays its own while another folder is swapped in for it; elsewhere than on Linux its path. */
const inFolder = async <T>(path: string, use: (folder: string) => Promise<T>): Promise<T> => {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await use(existsSync(openFiles) ? join(openFiles, String(handle.fd)) : path);
  } finally {
    await handle.close();
  }
};

const isInside = async (from: string, { inbox, dropped }: TakeOptions): Promise<boolean> => {
  const [root, folder] = await Promise.all([realpath(inbox), realpath(from)]);
  return folder === dirname(join(root, dropped));
};

interface TakeOptions {
  inbox: string;
  dropped: string;
  /** Device and inode of the file that settled. */
  settled: { dev: string; ino: string };
  /** The claim's own folder, still to be made. */
  folder: string;
  /** Path of the marker in the inbox, null when none is taken along. */
  marker: string | null;
}

/**
 * Moves the marker, then the file, so that a marker never outlives its file. A kill between the two leaves the marker in the
 * spool, from where {@link adoptUnfinished} puts it back.
 */
const moveIn = async (from: string, options: TakeOptions): Promise<Taken> => {
  const { dropped, settled, folder, marker } = options;
  const paths = claimPaths(folder, dropped);
  const file = join(from, basename(dropped));
  await access(file, constants.R_OK);
  if (!(await isInside(from, options))) return { outcome: 'left', reason: linkReason };
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

const putMarkerBack = async (folder: string, dropped: string, target: string): Promise<void> => {
  await unless(moveWithoutReplacing(claimPaths(folder, dropped).marker, target), gone, false);
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

/** A spool folder that is ours now and whose file is to be settled and recorded. */
interface Unfinished {
  folder: string;
  /** Path that the file had in the inbox, with `/`. */
  dropped: string;
}

interface AdoptOptions {
  inbox: string;
  spool: string;
  /** Of the watcher that adopts. */
  token: string;
  marker: string;
  /** True for claims that this watcher is working on. */
  busy: (id: string) => boolean;
}

const fileBelow = async (folder: string): Promise<string | null> => {
  const entries = await unless(readdir(folder, { withFileTypes: true, recursive: true }), gone, []);
  const file = entries.find((entry) => entry.isFile());
  return file === undefined ? null : relative(folder, join(file.parentPath, file.name)).split(sep).join('/');
};

/** Renames the folder of an abandoned claim to one of ours: of several watchers that try, one gets it. */
const takeOver = async (spool: string, name: string, claimedAt: number, token: string): Promise<string | null> => {
  const folder = join(spool, claimId(claimedAt, token));
  const moved = rename(join(spool, name), folder).then(() => folder);
  return await unless(moved, [...gone, 'ENOTEMPTY', 'EEXIST'], null);
};

const adopt = async (folder: string, { inbox, marker }: AdoptOptions): Promise<Unfinished | null> => {
  const dropped = await fileBelow(join(folder, 'file'));
  if (dropped !== null) return { folder, dropped };
  const marked = await fileBelow(join(folder, 'marker'));
  // No record and no file: killed between marker and file. A marker without its file would let a later one pass unsettled.
  if (marked !== null && (await unless(lstat(join(inbox, marked)), gone, null)) !== null) {
    if ((await unless(lstat(claimPaths(folder, marked).record), gone, null)) === null) {
      await putMarkerBack(folder, marked, join(inbox, marked + marker));
    }
  }
  await removeClaimFolder(folder, marked);
  return null;
};

/** How often (ms) a watcher shows that it is working on a claim, and after how long without a sign others take it over. */
export const beatMs = 2_000;
export const silentMs = 10_000;

/** Shows that a watcher is working on the claim in that folder. */
export const beat = async (folder: string): Promise<void> => {
  const now = new Date();
  await unless(utimes(folder, now, now), gone, undefined);
};

/** What was taken over, and whether there are more claims that others may be working on. */
interface Adopted {
  unfinished: Unfinished[];
  areMore: boolean;
}

/**
 * Takes over abandoned work: claims without a record are adopted, leftovers of claims whose file has moved on are
 * removed, a marker taken without its file goes back. Claims that another watcher is working on are left alone; should one
 * be taken over all the same, that watcher finds nothing in its place and gives it up.
 */
export const adoptUnfinished = async (options: AdoptOptions): Promise<Adopted> => {
  const { spool, token, busy } = options;
  const adopted: Adopted = { unfinished: [], areMore: false };
  for (const name of (await unless(readdir(spool), gone, [])).sort()) {
    const id = parseClaimId(name);
    const folder = join(spool, name);
    if (id === null || busy(name) || (await readClaim(folder)) !== null) continue;
    const isOurs = id.token === token;
    const isWorkedOn = !isOurs && Date.now() - ((await unless(stat(folder), gone, null))?.mtimeMs ?? 0) < silentMs;
    adopted.areMore ||= isWorkedOn;
    if (isWorkedOn) continue;
    const own = isOurs ? folder : await takeOver(spool, name, id.claimedAt, token);
    const unfinished = own === null ? null : await adopt(own, options);
    if (unfinished !== null) adopted.unfinished.push(unfinished);
  }
  return adopted;
};

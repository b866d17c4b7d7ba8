// Takes a settled file out of the inbox: one rename into a spool folder of its own, before anything slow.
import { access, constants, lstat, mkdir, realpath, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { claimPaths, removeClaimFolder } from './claim.ts';
import { isErrno, moveWithoutReplacing, unless } from './durable.ts';
import { linkReason } from './look.ts';

/** What a claim by rename gave: the file is in the spool, somebody else was faster, or it stays with the reason. */
export type Taken = { outcome: 'taken' | 'lost' } | { outcome: 'left'; reason: string };

const lost: Taken = { outcome: 'lost' };

const refusals: Record<string, string> = {
  EXDEV: 'lies on another file system than the inbox, so it cannot be claimed by a rename: drop it into a plain folder',
  EACCES: 'cannot be moved or read: the permissions of the file or its folder do not let sluice',
  EPERM: 'cannot be moved or read: the permissions of the file or its folder do not let sluice',
  EROFS: 'cannot be moved: the file system is read-only',
};

const refusalOf = (error: unknown): Taken => {
  const reason = error instanceof Error && 'code' in error ? refusals[String(error.code)] : undefined;
  if (reason === undefined) throw error;
  return { outcome: 'left', reason };
};

const leavesInbox = async (inbox: string, dropped: string): Promise<boolean> => {
  const [root, folder] = await Promise.all([realpath(inbox), realpath(dirname(join(inbox, dropped)))]);
  return folder !== dirname(join(root, dropped));
};

/** What is to be taken, and whereto. */
export interface TakeOptions {
  inbox: string;
  /** Path in the inbox, with `/`. */
  dropped: string;
  /** The claim's own folder, still to be made. */
  folder: string;
  /** Path of the marker in the inbox, null when none is taken along. */
  marker: string | null;
}

/**
 * Moves the marker, then the file, so that a marker never outlives its file. A kill between the two leaves the marker in the
 * spool, whence `unfinished.ts` puts it back.
 */
const moveIn = async ({ inbox, dropped, folder, marker }: TakeOptions): Promise<Taken> => {
  const paths = claimPaths(folder, dropped);
  const file = join(inbox, dropped);
  await access(file, constants.R_OK);
  if (await leavesInbox(inbox, dropped)) return { outcome: 'left', reason: linkReason };
  await mkdir(dirname(paths.file), { recursive: true });
  if (marker !== null) {
    await mkdir(dirname(paths.marker), { recursive: true });
    await rename(join(inbox, marker), paths.marker);
  }
  await rename(file, paths.file);
  if ((await lstat(paths.file)).isFile()) return { outcome: 'taken' };
  await moveWithoutReplacing(paths.file, file); // it was swapped for a link or pipe under our hands
  return { outcome: 'left', reason: linkReason };
};

/** Puts a marker back that was taken without its file. */
export const putMarkerBack = async (folder: string, dropped: string, target: string): Promise<void> => {
  await unless(moveWithoutReplacing(claimPaths(folder, dropped).marker, target), ['ENOENT', 'ENOTDIR'], false);
};

/** Claims a file by rename. Of several watchers that try, the rename lets one through; the others get `lost`. */
export const takeFile = async (options: TakeOptions): Promise<Taken> => {
  const { inbox, dropped, folder, marker } = options;
  const taken = await moveIn(options).catch((error) => (isErrno(error, 'ENOENT', 'ENOTDIR') ? lost : refusalOf(error)));
  if (taken.outcome === 'taken') return taken;
  if (marker !== null) await putMarkerBack(folder, dropped, join(inbox, marker));
  await removeClaimFolder(folder, dropped);
  return taken;
};

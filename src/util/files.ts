// Files and folders of this host: steps that survive a kill between any two of them, flags, and what nobody needs any more.
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, closeSync, constants, createReadStream, fsyncSync, openSync } from 'node:fs';
import { link, lstat, mkdir, open, readdir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** True when `error` is a system error with one of `codes` (such as `ENOENT`). */
export const isErrno = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

/** Codes of a path at which nothing is. */
export const gone = ['ENOENT', 'ENOTDIR'];

/** Resolves with the fallback when `pending` fails with one of `codes`; other failures pass through. */
export const unless = async <T, F>(pending: Promise<T>, codes: string[], fallback: F): Promise<T | F> => {
  try {
    return await pending;
  } catch (error) {
    if (isErrno(error, ...codes)) return fallback;
    throw error;
  }
};

/** True when something (a symbolic link counts) is at `path`. */
export const exists = async (path: string): Promise<boolean> => (await unless(lstat(path), gone, null)) !== null;

export const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

/** Returns when the bytes of a file, or the names in a folder, are on disk; file systems that cannot do that are left alone. */
export const syncNow = (path: string): void => {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } catch (error) {
    if (!isErrno(error, 'EINVAL', 'EPERM', 'ENOTSUP')) throw error;
  } finally {
    closeSync(file);
  }
};

/** Makes the names in a folder survive a power cut; file systems that cannot sync folders are left alone. */
export const syncFolder = async (path: string): Promise<void> => {
  await using folder = await unless(open(path), ['EISDIR', 'EACCES', 'EPERM'], null);
  if (folder !== null) await unless(folder.sync(), ['EINVAL', 'EPERM', 'ENOTSUP', 'EIO'], undefined);
};

/** Writes `path` durably, at once or not at all. A kill may leave `part`, which is on the same file system. */
export const writeDurably = async (
  path: string,
  content: string | AsyncIterable<Uint8Array>,
  part: string = partOf(path),
): Promise<void> => {
  try {
    await writeFile(part, content, { flag: 'wx', flush: true });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
};

/** A new name for the beginnings of a file, in its folder or another one. */
export const partOf = (path: string, folder: string = dirname(path)): string =>
  join(folder, `.${randomBytes(6).toString('hex')}.tmp`);

const sameFile = async (a: string, b: string): Promise<boolean> => {
  const [one, two] = await Promise.all([lstat(a, { bigint: true }), lstat(b, { bigint: true })]);
  return one.dev === two.dev && one.ino === two.ino;
};

/** What a file system answers that knows no hard links. */
const noLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Moves a file within one file system without ever replacing what is at `to`; false when something else is there.
 * A move that was killed half-way (both names, one file) is completed. Where the file system knows no hard links, a
 * check and a rename take their place.
 */
export const moveWithoutReplacing = async (from: string, to: string): Promise<boolean> => {
  try {
    await link(from, to);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) {
      if (!(await sameFile(from, to))) return false;
    } else if (isErrno(error, ...noLinks)) {
      if (await exists(to)) return false;
      await rename(from, to);
      return true;
    } else throw error;
  }
  await unlink(from);
  return true;
};

/**
 * Makes a folder and those above it, with `mode` (0o777 without the umask); returns the topmost that was missing, undefined
 * where it was there. Throws what `mkdir` does. (With `recursive` that never ends where a folder that exists takes no other
 * and answers ENOENT, as /proc and automounted folders do.)
 */
export const makeFolder = async (path: string, mode?: number): Promise<string | undefined> => {
  try {
    await mkdir(path, mode);
    return path;
  } catch (error) {
    if (await isFolder(path)) return undefined;
    if (!isErrno(error, 'ENOENT') || dirname(path) === path) throw error;
  }
  const made = await makeFolder(dirname(path), mode);
  await mkdir(path, mode).catch(async (error: unknown) => {
    if (!(await isFolder(path))) throw error; // another process may have made it just now
  });
  return made ?? path;
};

const isFolder = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isDirectory() === true;

/** Flags to open a file for reading: a pipe that was put there meanwhile must not hang the open. */
export const readFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/** True for a file that is checked in less time than it takes to record that the check begins. */
export const isSmall = (bytes: number): boolean => bytes <= 16 * 1024;

export const isSystemError = (error: unknown): error is NodeJS.ErrnoException & { code: string } =>
  error instanceof Error && 'code' in error && 'syscall' in error;

/** Sets the mode of a file or folder; file systems without modes are left alone. */
export const keepPrivate = (path: string, mode: 0o600 | 0o700): void => {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
};

/** Removes the files of a folder, which may not be there, that are older than so many milliseconds, or spent by their names. */
export const sweepFolder = async (folder: string, maxAgeMs: number, isSpent = (_name: string): boolean => false) => {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const facts = await stat(path).catch(() => null); // another process has just removed it
    const isOld = facts !== null && Date.now() - facts.mtimeMs > maxAgeMs;
    if (isOld || isSpent(name)) await rm(path, { force: true });
  }
};

/** Removes what attempts under a label left in a folder, and what is older than a day. */
export const sweepAttempts = (folder: string, label: string): Promise<void> =>
  sweepFolder(folder, 24 * 3600 * 1000, (name) => name.startsWith(`${label}.`));

// File system steps that survive a kill between any two of them.
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, lstat, open, rename, rm, unlink, writeFile } from 'node:fs/promises';
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

/** Resolves when the bytes of a file, or the names in a folder, are on disk. */
export const sync = async (path: string): Promise<void> => {
  await using file = await open(path);
  await file.sync();
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

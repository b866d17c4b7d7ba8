// Folders, made with those above them.
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from './durable.ts';

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

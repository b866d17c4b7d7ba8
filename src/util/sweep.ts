// Removes what nobody needs any more of the files that sluice keeps for itself.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

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

// Removes what was left of tables that were not made.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const dayMs = 24 * 3600 * 1000;

/** Removes what attempts under a label left in a folder, and what is older than a day. */
export const sweepPrepared = async (folder: string, label: string): Promise<void> => {
  const names = await readdir(folder).catch(() => []); // the folder does not exist yet
  for (const name of names) {
    const path = join(folder, name);
    const facts = await stat(path).catch(() => null); // another process has just removed it
    const isOld = facts !== null && Date.now() - facts.mtimeMs > dayMs;
    if (isOld || name.startsWith(`${label}.`)) await rm(path, { force: true });
  }
};

// What Node compiled of sluice and its packages, kept from one process to the next.
import { existsSync, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * Keeps it in the user's folder for caches, for what is imported from now on; where that cannot be written, nothing is
 * kept. A home that does not exist is not made.
 */
export const keepCompiled = ({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): void => {
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  if (!caches) return;
  const folder = join(caches, 'sluice');
  try {
    for (const each of [caches, folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
  } catch {
    return; // no home, or one that is not ours
  }
  enableCompileCache(join(folder, 'compiled'));
};

// The user's folder for caches of this program, and the compile cache of Node in it.
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * The folder, made where it is missing: `sluice` below `XDG_CACHE_HOME`, or below `.cache` of the home. Null where it cannot
 * be written or is another user's, because programs in it are run. A home that does not exist is not made.
 */
export const userCache = ({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): string | null => {
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  if (!caches) return null;
  const folder = join(caches, 'sluice');
  try {
    for (const each of [caches, folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
    const facts = statSync(folder);
    if (!facts.isDirectory() || (process.getuid && facts.uid !== process.getuid())) return null;
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return null; // no home, or one that is not ours
  }
};

/** Keeps it in the user's folder for caches, for what is imported from now on; nothing is kept where there is none. */
export const keepCompiled = (env: NodeJS.ProcessEnv): void => {
  const folder = userCache(env);
  if (folder !== null) enableCompileCache(join(folder, 'compiled'));
};

// This installation: the version of the program, and the user's folder for its caches.
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * The folder for caches, made where it is missing: `sluice` below `XDG_CACHE_HOME`, or below `.cache` of the home. Null where it cannot
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

/** Turns on Node's compile cache in the user's folder for caches, for what is imported from now on, in worker threads too. */
export const keepCompiled = (env: NodeJS.ProcessEnv): void => {
  const folder = userCache(env);
  if (folder !== null) env.NODE_COMPILE_CACHE ??= join(folder, 'compiled'); // where worker threads look
  if (env.NODE_COMPILE_CACHE) enableCompileCache(env.NODE_COMPILE_CACHE);
};

/** The version that package.json states, beside `src` and `dist` alike. */
export const packageVersion = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { version: unknown }).version); // our own file
};

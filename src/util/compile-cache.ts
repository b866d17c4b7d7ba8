// Node's compile cache for sluice and its packages, kept from one process to the next.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { userCache } from './user-cache.ts';

/** Keeps it in the user's folder for caches, for what is imported from now on; nothing is kept where there is none. */
export const keepCompiled = (env: NodeJS.ProcessEnv): void => {
  const folder = userCache(env);
  if (folder !== null) enableCompileCache(join(folder, 'compiled'));
};

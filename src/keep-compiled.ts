// What Node compiled of sluice and its packages, kept from one process to the next.
import { mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/** Keeps it in `<caches>/sluice`, for what is imported from now on; where that cannot be written, nothing is kept. */
export const keepCompiled = (caches: string): void => {
  const folder = join(caches, 'sluice');
  try {
    for (const each of [caches, folder]) makeFolder(each);
  } catch {
    return; // no home, or one that is not ours
  }
  enableCompileCache(join(folder, 'compiled'));
};

/** Not its parents: a home that does not exist is not made. */
const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
};

// Finds an older version of a dropped file in the archive of its inbox.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { foldersOf } from './claim.ts';
import { unless } from './durable.ts';

/** Which version is looked for. */
export interface ArchivedVersion {
  /** Path of a claim of the same inbox in its spool, and the claim's id. */
  path: string;
  claim: string;
  dataset: string;
  resource: string;
  sha256: string;
}

/** Path of the newest archived version with that content, or null. Its name tells only the first 8 digits: check its bytes. */
export const findArchived = async (wanted: ArchivedVersion): Promise<string | null> => {
  const { path, claim, dataset, resource, sha256 } = wanted;
  const at = path.lastIndexOf(join('/.sluice', 'spool', claim));
  if (at < 0) return null;
  const folder = join(foldersOf(path.slice(0, at)).archive, dataset, resource);
  const names = await unless(readdir(folder), ['ENOENT', 'ENOTDIR'], []);
  const name = names
    .filter((candidate) => candidate.includes(`-${sha256.slice(0, 8)}`))
    .sort()
    .at(-1);
  return name === undefined ? null : join(folder, name);
};

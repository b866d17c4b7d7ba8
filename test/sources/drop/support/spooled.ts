// Files in a spool as the watcher would have claimed them, and where they are afterwards.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fingerprintFile } from '../../../../src/sources/drop/fingerprint.ts';
import { type Claim, claimId, claimPaths, foldersOf, writeRecord } from '../../../../src/sources/drop/spool.ts';

/** Makes a complete claim of `text` dropped at `dropped` (`<dataset>/<resource>.csv`), claimed at `claimedAt`. */
export const spooled = async (inbox: string, dropped: string, text: string, claimedAt: number): Promise<Claim> => {
  const id = claimId(claimedAt, 'abcd0123');
  const path = claimPaths(join(foldersOf(inbox).spool, id), dropped).file;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  const fingerprint = await fingerprintFile(path, null);
  const resource = basename(dropped, '.csv');
  const dataset = dropped.includes('/') ? dirname(dropped) : resource;
  const claim = {
    id,
    dataset,
    resource,
    name: basename(dropped),
    path,
    dropped,
    claimedAt,
    fingerprint,
  };
  await writeRecord(claim);
  return claim;
};

/** Files below a folder with their text; records, reasons and the like left out. */
export const csvBelow = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.csv'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [relative(folder, path), readFileSync(path, 'utf8')]),
  );

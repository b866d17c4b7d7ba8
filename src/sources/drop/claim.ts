// A claim: a dropped file that was taken out of the inbox into a spool folder of its own.
import { lstat, readdir, readFile, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { sourceFingerprintSchema } from '../../model/ledger-entry.ts';
import { parsedJson } from '../../util/json.ts';
import { unless, writeDurably } from './durable.ts';

const claimIdPattern = /^\d{13}-[0-9a-f]{8}$/;

const recordSchema = z.object({
  /** `<Unix ms of the claim>-<watcher token>`; ids sort by the time of their claims. */
  id: z.string().regex(claimIdPattern),
  dataset: z.string(),
  resource: z.string(),
  /** File name as it was dropped. */
  name: z.string(),
  /** Path relative to the inbox, with `/`. */
  dropped: z.string(),
  bytes: z.number().int(),
  sha256: z.string(),
  /** Unix milliseconds. */
  claimedAt: z.number().int(),
  /** The fingerprint behind `bytes` and `sha256`, made in the spool. */
  fingerprint: sourceFingerprintSchema,
});

/** A dropped file that was taken out of the inbox, whole and hashed. `path` is absolute and lies in the spool. */
export interface Claim extends z.infer<typeof recordSchema> {
  path: string;
}

/** The folders that sluice keeps inside an inbox, all on the inbox's own file system. */
export interface InboxFolders {
  inbox: string;
  spool: string;
  archive: string;
  quarantine: string;
}

/** Folders of an inbox: everything of ours lies below `<inbox>/.sluice`. */
export const foldersOf = (inbox: string): InboxFolders => {
  const own = join(inbox, '.sluice');
  return { inbox, spool: join(own, 'spool'), archive: join(own, 'archive'), quarantine: join(own, 'quarantine') };
};

/** Makes the id of a claim; a watcher gives each of its claims another millisecond. */
export const claimId = (claimedAt: number, token: string): string => `${String(claimedAt).padStart(13, '0')}-${token}`;

/** Reads time and watcher token out of a claim id; null when the name is none. */
export const parseClaimId = (name: string): { claimedAt: number; token: string } | null =>
  claimIdPattern.test(name) ? { claimedAt: Number(name.slice(0, 13)), token: name.slice(14) } : null;

/** Parts of a claim's own folder. The file keeps its path in the inbox, so that a claim without a record shows where it came from. */
export const claimPaths = (folder: string, dropped: string) => ({
  file: join(folder, 'file', dropped),
  marker: join(folder, 'marker', dropped),
  record: join(folder, 'claim.json'),
});

/** The folder of a claim: `<spool>/<id>`. */
export const folderOfClaim = (claim: Claim): string => {
  const up = claim.dropped.split('/').length + 1;
  return join(claim.path, ...Array<string>(up).fill('..'));
};

/** The folders of the inbox that a claim came from. */
export const foldersOfClaim = (claim: Claim): InboxFolders =>
  foldersOf(dirname(dirname(dirname(folderOfClaim(claim)))));

/** Writes the record that makes a claim complete; atomic, safe on power loss. */
export const writeRecord = async (claim: Claim): Promise<void> => {
  const { path: _, ...record } = claim;
  await writeDurably(claimPaths(folderOfClaim(claim), claim.dropped).record, `${JSON.stringify(record, null, 2)}\n`);
};

/** Reads the claim in a spool folder; null when it has no sound record or its file is gone. */
export const readClaim = async (folder: string): Promise<Claim | null> => {
  const text = await unless(readFile(join(folder, 'claim.json'), 'utf8'), ['ENOENT', 'ENOTDIR'], '');
  // A torn record is no record: the claim is completed again.
  const record = recordSchema.safeParse(parsedJson(text)).data;
  if (record?.id !== basename(folder)) return null;
  const path = claimPaths(folder, record.dropped).file;
  const stats = await unless(lstat(path), ['ENOENT', 'ENOTDIR'], null);
  return stats?.isFile() ? { ...record, path } : null;
};

/** What a kill leaves of a record or a reason that was being written. */
const temporaryFile = /^\..*\.tmp$/;

/** Removes a folder and the folders in it, as far as they are empty. */
const removeEmpty = async (folder: string): Promise<void> => {
  const entries = await unless(readdir(folder, { withFileTypes: true }), ['ENOENT', 'ENOTDIR'], []);
  for (const entry of entries) if (entry.isDirectory()) await removeEmpty(join(folder, entry.name));
  await unless(rmdir(folder), ['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'], undefined);
};

/** Removes what is left of a claim whose file has moved on. Folders go only when empty, so that a file is never deleted. */
export const removeClaimFolder = async (folder: string, dropped: string | null): Promise<void> => {
  const names = await unless(readdir(folder), ['ENOENT', 'ENOTDIR'], []);
  const spent = names.filter((name) => temporaryFile.test(name)).map((name) => join(folder, name));
  if (dropped !== null) spent.push(claimPaths(folder, dropped).marker);
  spent.push(join(folder, 'claim.json'));
  for (const path of spent) await unless(unlink(path), ['ENOENT', 'ENOTDIR'], undefined);
  await removeEmpty(folder);
};

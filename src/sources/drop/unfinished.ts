// Claims that nobody finishes any more: their watcher was killed, or their file was written to after the claim.
import { lstat, readdir, rename, unlink } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { claimId, claimPaths, parseClaimId, readClaim, removeClaimFolder } from './claim.ts';
import { unless } from './durable.ts';
import type { Owner } from './owner.ts';
import { putMarkerBack } from './take.ts';

/** A spool folder that is ours now and whose file is to be settled and recorded. */
export interface Unfinished {
  folder: string;
  /** Path that the file had in the inbox, with `/`. */
  dropped: string;
}

/** Where to look, and for whom. */
export interface AdoptOptions {
  inbox: string;
  spool: string;
  owner: Owner;
  /** Ending of marker files. */
  marker: string;
  /** True for claims that this watcher is working on. */
  busy: (id: string) => boolean;
}

const gone = ['ENOENT', 'ENOTDIR'];

const fileBelow = async (folder: string): Promise<string | null> => {
  const entries = await unless(readdir(folder, { withFileTypes: true, recursive: true }), gone, []);
  const file = entries.find((entry) => entry.isFile());
  return file === undefined ? null : relative(folder, join(file.parentPath, file.name)).split(sep).join('/');
};

/** Renames the folder of a dead watcher's claim to one of ours: of several watchers that try, one gets it. */
const takeOver = async (spool: string, name: string, claimedAt: number, token: string): Promise<string | null> => {
  const folder = join(spool, claimId(claimedAt, token));
  const moved = rename(join(spool, name), folder).then(() => folder);
  return await unless(moved, [...gone, 'ENOTEMPTY', 'EEXIST'], null);
};

const adopt = async (folder: string, { inbox, marker }: AdoptOptions): Promise<Unfinished | null> => {
  const dropped = await fileBelow(join(folder, 'file'));
  if (dropped !== null) return { folder, dropped };
  const marked = await fileBelow(join(folder, 'marker'));
  // No record and no file: killed between marker and file. A marker without its file would let a later one pass unsettled.
  if (marked !== null && (await unless(lstat(join(inbox, marked)), gone, null)) !== null) {
    if ((await unless(lstat(claimPaths(folder, marked).record), gone, null)) === null) {
      await putMarkerBack(folder, marked, join(inbox, marked + marker));
    }
  }
  await removeClaimFolder(folder, marked);
  return null;
};

const forgetDeadOwners = async (spool: string, owner: Owner, tokens: Set<string>): Promise<void> => {
  for (const name of await unless(readdir(join(spool, '.owners')), gone, [])) {
    const token = name.replace(/\.json$/, '');
    if (tokens.has(token) || !(await owner.isDead(token))) continue;
    await unless(unlink(join(spool, '.owners', name)), gone, undefined);
  }
};

/**
 * Takes over what nobody works on: claims without a record are adopted, leftovers of claims whose file has moved on are
 * removed, a marker taken without its file goes back. Claims of living watchers are left alone.
 */
export const adoptUnfinished = async (options: AdoptOptions): Promise<Unfinished[]> => {
  const { spool, owner, busy } = options;
  const adopted: Unfinished[] = [];
  const tokens = new Set<string>();
  for (const name of (await unless(readdir(spool), gone, [])).sort()) {
    const id = parseClaimId(name);
    if (id === null) continue;
    tokens.add(id.token);
    const folder = join(spool, name);
    if (busy(name) || (await readClaim(folder)) !== null) continue;
    const ours = id.token === owner.token;
    if (!ours && !(await owner.isDead(id.token))) continue;
    const own = ours ? folder : await takeOver(spool, name, id.claimedAt, owner.token);
    const unfinished = own === null ? null : await adopt(own, options);
    if (unfinished !== null) adopted.push(unfinished);
  }
  await forgetDeadOwners(spool, owner, tokens);
  return adopted;
};

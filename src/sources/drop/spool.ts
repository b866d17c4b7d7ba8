// The spool: dropped files that were claimed, each in a folder of its own, and the two ways out of it. Each way may be
// killed at any line and called again.
import { randomBytes } from 'node:crypto';
import { lstat, readdir, readFile, rename, rmdir, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { StateMismatchError } from '../../model/errors.ts';
import { idsOfKey } from '../../model/key.ts';
import { sourceFingerprintSchema } from '../../model/ledger-entry.ts';
import type { Reason } from '../../model/report.ts';
import type { ResourceWish } from '../../model/wish.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { lineOfFile } from '../../util/file-line.ts';
import { exists, gone, makeFolder, moveWithoutReplacing, partOf, unless, writeDurably } from '../../util/files.ts';
import { parsedJson } from '../../util/json.ts';
import { faultyFolder } from './drop-target.ts';

const claimIdPattern = /^\d{13}-[0-9a-f]{8}$/;

const recordSchema = z.object({
  /** `<Unix ms of the claim>-<watcher token>`; ids sort by the time of their claims. */
  id: z.string().regex(claimIdPattern),
  dataset: z.string(),
  resource: z.string(),
  name: z.string(),
  /** Path relative to the inbox, with `/`. */
  dropped: z.string(),
  claimedAt: z.number().int(),
  /** Made in the spool. */
  fingerprint: sourceFingerprintSchema,
});

/** A dropped file that was taken out of the inbox, whole and hashed. `path` is absolute and lies in the spool. */
export interface Claim extends z.infer<typeof recordSchema> {
  path: string;
}

/** The folders of an inbox; in `faulty` people look for files that were set aside. */
export const foldersOf = (inbox: string) => {
  const own = join(inbox, '.sluice');
  return { inbox, spool: join(own, 'spool'), archive: join(own, 'archive'), faulty: join(inbox, faultyFolder) };
};

export type InboxFolders = ReturnType<typeof foldersOf>;

/** Writes `id` into `<spool>/.sluice-id` where there is none. @throws StateMismatchError when it holds another id */
export const pairSpool = async (spool: string, id: string): Promise<void> => {
  const path = join(spool, '.sluice-id');
  await makeFolder(spool);
  if ((await unless(readFile(path, 'utf8'), ['ENOENT'], null)) === null) {
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    await writeFile(temporary, `${id}\n`);
    if (!(await moveWithoutReplacing(temporary, path))) await unlink(temporary);
  }
  const found = (await readFile(path, 'utf8')).trim();
  if (found === id) return;
  const hint = `use the Redis of that service, use another inbox here, or, if that Redis is permanently gone, delete ${path}`;
  throw new StateMismatchError(
    `the spool ${spool} belongs to another Redis (it holds the id ${found}, ours is ${id})`,
    { hint },
  );
};

export const claimId = (claimedAt: number, token: string): string => `${String(claimedAt).padStart(13, '0')}-${token}`;

/** What the path of a file that is, or was, in a spool says of it; null for another path. */
export const inSpool = (path: string) => {
  const [, inbox, at, dropped = ''] = /^(.*)\/\.sluice\/spool\/(\d{13})-[0-9a-f]{8}\/file\/(.+)$/s.exec(path) ?? [];
  return inbox === undefined ? null : { folders: foldersOf(inbox), claimedAt: Number(at), dropped };
};

/** Reads time and watcher token out of a claim id; null when the name is none. */
export const parseClaimId = (name: string): { claimedAt: number; token: string } | null =>
  claimIdPattern.test(name) ? { claimedAt: Number(name.slice(0, 13)), token: name.slice(14) } : null;

/** Parts of a claim's own folder. The file keeps its path in the inbox, so that a claim without a record shows where it came from. */
export const claimPaths = (folder: string, dropped: string) => ({
  file: join(folder, 'file', dropped),
  marker: join(folder, 'marker', dropped),
  record: join(folder, 'claim.json'),
});

const folderOfClaim = ({ path, dropped }: Claim): string => path.slice(0, -join('/file', dropped).length);

const foldersOfClaim = (claim: Claim): InboxFolders => foldersOf(dirname(dirname(dirname(folderOfClaim(claim)))));

export const writeRecord = async (claim: Claim): Promise<void> => {
  const { path: _, ...record } = claim;
  await writeDurably(claimPaths(folderOfClaim(claim), claim.dropped).record, `${JSON.stringify(record, null, 2)}\n`);
};

export const readClaim = async (folder: string): Promise<Claim | null> => {
  const text = await unless(readFile(join(folder, 'claim.json'), 'utf8'), gone, '');
  // A torn record is no record: the claim is completed again.
  const record = recordSchema.safeParse(parsedJson(text)).data;
  if (record?.id !== basename(folder)) return null;
  const path = claimPaths(folder, record.dropped).file;
  return (await unless(lstat(path), gone, null))?.isFile() ? { ...record, path } : null;
};

const removeEmpty = async (folder: string): Promise<void> => {
  const entries = await unless(readdir(folder, { withFileTypes: true }), gone, []);
  for (const entry of entries) if (entry.isDirectory()) await removeEmpty(join(folder, entry.name));
  await unless(rmdir(folder), ['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'], undefined);
};

/** Removes what is left of a claim whose file has moved on. Folders go only when empty, so that a file is never deleted. */
export const removeClaimFolder = async (folder: string, dropped: string | null): Promise<void> => {
  // What a kill leaves of a record or a reason that was being written.
  const temporary = (await unless(readdir(folder), gone, [])).filter((name) => /^\..*\.tmp$/.test(name));
  const spent = [...temporary, 'claim.json'].map((name) => join(folder, name));
  if (dropped !== null) spent.unshift(claimPaths(folder, dropped).marker);
  for (const path of spent) await unless(unlink(path), gone, undefined);
  await removeEmpty(folder);
};

const readLimit = 32;

const claimIds = async (spoolDir: string): Promise<string[]> =>
  (await unless(readdir(spoolDir), ['ENOENT'], [])).filter((name) => parseClaimId(name) !== null).sort();

/** All complete claims of a spool folder, oldest first; an absent folder holds none. Claims still being made are left out. */
export const listClaims = async (spoolDir: string): Promise<Claim[]> => {
  const claims = await eachAtOnce(await claimIds(spoolDir), readLimit, (id) => readClaim(join(spoolDir, id)));
  return claims.filter((claim) => claim !== null);
};

export const countClaims = async (spoolDir: string): Promise<number> => {
  const records = (await claimIds(spoolDir)).map((id) => join(spoolDir, id, 'claim.json'));
  return (await eachAtOnce(records, readLimit, exists)).filter(Boolean).length;
};

export const putMarkerBack = async (folder: string, dropped: string, target: string): Promise<void> => {
  await unless(moveWithoutReplacing(claimPaths(folder, dropped).marker, target), gone, false);
};

/** How often (ms) a watcher shows that it is working on a claim, and after how long without a sign others take it over. */
export const beatMs = 2_000;
export const silentMs = 10_000;

/** Shows that a watcher is working on the claim in that folder. */
export const beat = async (folder: string): Promise<void> => {
  const now = new Date();
  await unless(utimes(folder, now, now), gone, undefined);
};

interface AdoptOptions {
  inbox: string;
  spool: string;
  token: string;
  marker: string;
  busy: (id: string) => boolean;
}

const fileBelow = async (folder: string): Promise<string | null> => {
  const entries = await unless(readdir(folder, { withFileTypes: true, recursive: true }), gone, []);
  const file = entries.find((entry) => entry.isFile());
  return file === undefined ? null : relative(folder, join(file.parentPath, file.name)).split(sep).join('/');
};

/** Renames the folder of an abandoned claim to one of ours: of several watchers that try, one gets it. */
const takeOver = async (spool: string, name: string, claimedAt: number, token: string): Promise<string | null> => {
  const folder = join(spool, claimId(claimedAt, token));
  const moved = rename(join(spool, name), folder).then(() => folder);
  return await unless(moved, [...gone, 'ENOTEMPTY', 'EEXIST'], null);
};

/** The path that the file in a folder of ours, which is to be settled and recorded, had in the inbox; null for no file. */
const adopt = async (folder: string, { inbox, marker }: AdoptOptions): Promise<string | null> => {
  const dropped = await fileBelow(join(folder, 'file'));
  if (dropped !== null) return dropped;
  const marked = await fileBelow(join(folder, 'marker'));
  // No record and no file: killed between marker and file. A marker without its file would let a later one pass unsettled.
  if (marked !== null && (await exists(join(inbox, marked))) && !(await exists(claimPaths(folder, marked).record)))
    await putMarkerBack(folder, marked, join(inbox, marked + marker));
  await removeClaimFolder(folder, marked);
  return null;
};

/**
 * Takes over abandoned work: claims without a record are adopted, leftovers of claims whose file has moved on are
 * removed, a marker taken without its file goes back. Claims that another watcher is working on are left alone; should one
 * be taken over all the same, that watcher finds nothing in its place and gives it up. `othersUntil`: when (Unix ms) the first
 * of those counts as abandoned unless its watcher shows a sign; Infinity where there is none.
 */
export const adoptUnfinished = async (options: AdoptOptions) => {
  const { spool, token, busy } = options;
  const unfinished: { folder: string; dropped: string }[] = [];
  let othersUntil = Number.POSITIVE_INFINITY;
  for (const name of (await unless(readdir(spool), gone, [])).sort()) {
    const id = parseClaimId(name);
    const folder = join(spool, name);
    if (id === null || busy(name) || (await readClaim(folder)) !== null) continue;
    const isOurs = id.token === token;
    const silentAt = isOurs ? 0 : ((await unless(stat(folder), gone, null))?.mtimeMs ?? 0) + silentMs;
    if (silentAt > Date.now()) {
      othersUntil = Math.min(othersUntil, silentAt);
      continue;
    }
    const own = isOurs ? folder : await takeOver(spool, name, id.claimedAt, token);
    const dropped = own === null ? null : await adopt(own, options);
    if (own !== null && dropped !== null) unfinished.push({ folder: own, dropped });
  }
  return { unfinished, othersUntil };
};

/** UTC time that sorts as text and may be part of a file name: `20261130T113344.123Z`. */
const stamp = (unixMs: number): string => new Date(unixMs).toISOString().replaceAll(/[-:]/g, '');

const versionPattern = /^\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}(\.[^.]*)?$/;

/**
 * Moves a claim's file to `target`, a name made of this claim alone, with `note` beside it (written first). Returns the target;
 * null for a file that is in neither place, and for one that was written to since: it stays, and its watcher claims it again.
 */
const moveOut = async (claim: Claim, target: string, note: { ending: string; says: object } | null) => {
  const folder = folderOfClaim(claim);
  const stats = await unless(lstat(claim.path, { bigint: true }), gone, null);
  const { bytes, mtimeNs } = claim.fingerprint;
  if (stats !== null && (Number(stats.size) !== bytes || String(stats.mtimeNs) !== mtimeNs)) {
    await unless(unlink(claimPaths(folder, claim.dropped).record), gone, undefined);
    return null;
  }
  await makeFolder(dirname(target));
  // What a kill leaves of the note goes with the claim.
  if (stats !== null && note !== null)
    await writeDurably(`${target}${note.ending}`, stringify(note.says), partOf(target, folder));
  await unless(rename(claim.path, target), gone, undefined);
  await removeClaimFolder(folder, claim.dropped);
  return (await exists(target)) ? target : null;
};

const prune = async (folder: string, keep: number): Promise<void> => {
  const versions = (await readdir(folder)).filter((name) => versionPattern.test(name)).sort();
  const oldest = versions.slice(0, -Math.max(1, keep));
  for (const name of oldest.flatMap((version) => [version, `${version}${fixesEnding}`]))
    await unless(unlink(join(folder, name)), ['ENOENT'], undefined);
};

/** Ends the name of the note beside an archived file that was fixed on its way. */
const fixesEnding = '.fixes.yaml';

/**
 * Moves a published (or superseded) claim to `<inbox>/.sluice/archive/<dataset>/<resource>/<UTC time>-<sha8>.csv`, as
 * {@link moveOut}, with {@link fixesEnding} where it was fixed; of that resource the newest `keep` (at least 1) stay there.
 */
export const archiveClaim = async (claim: Claim, { keep, fixes = [] }: { keep: number; fixes?: string[] }) => {
  const { dataset, resource, claimedAt, name } = claim;
  const { sha256 } = claim.fingerprint;
  const folder = join(foldersOfClaim(claim).archive, dataset, resource);
  const says = { file: claim.dropped, when: new Date().toISOString(), sha256, fixes };
  const target = join(folder, `${stamp(claimedAt)}-${sha256.slice(0, 8)}${extname(name)}`);
  const moved = await moveOut(claim, target, fixes.length > 0 ? { ending: fixesEnding, says } : null);
  if (moved !== null) await prune(folder, keep);
  return moved;
};

type Named = Pick<Claim, 'dataset' | 'resource' | 'claimedAt' | 'name'>;

const asidePath = ({ faulty }: InboxFolders, { dataset, resource, claimedAt, name }: Named): string =>
  join(faulty, dataset, `${resource}-${stamp(claimedAt)}${extname(name)}`);

/** Where {@link quarantineClaim} puts the file of a wish; of one that was not dropped the path, where a line of it is at fault. */
export const asideOf = (
  { source, key }: Pick<ResourceWish, 'source' | 'key'>,
  { line }: Pick<Reason, 'line'> = {},
): Pick<Reason, 'file' | 'path'> => {
  if (source.kind !== 'file') return {};
  const spooled = source.claim === undefined ? null : inSpool(source.path);
  if (spooled) return { file: asidePath(spooled.folders, { ...spooled, ...idsOfKey(key), name: source.name }) };
  return line === undefined || source.url !== undefined ? {} : { path: source.path };
};

/** Moves a faulty claim to `<inbox>/_faulty/<dataset>/<resource>-<UTC time>.csv`, with `<name>.reason.yaml` beside it. */
export const quarantineClaim = async (claim: Claim, reason: Reason): Promise<string | null> => {
  const { claimedAt, dropped } = claim;
  const { bytes, sha256 } = claim.fingerprint;
  const { code, message, line, column } = reason;
  const hint = reason.hint ?? undefined;
  const context = (line !== undefined && lineOfFile(claim.path, line)) || undefined;
  const says = {
    file: dropped,
    code,
    message,
    line,
    column,
    context,
    hint,
    when: new Date().toISOString(),
    dropped: new Date(claimedAt).toISOString(),
    bytes,
    sha256,
    resubmit: `fix the file and drop it into the inbox again as ${dropped}; this copy and this note may then be deleted`,
  };
  return await moveOut(claim, asidePath(foldersOfClaim(claim), claim), { ending: '.reason.yaml', says });
};

/** Path of the newest archived version of a file that was dropped, or null. Its name holds only the first 8 digits: check its bytes. */
export const findArchived = async (
  path: string,
  { dataset, resource, sha256 }: Pick<Claim, 'dataset' | 'resource'> & { sha256: string },
): Promise<string | null> => {
  const spooled = inSpool(path);
  if (spooled === null) return null;
  const folder = join(spooled.folders.archive, dataset, resource);
  const names = await unless(readdir(folder), gone, []);
  const name = names.sort().findLast((candidate) => candidate.includes(`-${sha256.slice(0, 8)}`));
  return name === undefined ? null : join(folder, name);
};

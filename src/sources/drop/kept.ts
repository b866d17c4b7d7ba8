// The last good file of each resource, kept in the state folder so that it can be attached again when its successor fails.
import { constants, existsSync, renameSync, type Stats } from 'node:fs';
import { copyFile, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { exists, isErrno, keepPrivate, makeFolder, unless } from '../../util/files.ts';
import { factsOf, type StatFacts, sameFacts } from './fingerprint.ts';

/** Where files are kept (absolute, made at first use), and how much; 0 bytes keeps nothing. */
export type KeptSettings = Config['kept'] & { dir: string };

export type KeptFor = Record<'portal' | 'uuid', string>;

export interface FileToKeep {
  path: string;
  sha256: string;
  /** Stat facts of the file when its sha256 was made. */
  facts: StatFacts;
}

const rescanMs = 60_000;

/** False when the file has moved since its sha256 was made; nothing is left then. */
const copyTo = async (part: string, { path, facts }: FileToKeep): Promise<boolean> => {
  await copyFile(path, part, constants.COPYFILE_FICLONE);
  if (sameFacts(factsOf(await stat(path, { bigint: true })), facts)) return true;
  await rm(part, { force: true });
  return false;
};

export type KeptFiles = ReturnType<typeof keptFiles>;

/**
 * Keeps one file for each resource, as `<dir>/<portal>/<uuid>.<sha256>`: a folder for each would cost as much as the copy. A
 * copy (free where the file system shares blocks) and not a hard link, which a later write into the original would change as
 * well. Several workers of a host may share the folder; the total then holds by about a minute.
 */
export const keptFiles = ({ dir, totalBytes, fileBytes }: KeptSettings) => {
  /** Kept files by path, the longest kept first. */
  let known = new Map<string, number>();
  /** Bytes of all of them, as there may be too many to add them up for each file; and when they were read last. */
  let [total, scannedAt] = [0, 0];
  if (existsSync(dir)) keepPrivate(dir, 0o700); // it may have been made open to others

  const pathOf = ({ portal, uuid }: KeptFor, sha256: string): string => join(dir, portal, `${uuid}.${sha256}`);

  const leaveOut = (path: string): void => {
    total -= known.get(path) ?? 0;
    known.delete(path);
  };

  const remove = async (path: string): Promise<void> => {
    leaveOut(path);
    await rm(path, { force: true });
  };

  /** Reads what is kept; parts of copies that a kill left behind are removed. */
  const scan = async (): Promise<void> => {
    scannedAt = Date.now();
    const found: { path: string; stats: Stats }[] = [];
    for (const entry of await unless(readdir(dir, { recursive: true, withFileTypes: true }), ['ENOENT'], [])) {
      const path = join(entry.parentPath, entry.name);
      const stats = entry.isFile() ? await unless(stat(path), ['ENOENT'], null) : null;
      if (stats !== null && !path.endsWith('.part')) found.push({ path, stats });
      else if (stats !== null && Date.now() - stats.mtimeMs > rescanMs) await rm(path, { force: true });
    }
    found.sort((a, b) => a.stats.ctimeMs - b.stats.ctimeMs);
    known = new Map(found.map(({ path, stats }) => [path, stats.size]));
    total = found.reduce((sum, { stats }) => sum + stats.size, 0);
  };

  const copy = async (owner: KeptFor, file: FileToKeep): Promise<boolean> => {
    const target = pathOf(owner, file.sha256);
    const part = `${target}.part`; // what a kill left there is written over when the job goes on
    const isCopied = await copyTo(part, file).catch(async (error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
      await makeFolder(dirname(target), 0o700);
      return copyTo(part, file);
    });
    if (!isCopied) return false;
    renameSync(part, target);
    if (Date.now() - scannedAt >= rescanMs) await scan();
    leaveOut(target);
    known.set(target, file.facts.bytes);
    total += file.facts.bytes;
    for (const oldest of known.keys()) {
      if (total <= totalBytes) break;
      await remove(oldest);
    }
    return true;
  };

  const forget = (owner: KeptFor, sha256: string): Promise<void> => remove(pathOf(owner, sha256));

  return {
    forget,

    /** Keeps a file in place of the one with sha256 `former`. False when it is too large, has moved, or all is off. */
    keep: async (owner: KeptFor, file: FileToKeep, former: string | null): Promise<boolean> => {
      const { bytes } = file.facts;
      const isTooLarge = bytes > fileBytes || bytes > totalBytes || totalBytes === 0 || fileBytes === 0;
      const isKept = !isTooLarge && (await copy(owner, file));
      if (former !== null && former !== file.sha256 && (isKept || isTooLarge)) await forget(owner, former);
      return isKept;
    },

    /** Path of the kept file with that content, or null. Its bytes are the caller's to check. */
    find: async (owner: KeptFor, sha256: string): Promise<string | null> => {
      const path = pathOf(owner, sha256);
      return (await exists(path)) ? path : null;
    },
  };
};

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

interface FileToKeep {
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

/**
 * Keeps one file for each resource, as `<dir>/<portal>/<uuid>.<sha256>`: a folder for each would cost as much as the copy. A
 * copy (free where the file system shares blocks) and not a hard link, which a later write into the original would change as
 * well. Several workers of a host may share the folder; the total then holds by about a minute.
 */
export class KeptFiles {
  readonly #settings: KeptSettings;
  /** Kept files by path, the longest kept first. */
  #known = new Map<string, number>();
  /** Bytes of all of them: there may be too many to add them up for each file. */
  #total = 0;
  #scannedAt = 0;

  /** Closes a folder that is open to others. */
  constructor(settings: KeptSettings) {
    this.#settings = settings;
    if (existsSync(settings.dir)) keepPrivate(settings.dir, 0o700);
  }

  /** Keeps a file in place of the one with sha256 `former`. False when it is too large, has moved, or all is off. */
  async keep(owner: KeptFor, file: FileToKeep, former: string | null): Promise<boolean> {
    const { totalBytes, fileBytes } = this.#settings;
    const { bytes } = file.facts;
    const isTooLarge = bytes > fileBytes || bytes > totalBytes || totalBytes === 0 || fileBytes === 0;
    const isKept = !isTooLarge && (await this.#copy(owner, file));
    if (former !== null && former !== file.sha256 && (isKept || isTooLarge)) await this.forget(owner, former);
    return isKept;
  }

  async forget(owner: KeptFor, sha256: string): Promise<void> {
    await this.#remove(this.#path(owner, sha256));
  }

  /** Path of the kept file with that content, or null. Its bytes are the caller's to check. */
  async find(owner: KeptFor, sha256: string): Promise<string | null> {
    const path = this.#path(owner, sha256);
    return (await exists(path)) ? path : null;
  }

  #path({ portal, uuid }: KeptFor, sha256: string): string {
    return join(this.#settings.dir, portal, `${uuid}.${sha256}`);
  }

  async #copy(owner: KeptFor, file: FileToKeep): Promise<boolean> {
    const target = this.#path(owner, file.sha256);
    const part = `${target}.part`; // what a kill left there is written over when the job goes on
    const isCopied = await copyTo(part, file).catch(async (error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
      await makeFolder(dirname(target), 0o700);
      return copyTo(part, file);
    });
    if (!isCopied) return false;
    renameSync(part, target);
    if (Date.now() - this.#scannedAt >= rescanMs) await this.#scan();
    this.#leaveOut(target);
    this.#known.set(target, file.facts.bytes);
    this.#total += file.facts.bytes;
    for (const oldest of this.#known.keys()) {
      if (this.#total <= this.#settings.totalBytes) break;
      await this.#remove(oldest);
    }
    return true;
  }

  #leaveOut(path: string): void {
    this.#total -= this.#known.get(path) ?? 0;
    this.#known.delete(path);
  }

  async #remove(path: string): Promise<void> {
    this.#leaveOut(path);
    await rm(path, { force: true });
  }

  /** Reads what is kept; parts of copies that a kill left behind are removed. */
  async #scan(): Promise<void> {
    this.#scannedAt = Date.now();
    const found: { path: string; stats: Stats }[] = [];
    const { dir } = this.#settings;
    for (const entry of await unless(readdir(dir, { recursive: true, withFileTypes: true }), ['ENOENT'], [])) {
      const path = join(entry.parentPath, entry.name);
      const stats = entry.isFile() ? await unless(stat(path), ['ENOENT'], null) : null;
      if (stats !== null && !path.endsWith('.part')) found.push({ path, stats });
      else if (stats !== null && Date.now() - stats.mtimeMs > rescanMs) await rm(path, { force: true });
    }
    found.sort((a, b) => a.stats.ctimeMs - b.stats.ctimeMs);
    this.#known = new Map(found.map(({ path, stats }) => [path, stats.size]));
    this.#total = found.reduce((sum, { stats }) => sum + stats.size, 0);
  }
}

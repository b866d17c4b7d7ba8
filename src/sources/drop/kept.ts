// The last good file of each resource, kept in the state folder so that it can be attached again when its successor fails.
import { constants, existsSync, renameSync, writeFileSync } from 'node:fs';
import { copyFile, readdir, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists, isErrno, unless } from '../../util/durable.ts';
import { keepPrivate } from '../../util/file-calls.ts';
import { makeFolder } from '../../util/make-folder.ts';
import { factsOf, type StatFacts, sameFacts } from './fingerprint.ts';

/** Where files are kept, and how much; 0 bytes keeps nothing. */
export interface KeptSettings {
  /** Absolute; made at first use. */
  dir: string;
  /** All files together; the oldest are removed first. */
  totalBytes: number;
  /** A larger file is not kept. */
  fileBytes: number;
}

/** The resource a file is kept for. */
export interface KeptFor {
  portal: string;
  uuid: string;
}

/** A file to keep. */
interface FileToKeep {
  path: string;
  sha256: string;
  /** Stat facts of the file when its sha256 was made. */
  facts: StatFacts;
  /** The bytes of a small file that have that sha256, where they have been read already. */
  content?: Buffer | undefined;
}

interface Kept {
  bytes: number;
  /** Unix milliseconds. */
  since: number;
}

const rescanMs = 60_000;

/** False when the file has moved since its sha256 was made; nothing is left then. */
const copyTo = async (part: string, { path, facts, content }: FileToKeep): Promise<boolean> => {
  if (content) {
    // A few kilobytes into a folder of our own: handing them to another thread takes longer than writing them.
    writeFileSync(part, content);
    return true;
  }
  await copyFile(path, part, constants.COPYFILE_FICLONE);
  if (sameFacts(factsOf(await stat(path, { bigint: true })), facts)) return true;
  await unlink(part);
  return false;
};

/**
 * Keeps one file for each resource, as `<dir>/<portal>/<uuid>.<sha256>`: a folder for each would cost as much as the
 * copy. A copy and not a hard link, because a later write into the original would change a link as well; where the file system shares blocks (reflink) the copy costs none. Several workers of a host may share the
 * folder; the total then holds by about a minute.
 */
export class KeptFiles {
  readonly #settings: KeptSettings;
  #known: Map<string, Kept> | null = null;
  #total = 0;
  #scannedAt = 0;
  #scanning: Promise<void> | null = null;

  /** Closes a folder that is open to others. */
  constructor(settings: KeptSettings) {
    this.#settings = settings;
    if (existsSync(settings.dir)) keepPrivate(settings.dir, 0o700);
  }

  /**
   * Keeps a file in the place of the one kept before, whose sha256 is `former`. False when it is too large, keeping is
   * off, or it has moved.
   */
  async keep(owner: KeptFor, file: FileToKeep, former: string | null): Promise<boolean> {
    const { totalBytes, fileBytes } = this.#settings;
    const { bytes } = file.facts;
    const isTooLarge = bytes > fileBytes || bytes > totalBytes || totalBytes === 0 || fileBytes === 0;
    const isKept = !isTooLarge && (await this.#copy(owner, file));
    if (former !== null && former !== file.sha256 && (isKept || isTooLarge)) {
      await this.#remove(this.#path(owner, former));
    }
    return isKept;
  }

  /** Removes a kept file. */
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
    const part = `${target}.${process.pid}.part`;
    const isCopied = await copyTo(part, file).catch(async (error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
      await makeFolder(dirname(target), 0o700);
      return copyTo(part, file);
    });
    if (!isCopied) return false;
    renameSync(part, target);
    await this.#account(target, file.facts.bytes);
    return true;
  }

  async #remove(path: string): Promise<void> {
    this.#drop(path);
    await rm(path, { force: true });
  }

  async #account(path: string, bytes: number): Promise<void> {
    if (this.#known === null) await this.#scan();
    this.#drop(path);
    this.#known?.set(path, { bytes, since: Date.now() });
    this.#total += bytes;
    if (this.#total <= this.#settings.totalBytes) return;
    // Others may have removed some meanwhile.
    if (Date.now() - this.#scannedAt >= rescanMs) await this.#scan();
    const oldest = [...(this.#known ?? [])]
      .filter(([other]) => other !== path)
      .sort(([, a], [, b]) => a.since - b.since);
    for (const [other] of oldest) {
      if (this.#total <= this.#settings.totalBytes) return;
      await this.#remove(other);
    }
  }

  #drop(path: string): void {
    this.#total -= this.#known?.get(path)?.bytes ?? 0;
    this.#known?.delete(path);
  }

  /** Reads what is kept; parts of copies that a kill left behind are removed. One scan at a time. */
  #scan(): Promise<void> {
    this.#scanning ??= this.#readAll().finally(() => {
      this.#scanning = null;
    });
    return this.#scanning;
  }

  async #readAll(): Promise<void> {
    const known = new Map<string, Kept>();
    const { dir } = this.#settings;
    const entries = await unless(readdir(dir, { recursive: true, withFileTypes: true }), ['ENOENT'], []);
    for (const entry of entries.filter((each) => each.isFile())) {
      const path = join(entry.parentPath, entry.name);
      const stats = await unless(stat(path), ['ENOENT'], null);
      if (stats === null) continue;
      if (!entry.name.endsWith('.part')) known.set(path, { bytes: stats.size, since: stats.ctimeMs });
      else if (Date.now() - stats.mtimeMs > rescanMs) await rm(path, { force: true });
    }
    this.#known = known;
    this.#scannedAt = Date.now();
    this.#total = [...known.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

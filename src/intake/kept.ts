// The last good file of each resource, kept in the state folder so that it can be attached again when its successor fails.
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { unless } from './durable.ts';
import { factsOf, type StatFacts, sameFacts } from './fingerprint.ts';

/** Where files are kept, and how much; 0 bytes keeps nothing. */
export interface KeptSettings {
  /** Absolute; made at first use. */
  dir: string;
  /** All files together; the longest kept go first. */
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
export interface FileToKeep {
  path: string;
  /** Name whose ending the copy gets. */
  name: string;
  sha256: string;
  /** Stat facts of the file when its sha256 was made. */
  facts: StatFacts;
}

interface Kept {
  bytes: number;
  /** Unix milliseconds. */
  since: number;
}

const rescanMs = 60_000;

/**
 * Keeps one file for each resource, as `<dir>/<portal>/<uuid>/<sha256>.<ending>`. A copy and not a hard link, because
 * whoever writes into the original afterwards would write into a link as well; where the file system shares blocks
 * (reflink) the copy costs none. Several workers of a host may share the folder; the total then holds by about a minute.
 */
export class KeptFiles {
  readonly #settings: KeptSettings;
  #known: Map<string, Kept> | null = null;
  #total = 0;
  #scannedAt = 0;
  #scanning: Promise<void> | null = null;

  constructor(settings: KeptSettings) {
    this.#settings = settings;
  }

  /** Keeps a file in the place of the one kept before; false when it is too large, keeping is off, or it has moved. */
  async keep(owner: KeptFor, file: FileToKeep): Promise<boolean> {
    const folder = this.#folder(owner);
    const { totalBytes, fileBytes } = this.#settings;
    const { bytes } = file.facts;
    if (bytes > fileBytes || bytes > totalBytes || totalBytes === 0 || fileBytes === 0) {
      await this.#forget(folder, null);
      return false;
    }
    const target = join(folder, `${file.sha256}${extname(file.name)}`);
    const isNew = (await mkdir(folder, { recursive: true })) !== undefined;
    const part = join(folder, `.${process.pid}.part`);
    await copyFile(file.path, part, constants.COPYFILE_FICLONE);
    if (!sameFacts(factsOf(await stat(file.path, { bigint: true })), file.facts)) {
      await unlink(part);
      return false;
    }
    await rename(part, target);
    if (!isNew) await this.#forget(folder, target);
    await this.#account(target, bytes);
    return true;
  }

  /** Path of the kept file with that content, or null. Its bytes are the caller's to check. */
  async find(owner: KeptFor, sha256: string): Promise<string | null> {
    const folder = this.#folder(owner);
    const names = await unless(readdir(folder), ['ENOENT', 'ENOTDIR'], []);
    const name = names.find((candidate) => candidate.startsWith(sha256));
    return name === undefined ? null : join(folder, name);
  }

  #folder({ portal, uuid }: KeptFor): string {
    return join(this.#settings.dir, portal, uuid);
  }

  /** Removes what a folder holds beside one file. */
  async #forget(folder: string, but: string | null): Promise<void> {
    for (const name of await unless(readdir(folder), ['ENOENT'], [])) {
      const path = join(folder, name);
      if (path === but) continue;
      await rm(path, { force: true });
      this.#drop(path);
    }
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
      this.#drop(other);
      await rm(other, { force: true });
      await unless(rmdir(dirname(other)), ['ENOENT', 'ENOTEMPTY', 'EEXIST'], undefined);
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

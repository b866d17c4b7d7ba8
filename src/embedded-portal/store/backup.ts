// Copies a store while it is served: one state of the database with every file that it names.
import { constants, existsSync, linkSync, readdirSync, writeFileSync } from 'node:fs';
import { copyFile, link, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PortalStoreError } from '../../model/errors.ts';
import { makeFolder } from '../../util/make-folder.ts';
import { syncPath } from './writer.ts';

/** What a backup holds. */
interface BackupFacts {
  nodes: number;
  files: number;
  tables: number;
}

interface Named {
  folder: 'files' | 'tables';
  name: string;
}

const rounds = 20;

const fault = (message: string, hint: string, cause?: unknown): PortalStoreError =>
  new PortalStoreError(message, { hint, cause });

/**
 * Writes the store in `dataDir` to the new folder `target`, which is a store itself: `sluice portal --data` serves it.
 * The portal may serve and write meanwhile; the backup is the state of one moment within the call, durable when this
 * resolves. Files are linked where both are on one file system (they never change), else copied. Throws
 * {@link PortalStoreError} when there is no store, the target exists, or something cannot be written; nothing is left then.
 */
export const backupStore = async (dataDir: string, target: string): Promise<BackupFacts> => {
  const [from, to] = [resolve(dataDir), resolve(target)];
  if (!existsSync(join(from, 'portal.db'))) {
    throw fault(`there is no portal store in ${from}`, 'name the folder of the store with --data');
  }
  if (existsSync(to)) throw fault(`${to} exists already`, 'name a folder that does not exist yet');
  const partial = `${to}.partial-${process.pid}`;
  try {
    for (const folder of [partial, join(partial, 'files'), join(partial, 'tables')]) {
      await makeFolder(folder, 0o700);
    }
    const facts = await collect(from, partial);
    for (const path of [join(partial, 'portal.db'), join(partial, 'files'), join(partial, 'tables'), partial]) {
      await syncPath(path);
    }
    await rename(partial, to);
    await syncPath(resolve(to, '..'));
    return facts;
  } catch (cause) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined); // the first fault is reported
    if (cause instanceof PortalStoreError) throw cause;
    throw fault(
      `the store ${from} cannot be copied to ${to}: ${(cause as Error).message}`,
      'check space and permissions',
      cause,
    );
  }
};

/**
 * What the database names may be replaced, and its file removed, before it is copied: then the database is copied again.
 * What was copied before stays, so that each round has less to do. All files are linked just before the database is
 * copied: only one that comes and goes within that moment is missed, however fast files are replaced.
 */
const collect = async (from: string, partial: string): Promise<BackupFacts> => {
  const copy = join(partial, 'portal.db');
  for (let round = 0; round < rounds; round += 1) {
    await rm(copy, { force: true });
    linkAll(from, partial);
    snapshot(join(from, 'portal.db'), copy);
    const { named, nodes } = namesIn(copy);
    const missing = await bring(named, from, partial);
    if (missing === 0) {
      await prune(named, partial);
      const tables = named.filter(({ folder }) => folder === 'tables').length;
      return { nodes, files: named.length - tables, tables };
    }
  }
  throw fault(
    `files of the store ${from} are missing, or change faster than they can be copied`,
    'start the portal once, which repairs its tables, then try again',
  );
};

const snapshot = (path: string, copy: string): void => {
  writeFileSync(copy, '', { flag: 'wx', mode: 0o600 }); // SQLite fills an empty file, and makes others readable to all
  const db = new DatabaseSync(path, { timeout: 10_000 });
  try {
    db.prepare('VACUUM INTO ?').run(copy);
  } finally {
    db.close();
  }
};

const namesIn = (copy: string): { named: Named[]; nodes: number } => {
  const db = new DatabaseSync(copy, { readOnly: true });
  try {
    const files = db.prepare('SELECT uuid AS name FROM file').all();
    const tables = db.prepare('SELECT table_file AS name FROM datastore WHERE table_file IS NOT NULL').all();
    return {
      named: [
        ...files.map(({ name }) => ({ folder: 'files' as const, name: String(name) })),
        ...tables.map(({ name }) => ({ folder: 'tables' as const, name: String(name) })),
      ],
      nodes: Number(db.prepare('SELECT count(*) AS n FROM node').get()?.n),
    };
  } finally {
    db.close();
  }
};

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Links or copies what is not there yet; returns how much of it is gone. */
const bring = async (named: Named[], from: string, partial: string): Promise<number> => {
  let missing = 0;
  for (const { folder, name } of named) {
    const [source, place] = [join(from, folder, name), join(partial, folder, name)];
    if (existsSync(place)) continue;
    try {
      await linkOrCopy(source, place);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      await rm(place, { force: true });
      missing += 1;
    }
  }
  return missing;
};

/** Links what is there and not linked yet; what cannot be linked is copied later, if the database names it. */
const linkAll = (from: string, partial: string): void => {
  for (const folder of ['files', 'tables']) {
    for (const name of readdirSync(join(from, folder))) {
      const place = join(partial, folder, name);
      if (existsSync(place)) continue;
      try {
        linkSync(join(from, folder, name), place);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') return; // another file system, or too many links
      }
    }
  }
};

const linkOrCopy = async (source: string, place: string): Promise<void> => {
  try {
    await link(source, place);
  } catch (error) {
    if (!['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'].includes(codeOf(error) ?? '')) throw error;
    await copyFile(source, place, constants.COPYFILE_EXCL);
    await syncPath(place);
  }
};

/** Removes what only an earlier round needed. */
const prune = async (named: Named[], partial: string): Promise<void> => {
  const kept = new Set(named.map(({ folder, name }) => join(folder, name)));
  for (const folder of ['files', 'tables']) {
    for (const name of await readdir(join(partial, folder))) {
      if (!kept.has(join(folder, name))) await rm(join(partial, folder, name), { force: true });
    }
  }
};

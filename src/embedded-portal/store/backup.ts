// Copies a store while it is served: one state of the database with every file that it names.
import { constants, existsSync, linkSync, writeFileSync } from 'node:fs';
import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PortalStoreError } from '../../model/errors.ts';
import { isErrno, makeFolder, syncNow } from '../../util/files.ts';
import { DatabaseSync } from '../../util/sqlite.ts';
import { statementsOf } from './statements.ts';

const folders = ['files', 'tables'];

const fault = (message: string, hint: string, cause?: unknown): PortalStoreError =>
  new PortalStoreError(message, { hint, cause });

/**
 * Writes the store in `dataDir`, as it is at one moment within the call, to the new folder `target`, which is a store
 * itself. Files are linked where both are on one file system (they never change), else copied; all is durable when this
 * resolves. Throws {@link PortalStoreError} when there is no store, or the target exists or cannot be written.
 */
export const backupStore = async (dataDir: string, target: string) => {
  const [from, to] = [resolve(dataDir), resolve(target)];
  if (!existsSync(join(from, 'portal.db'))) {
    throw fault(`there is no portal store in ${from}`, 'name the folder of the store with --data');
  }
  if (existsSync(to)) throw fault(`${to} exists already`, 'name a folder that does not exist yet');
  const partial = `${to}.partial-${process.pid}`;
  try {
    for (const folder of folders) await makeFolder(join(partial, folder), 0o700);
    const facts = await collect(from, partial);
    for (const name of ['portal.db', ...folders, '.']) syncNow(join(partial, name));
    await rename(partial, to);
    syncNow(resolve(to, '..'));
    return facts;
  } catch (cause) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined); // the first fault is reported
    if (cause instanceof PortalStoreError) throw cause;
    const why = (cause as Error).message;
    throw fault(`the store ${from} cannot be copied to ${to}: ${why}`, 'check space and permissions', cause);
  }
};

/**
 * What the database names may be removed before it is brought: then the database is copied again. All files are brought
 * just before that: only one that comes and goes within that moment is missed, however fast files are replaced.
 */
const collect = async (from: string, partial: string) => {
  const copy = join(partial, 'portal.db');
  for (let round = 0; round < 20; round += 1) {
    await rm(copy, { force: true });
    await bring(await namesOnDisk(from), from, partial);
    const { named, nodes } = snapshot(join(from, 'portal.db'), copy);
    if (!(await bring(named, from, partial))) continue;
    for (const name of await namesOnDisk(partial)) if (!named.includes(name)) await rm(join(partial, name));
    const tables = named.filter((name) => name.startsWith('tables/')).length;
    return { nodes, files: named.length - tables, tables };
  }
  throw fault(
    `files of the store ${from} are missing, or change faster than they can be copied`,
    'start the portal once, which repairs its tables, then try again',
  );
};

/** The files of a store, such as `files/UUID`. */
const namesOnDisk = async (dir: string): Promise<string[]> => {
  const all = folders.map(async (folder) => (await readdir(join(dir, folder))).map((name) => `${folder}/${name}`));
  return (await Promise.all(all)).flat();
};

/** Copies the database; returns how many nodes it has, and the files that it names. */
const snapshot = (path: string, copy: string): { named: string[]; nodes: number } => {
  writeFileSync(copy, '', { flag: 'wx', mode: 0o600 }); // SQLite fills an empty file, and makes others readable to all
  using original = new DatabaseSync(path, { timeout: 10_000 });
  original.prepare('VACUUM INTO ?').run(copy);
  using db = new DatabaseSync(copy, { readOnly: true });
  const { column, count } = statementsOf(db);
  const named = column<string>`SELECT 'files/' || uuid FROM file
    UNION SELECT 'tables/' || table_file FROM datastore WHERE table_file <> ''`;
  return { named, nodes: count`SELECT count(*) FROM node` };
};

/** Links or copies what is not there yet; false where some of it is gone. */
const bring = async (names: string[], from: string, partial: string): Promise<boolean> => {
  let isWhole = true;
  for (const name of names) {
    const [source, place] = [join(from, name), join(partial, name)];
    if (existsSync(place)) continue;
    try {
      await linkOrCopy(source, place);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
      await rm(place, { force: true });
      isWhole = false;
    }
  }
  return isWhole;
};

const linkOrCopy = async (source: string, place: string): Promise<void> => {
  try {
    linkSync(source, place); // at once: the shorter this takes, the fewer files change meanwhile
  } catch (error) {
    if (!isErrno(error, 'EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP')) throw error;
    await copyFile(source, place, constants.COPYFILE_EXCL);
    syncNow(place);
  }
};

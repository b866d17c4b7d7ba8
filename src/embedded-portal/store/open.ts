// The store of a portal: its folder, its database, the tables.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PortalPortError, PortalStoreError, SluiceError } from '../../model/errors.ts';
import { keepPrivate, makeFolder, syncNow } from '../../util/files.ts';
import { LockFile } from '../../util/lock-file.ts';
import { DatabaseSync } from '../../util/sqlite.ts';
import { defaultRoles, type RoleTable } from '../roles.ts';
import { openFiles, openNodes } from './nodes.ts';
import { makeTables } from './schema.ts';
import { statementsOf } from './statements.ts';
import { openTerms } from './terms.ts';
import { openFlood, openSessions, openUsers } from './users.ts';
import { writerOf } from './writer.ts';

/** An open store; this process alone holds it. */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** Throws {@link PortalStoreError} when the database is damaged: what is written to such a one is lost with it. */
const check = (db: DatabaseSync): void => {
  let found: unknown;
  try {
    found = db.prepare('PRAGMA quick_check(1)').get()?.quick_check;
  } catch (error) {
    found = (error as Error).message;
  }
  if (found === 'ok') return;
  throw new PortalStoreError(`the database of the portal store is damaged: ${String(found)}`, {
    hint: 'restore the last backup (`sluice portal backup` makes them); keep the damaged folder until the portal works again',
  });
};

const prepare = (dir: string): DatabaseSync => {
  const path = join(dir, 'portal.db');
  const db = new DatabaseSync(path, { timeout: 5000 });
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(path + suffix)) keepPrivate(path + suffix, 0o600);
  check(db);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY',
  );
  makeTables(db);
  return db;
};

/** Removes what a killed process left: half uploads, and bytes no row names. */
const sweep = (filesDir: string, uuids: string[]): void => {
  const known = new Set(uuids);
  for (const name of readdirSync(filesDir)) if (!known.has(name)) rmSync(join(filesDir, name), { force: true });
};

/** A store that was moved, or restored from a backup, still names its files where they were. */
const relocate = ({ column, run }: ReturnType<typeof statementsOf>, filesDir: string): void => {
  const place = join(filesDir, '/');
  for (const table of column<string>`SELECT name FROM sqlite_master WHERE sql LIKE '% path TEXT NOT NULL%'`) {
    run(`UPDATE ${table} SET path = ? || substr(path, -36) WHERE path <> ? || substr(path, -36)`, place, place);
  }
};

const failed = (dir: string, cause: unknown): PortalStoreError =>
  new PortalStoreError(`the portal store ${dir} cannot be opened: ${(cause as Error).message}`, {
    hint: 'check that the folder exists, may be written and has free space',
    cause,
  });

/** Another process, or another server of this one, serves the store. */
export class StoreHeldError extends PortalPortError {}

/**
 * Takes the lock of the store in `dir`: one process serves it at a time. Throws {@link StoreHeldError} when another
 * process does, {@link PortalStoreError} when the folder cannot be written.
 */
export const lockStore = (dir: string): LockFile => {
  let lock: LockFile | null = null;
  try {
    lock = new LockFile(join(dir, 'portal.lock'));
    if (lock.tryExclusive()) return lock;
  } catch (cause) {
    lock?.close();
    throw failed(dir, cause);
  }
  lock.close();
  throw new StoreHeldError(`another process serves the portal store ${dir}`, {
    hint: 'stop that process, or give this portal its own data folder',
  });
};

/**
 * Opens (or makes) the store in `dir`, brings its tables up to date and sweeps what a killed process left.
 * Throws PortalPortError when another process holds it, {@link PortalStoreError} when it cannot be opened.
 */
export const openStore = async (dir: string, roles: RoleTable = defaultRoles) => {
  const filesDir = join(dir, 'files');
  let lock: LockFile | null = null;
  try {
    for (const folder of [dir, filesDir]) {
      await makeFolder(folder);
      keepPrivate(folder, 0o700);
    }
    lock = lockStore(dir);
    const db = prepare(dir);
    const statements = statementsOf(db);
    const writer = writerOf(db);
    const users = openUsers(db, roles);
    const terms = openTerms(db);
    const files = openFiles(db);
    sweep(filesDir, files.uuids());
    relocate(statements, filesDir);
    let kept = { changes: -1, values: new Map<string, unknown>() };
    return {
      dir,
      db,
      users,
      terms,
      files,
      nodes: openNodes(db),
      sessions: openSessions(db),
      flood: openFlood(db),
      /** Runs synchronous work in one durable transaction (see {@link Writer}). */
      write: <T>(work: () => T): Promise<T> => writer.write(work),
      /** What takes long to make from the store: `make` makes it once for each state of the store. */
      kept: <T>(key: string, make: () => T): T => {
        const changes = statements.count`SELECT total_changes()`;
        if (kept.changes !== changes) kept = { changes, values: new Map() };
        if (!kept.values.has(key)) kept.values.set(key, make());
        return kept.values.get(key) as T; // of the same maker
      },
      pathOf: (file: { uuid: string }): string => join(filesDir, file.uuid),
      /** The bytes of files, and uploads that are not complete yet: those have no row, and a start removes them. */
      filesDir,
      /** Makes the names in `filesDir` durable. */
      syncFiles: (): void => syncNow(filesDir),
      tablesDir: join(dir, 'tables'),
      /** True when this call has just made the store. */
      isNew: users.count() === 0,
      /** Commits what is queued and gives the store back; idempotent. */
      close(): void {
        if (!db.isOpen) return;
        writer.flush();
        db.close();
        lock?.close();
      },
    };
  } catch (cause) {
    lock?.close();
    throw cause instanceof SluiceError ? cause : failed(dir, cause);
  }
};

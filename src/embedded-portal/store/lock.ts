// One process per store: a lock that the operating system drops when the process dies, however it dies.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PortalPortError, PortalStoreError } from '../../model/errors.ts';

/** A held lock. */
export interface StoreLock {
  /** Gives the lock back; idempotent. */
  release(): void;
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (error.errcode === 5 || error.errcode === 6);

/**
 * Takes the lock of the store in `dir` (an open exclusive transaction on `portal.lock`, so kill -9 frees it).
 * Throws {@link PortalPortError} when another process or server holds it, {@link PortalStoreError} when the folder
 * cannot be written.
 */
export const lockStore = (dir: string): StoreLock => {
  const path = join(dir, 'portal.lock');
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { timeout: 0 });
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (cause) {
    db?.close();
    if (isBusy(cause)) {
      throw new PortalPortError(`another process serves the portal store ${dir}`, {
        hint: 'stop that process, or give this portal its own data folder',
        cause,
      });
    }
    throw new PortalStoreError(`the portal store ${dir} cannot be opened: ${(cause as Error).message}`, {
      hint: 'check that the folder exists, may be written and has free space',
      cause,
    });
  }
  let held: DatabaseSync | null = db;
  return {
    release() {
      held?.close();
      held = null;
    },
  };
};

// A lock between processes that the kernel releases when its holder dies, whatever it dies of.
import { DatabaseSync } from './sqlite.ts';

/** SQLITE_BUSY: another connection holds the lock. */
const busy = 5;

/**
 * A lock on a file, held by one alone or by many together. It is the lock that SQLite takes on a
 * database, which is the one way Node offers to the kernel's file locks: no stale lock can be left behind and no process
 * number can be mistaken. The file stays empty. Two locks of one process exclude each other like those of two processes.
 */
export class LockFile {
  readonly #database: DatabaseSync;

  /** Opens or makes the file; holds nothing yet. Throws what SQLite throws where that cannot be. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: 0 });
  }

  /** Takes the lock for itself alone; false when anybody else holds it. */
  tryExclusive(): boolean {
    return this.#begin('BEGIN EXCLUSIVE');
  }

  /** Takes the lock together with others; false when it is held exclusively. */
  tryShared(): boolean {
    return this.#begin('BEGIN; SELECT count(*) FROM sqlite_schema');
  }

  /** Gives the lock back; does nothing when it is not held. */
  release(): void {
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** Gives the lock back and closes the file; may be called again. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Without a journal in memory, SQLite would make one on disk, which may be full. */
  #begin(statements: string): boolean {
    try {
      this.#database.exec(`PRAGMA journal_mode = MEMORY; ${statements}`);
      return true;
    } catch (error) {
      this.release();
      if (error instanceof Error && 'errcode' in error && error.errcode === busy) return false;
      throw error;
    }
  }
}

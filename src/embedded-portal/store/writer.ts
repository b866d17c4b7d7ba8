// Durable writes: every acknowledged write is fsynced; those that arrive together share one fsync.
import type { DatabaseSync } from 'node:sqlite';

interface Job {
  work: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs pieces of synchronous work in `BEGIN IMMEDIATE … COMMIT`. Work queued in the same turn of the event loop is
 * committed together, each piece in its own savepoint, so that one that throws undoes only itself.
 */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #queue: Job[] = [];

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Resolves with what `work` returns once it is durable; rejects with what it throws (nothing of it is kept). */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.flush());
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Commits what is queued now; called before the database closes. */
  flush(): void {
    const jobs = this.#queue.splice(0);
    if (jobs.length === 0) return;
    let ends: (() => void)[];
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      ends = jobs.map((job) => this.#attempt(job));
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
      ends = jobs.map((job) => () => job.reject(error));
    }
    for (const end of ends) end();
  }

  /** Does the work; returns what tells its caller once all is committed. */
  #attempt({ work, resolve, reject }: Job): () => void {
    this.#db.exec('SAVEPOINT job');
    try {
      const value = work();
      this.#db.exec('RELEASE job');
      return () => resolve(value);
    } catch (error) {
      // A full disk rolls the whole transaction back by itself; then the batch as a whole has failed.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec('ROLLBACK TO job; RELEASE job');
      return () => reject(error);
    }
  }
}

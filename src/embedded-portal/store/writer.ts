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
export const writerOf = (db: DatabaseSync) => {
  const queue: Job[] = [];

  /** Resolves with what `work` returns once it is durable; rejects with what it throws (nothing of it is kept). */
  const write = <T>(work: () => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (queue.length === 0) setImmediate(flush);
      queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
    });

  /** Commits what is queued now; called before the database closes. */
  const flush = (): void => {
    const jobs = queue.splice(0);
    if (jobs.length === 0) return;
    let ends: (() => void)[];
    try {
      db.exec('BEGIN IMMEDIATE');
      ends = jobs.map(attempt);
      db.exec('COMMIT');
    } catch (error) {
      if (db.isOpen && db.isTransaction) db.exec('ROLLBACK');
      ends = jobs.map((job) => () => job.reject(error));
    }
    for (const end of ends) end();
  };

  /** Does the work; returns what tells its caller once all is committed. */
  const attempt = ({ work, resolve, reject }: Job): (() => void) => {
    db.exec('SAVEPOINT job');
    try {
      const value = work();
      db.exec('RELEASE job');
      return () => resolve(value);
    } catch (error) {
      // A full disk rolls the whole transaction back by itself; then the batch as a whole has failed.
      if (!db.isTransaction) throw error;
      db.exec('ROLLBACK TO job; RELEASE job');
      return () => reject(error);
    }
  };

  return { write, flush };
};

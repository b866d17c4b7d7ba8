// Durable writes: every acknowledged write and file name is fsynced; those that arrive together share one fsync.

import { close, fsync, open } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { prepareAll, type Statements } from './statements.ts';

const statements = { begin: 'BEGIN IMMEDIATE', commit: 'COMMIT', save: 'SAVEPOINT job', release: 'RELEASE job' };

interface Job {
  work: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

type Outcome = { ok: true; value: unknown } | { ok: false; error: unknown };

/**
 * Runs pieces of synchronous work in `BEGIN IMMEDIATE … COMMIT`. Work queued in the same turn of the event loop is
 * committed together, each piece in its own savepoint, so that one that throws undoes only itself.
 */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #sql: Statements<typeof statements>;
  readonly #onChange: () => void;
  readonly #onUndo: () => void;
  #queue: Job[] = [];
  #scheduled = false;

  /**
   * `onChange` is called when something was committed, `onUndo` when work was undone: both before anybody hears of it,
   * so that what was remembered of the database can be forgotten in time.
   */
  constructor(
    db: DatabaseSync,
    { onChange = () => undefined, onUndo = () => undefined }: { onChange?: () => void; onUndo?: () => void } = {},
  ) {
    this.#db = db;
    this.#sql = prepareAll(db, statements);
    this.#onChange = onChange;
    this.#onUndo = onUndo;
  }

  /** Resolves with what `work` returns once it is durable; rejects with what it throws (nothing of it is kept). */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.flush());
    });
  }

  /** Commits what is queued now; called before the database closes. */
  flush(): void {
    this.#scheduled = false;
    const jobs = this.#queue;
    this.#queue = [];
    if (jobs.length === 0) return;
    let outcomes: Outcome[];
    try {
      this.#sql.begin.run();
      outcomes = jobs.map((job) => this.#attempt(job));
      this.#sql.commit.run();
      this.#onChange();
    } catch (error) {
      if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
      this.#onUndo();
      for (const job of jobs) job.reject(error);
      return;
    }
    for (const [index, job] of jobs.entries()) {
      const outcome = outcomes[index];
      if (outcome?.ok === true) job.resolve(outcome.value);
      else job.reject(outcome?.error);
    }
  }

  #attempt(job: Job): Outcome {
    this.#sql.save.run();
    try {
      const value = job.work();
      this.#sql.release.run();
      return { ok: true, value };
    } catch (error) {
      // A full disk rolls the whole transaction back by itself; then the batch as a whole has failed.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec('ROLLBACK TO job; RELEASE job');
      this.#onUndo();
      return { ok: false, error };
    }
  }
}

const [openFile, syncFile, closeFile] = [promisify(open), promisify(fsync), promisify(close)];

/** One folder. It stays open, so that each fsync is one step. */
export class FolderSync {
  readonly #dir: string;
  #folder: Promise<number> | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Resolves when every name that the folder has now is on disk. */
  sync(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#start();
      return this.#running;
    }
    // The one in progress may have started before the name was there.
    this.#next ??= this.#running.then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return this.#next;
  }

  /** Gives the folder back; idempotent. */
  async close(): Promise<void> {
    const folder = this.#folder;
    this.#folder = null;
    if (folder !== null) await closeFile(await folder);
  }

  #startNext(): Promise<void> {
    this.#next = null;
    this.#running = this.#start();
    return this.#running;
  }

  async #start(): Promise<void> {
    try {
      this.#folder ??= openFile(this.#dir, 'r');
      await syncFile(await this.#folder);
    } catch (error) {
      this.#folder = null;
      throw error;
    } finally {
      this.#running = null;
    }
  }
}

/** Resolves when the bytes of a file, or the names in a folder, are on disk. */
export const syncPath = async (path: string): Promise<void> => {
  const file = await openFile(path, 'r');
  try {
    await syncFile(file);
  } finally {
    await closeFile(file);
  }
};

// Makes the names in a folder durable; those who ask while one fsync is under way share the next.
import { close, fsync, open } from 'node:fs';
import { promisify } from 'node:util';

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
    // The one under way may have begun before the name was there.
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

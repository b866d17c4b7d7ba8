// Keys that were seen before, in memory while they are few and on disk beyond.
import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/** Keys that are held in memory, at some 100 bytes each. */
const heldInMemory = 200_000;

/** Characters of a key that stands for itself; longer ones are hashed. */
const plainLength = 40;

/** Equal for equal parts. Of a hash 128 bits: among a thousand million keys the chance of two alike is below 1 in 10^20. */
const keyOf = (parts: readonly string[]): string => {
  const text = parts.map((part) => `${part.length}:${part}`).join('');
  return text.length <= plainLength ? text : `#${hash('sha256', text, 'hex').slice(0, 32)}`;
};

/** A set of keys with flat memory. */
export class SeenKeys {
  readonly #path: string;
  readonly #inMemory: number;
  #held = new Set<string>();
  #disk: { database: DatabaseSync; insert: StatementSync } | null = null;

  /** `path`: file to be used when the keys become many; must not exist. */
  constructor(path: string, inMemory = heldInMemory) {
    this.#path = path;
    this.#inMemory = inMemory;
  }

  /** Adds a key; true when it is new. */
  add(parts: readonly string[]): boolean {
    const key = keyOf(parts);
    if (this.#disk !== null) return this.#disk.insert.run(key).changes === 1;
    const before = this.#held.size;
    this.#held.add(key);
    if (this.#held.size > this.#inMemory) this.#spill();
    return this.#held.size > before || this.#disk !== null;
  }

  #spill(): void {
    const database = new DatabaseSync(this.#path);
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000');
    database.exec('CREATE TABLE seen (key TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN');
    const insert = database.prepare('INSERT OR IGNORE INTO seen VALUES (?)');
    for (const key of this.#held) insert.run(key);
    this.#held = new Set();
    this.#disk = { database, insert };
  }

  /** Forgets all keys and removes the file. Idempotent. */
  close(): void {
    this.#held = new Set();
    this.#disk?.database.close();
    this.#disk = null;
    rmSync(this.#path, { force: true });
  }
}

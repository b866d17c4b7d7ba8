// Attempts to log in, counted to slow down guessing (recorded behaviour 5).
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Failures of one user from one address that are allowed, and within how many seconds. */
export const userLimit = { failures: 5, window: 6 * 3600 };

/** Failures from one address that are allowed, and within how many seconds. */
export const addressLimit = { failures: 50, window: 3600 };

/** An attempt to log in. */
export interface Attempt {
  /** Uid, or a name that no account has; null: counted by address only. */
  user: number | string | null;
  address: string;
  /** False: the limit of the address is not for this one. */
  countsByAddress: boolean;
  /** Unix seconds. */
  now: number;
}

/**
 * The table of attempts. One is counted before its password is looked at and given back when that was right, so that
 * guesses which come together are counted like those which come one after the other.
 */
export class Flood {
  readonly #count: StatementSync;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  readonly #clear: StatementSync;
  readonly #expire: StatementSync;

  constructor(db: DatabaseSync) {
    this.#count = db.prepare('SELECT count(*) AS n FROM flood WHERE event = ? AND identifier = ? AND at > ?');
    this.#insert = db.prepare('INSERT INTO flood (event, identifier, at) VALUES (?, ?, ?)');
    this.#remove = db.prepare('DELETE FROM flood WHERE rowid = ?');
    this.#clear = db.prepare('DELETE FROM flood WHERE event = ? AND identifier = ?');
    this.#expire = db.prepare('DELETE FROM flood WHERE at < ?');
  }

  /** Who may not try again for now: that user from that address, or anybody from it; null when the attempt may be made. */
  blocked({ user, address, countsByAddress, now }: Attempt): 'user' | 'address' | null {
    const ofAddress = countsByAddress ? this.#number('address', address, now - addressLimit.window) : 0;
    if (ofAddress >= addressLimit.failures) return 'address';
    const ofUser = user === null ? 0 : this.#number('user', `${user}-${address}`, now - userLimit.window);
    return ofUser >= userLimit.failures ? 'user' : null;
  }

  /** Counts an attempt; returns what {@link Flood.giveBack} takes. To be called inside a write. */
  reserve({ user, address, countsByAddress, now }: Attempt): number[] {
    this.#expire.run(now - userLimit.window);
    const rows = [
      ...(countsByAddress ? [this.#insert.run('address', address, now)] : []),
      ...(user === null ? [] : [this.#insert.run('user', `${user}-${address}`, now)]),
    ];
    return rows.map(({ lastInsertRowid }) => Number(lastInsertRowid));
  }

  /** The attempt was right: it does not count, and the failures of that user from there are forgotten. Inside a write. */
  giveBack(reserved: number[], { user, address }: Attempt): void {
    for (const row of reserved) this.#remove.run(row);
    this.#clear.run('user', `${user}-${address}`);
  }

  #number(event: string, identifier: string, since: number): number {
    return Number(this.#count.get(event, identifier, since)?.n ?? 0);
  }
}

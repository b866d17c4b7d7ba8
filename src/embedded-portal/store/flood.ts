// Attempts to log in, counted to slow down guessing (recorded behaviour 5).
import type { DatabaseSync } from 'node:sqlite';
import { prepareAll, type Statements } from './statements.ts';

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

const statements = {
  count: 'SELECT count(*) AS n FROM flood WHERE event = ? AND identifier = ? AND at > ?',
  insert: 'INSERT INTO flood (event, identifier, at) VALUES (?, ?, ?)',
  remove: 'DELETE FROM flood WHERE rowid = ?',
  clear: 'DELETE FROM flood WHERE event = ? AND identifier = ?',
  expire: 'DELETE FROM flood WHERE at < ?',
};

/**
 * The table of attempts. One is counted before its password is checked and given back when that was right, so that
 * guesses which come together are counted like those which come one after the other.
 */
export class Flood {
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
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
    this.#sql.expire.run(now - userLimit.window);
    const rows = [
      ...(countsByAddress ? [this.#sql.insert.run('address', address, now)] : []),
      ...(user === null ? [] : [this.#sql.insert.run('user', `${user}-${address}`, now)]),
    ];
    return rows.map(({ lastInsertRowid }) => Number(lastInsertRowid));
  }

  /** The attempt was right: it does not count, and the failures of that user from there are forgotten. Inside a write. */
  giveBack(reserved: number[], { user, address }: Attempt): void {
    for (const row of reserved) this.#sql.remove.run(row);
    this.#sql.clear.run('user', `${user}-${address}`);
  }

  #number(event: string, identifier: string, since: number): number {
    return Number(this.#sql.count.get(event, identifier, since)?.n ?? 0);
  }
}

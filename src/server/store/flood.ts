// Failed logins, counted to slow down guessing (recorded behaviour 5).
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Failures of one user from one address that are allowed, and within how many seconds. */
export const userLimit = { failures: 5, window: 6 * 3600 };

/** Failures from one address that are allowed, and within how many seconds. */
export const addressLimit = { failures: 50, window: 3600 };

/** The table of failed logins. */
export class Flood {
  readonly #count: StatementSync;
  readonly #insert: StatementSync;
  readonly #clear: StatementSync;
  readonly #expire: StatementSync;

  constructor(db: DatabaseSync) {
    this.#count = db.prepare('SELECT count(*) AS n FROM flood WHERE event = ? AND identifier = ? AND at > ?');
    this.#insert = db.prepare('INSERT INTO flood (event, identifier, at) VALUES (?, ?, ?)');
    this.#clear = db.prepare('DELETE FROM flood WHERE event = ? AND identifier = ?');
    this.#expire = db.prepare('DELETE FROM flood WHERE at < ?');
  }

  /** True when that user may not try again from that address for now. */
  isUserBlocked(uid: number, address: string, now: number): boolean {
    return this.#number('user', `${uid}-${address}`, now - userLimit.window) >= userLimit.failures;
  }

  /** True when nobody may try again from that address for now. */
  isAddressBlocked(address: string, now: number): boolean {
    return this.#number('address', address, now - addressLimit.window) >= addressLimit.failures;
  }

  /** Notes a failure (`uid` null: an unknown name); to be called inside a write. */
  fail(uid: number | null, address: string, now: number): void {
    this.#expire.run(now - userLimit.window);
    this.#insert.run('address', address, now);
    if (uid !== null) this.#insert.run('user', `${uid}-${address}`, now);
  }

  /** Forgets the failures of a user who got in; to be called inside a write. */
  clear(uid: number, address: string): void {
    this.#clear.run('user', `${uid}-${address}`);
  }

  #number(event: string, identifier: string, since: number): number {
    return Number(this.#count.get(event, identifier, since)?.n ?? 0);
  }
}

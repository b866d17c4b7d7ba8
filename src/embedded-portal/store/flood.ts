// Failed logins, counted to slow down guessing.
import type { DatabaseSync } from 'node:sqlite';
import { statementsOf } from './statements.ts';

/** Failures of one user from one address that are allowed, and within how many seconds. */
export const userLimit = { failures: 5, window: 6 * 3600 };

/** Failures from one address that are allowed, and within how many seconds. */
export const addressLimit = { failures: 50, window: 3600 };

export interface Attempt {
  /** Uid, or a name that no account has; null: counted by address only. */
  user: number | string | null;
  address: string;
  /** Unix seconds. */
  now: number;
}

/**
 * Opens the table of attempts. One is counted before its password is checked and given back when that was right, so that
 * guesses which come together count too. What changes something is to be called inside a write.
 */
export const openFlood = (db: DatabaseSync) => {
  const { count, insert, run } = statementsOf(db);
  const failures = (event: string, identifier: string, since: number): number =>
    count`SELECT count(*) FROM flood WHERE event = ${event} AND identifier = ${identifier} AND at > ${since}`;
  return {
    /** Who may not try again for now: that user from that address, or anybody from it; null when the attempt may be made. */
    blocked: ({ user, address, now }: Attempt): 'user' | 'address' | null => {
      if (failures('address', address, now - addressLimit.window) >= addressLimit.failures) return 'address';
      const ofUser = user === null ? 0 : failures('user', `${user}-${address}`, now - userLimit.window);
      return ofUser >= userLimit.failures ? 'user' : null;
    },
    /** Counts an attempt; returns what `giveBack` takes. */
    reserve: ({ user, address, now: at }: Attempt): number => {
      run`DELETE FROM flood WHERE at < ${at - userLimit.window}`;
      if (user !== null) insert('flood', { event: 'user', identifier: `${user}-${address}`, at });
      return insert('flood', { event: 'address', identifier: address, at });
    },
    /** The attempt was right: it does not count, and the failures of that user from there are forgotten. */
    giveBack: (reserved: number, { user, address }: Attempt): void => {
      run`DELETE FROM flood WHERE rowid = ${reserved}`;
      run`DELETE FROM flood WHERE event = 'user' AND identifier = ${`${user}-${address}`}`;
    },
  };
};

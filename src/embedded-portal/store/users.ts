// Accounts, their sessions, and how often a login may fail.
import { createHmac, hash, randomBytes, randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Permission } from '../../dataset-api/values.ts';
import { grantsOf, type RoleTable } from '../roles.ts';
import { statementsOf } from './statements.ts';

/** Who makes a request; `uid` 0 is the anonymous user. */
export interface User {
  uid: number;
  name: string;
  permissions: ReadonlySet<Permission>;
  /** The `roles` of a user object: role number to name (spec 2.4). */
  roleMap: Readonly<Record<string, string>>;
}

/** Times are Unix seconds. */
export interface Account extends User {
  mail: string;
  /** `scrypt:…`, never the password itself. */
  pass: string;
  /** The hash that a file gave, of which `pass` may be a stronger one; null: it gave the password, or nothing. */
  given: string | null;
  status: number;
  /** Stored roles by name, such as `editor`; "authenticated user" is implied. */
  roles: string[];
  created: number;
  access: number;
  login: number;
  uuid: string;
}

export type UserInput = Pick<Account, 'name' | 'mail' | 'pass' | 'given' | 'status' | 'roles' | 'created'> & {
  /** Null takes the next free one. */
  uid: number | null;
  /** True: it is in the users file, and is blocked when it leaves it. */
  fromFile: boolean;
};

/** An account as its table has it; `roles` are JSON. */
type Row = Omit<Account, 'roles' | 'permissions' | 'roleMap'> & { roles: string; from_file: number };

/** Opens the user table. What changes something is to be called inside a write. */
export const openUsers = (db: DatabaseSync, table: RoleTable) => {
  const { row, column, value, count, insert, update, run } = statementsOf(db);
  const known = new Map<string, Pick<Account, 'roles' | 'permissions' | 'roleMap'>>();
  const grantsIn = (text: string) => {
    const roles: string[] = JSON.parse(text); // as save() wrote it
    return { roles, ...grantsOf(table, { uid: 1, roles }) };
  };
  const toUser = (stored: Row | null): Account | null => {
    if (stored === null) return null;
    const { from_file: _, ...rest } = stored;
    const grants = known.get(rest.roles) ?? grantsIn(rest.roles);
    known.set(rest.roles, grants);
    return { ...rest, ...grants };
  };
  return {
    anonymous: { uid: 0, name: '', ...grantsOf(table, { uid: 0, roles: [] }) } satisfies User,
    byUid: (uid: number) => toUser(row<Row>`SELECT * FROM user WHERE uid = ${uid}`),
    /** The account with that name, whatever its case (recorded behaviour 5). */
    byName: (name: string) => toUser(row<Row>`SELECT * FROM user WHERE name = ${name}`),
    count: () => count`SELECT count(*) FROM user`,
    /** Adds an account, or updates the one of that name; returns its uid. */
    save: ({ uid, created, fromFile, roles, ...rest }: UserInput): number => {
      const known = value<number>`SELECT uid FROM user WHERE name = ${rest.name}`;
      const account = { ...rest, from_file: fromFile ? 1 : 0, roles: JSON.stringify(roles) };
      if (known === null) return insert('user', { uid, ...account, created, uuid: randomUUID() });
      update('user', ['uid', known], account);
      return known;
    },
    /** Keeps another hash of the same password. */
    renewPass: (uid: number, pass: string): void => void run`UPDATE user SET pass = ${pass} WHERE uid = ${uid}`,
    /** Blocks the accounts of a users file that it does not name (any more) and returns their uids. */
    blockOthers: (names: readonly string[]) =>
      column<number>`UPDATE user SET status = 0 WHERE from_file = 1 AND status = 1 AND name NOT IN (SELECT value FROM json_each(${JSON.stringify(names)})) RETURNING uid`,
    /** Notes a login (both times, Unix seconds). */
    loggedIn: (uid: number, { access, login }: { access: number; login: number }): void =>
      void run`UPDATE user SET access = ${access}, login = ${login} WHERE uid = ${uid}`,
  };
};

/** Seconds a cookie lives in the browser (recorded behaviour 5). */
export const cookieSeconds = 2_000_000;

/** Seconds without a request after which a session ends. */
export const idleSeconds = 2 * 3600;

/** Seconds after which a session ends however much it is used. */
export const longestSeconds = 12 * 3600;

/** How often "last seen" is written, seconds. */
const seenEvery = 180;

export interface Session {
  /** What the cookie holds; it is never stored. */
  id: string;
  uid: number;
  /** CSRF token, the same for the life of the session. */
  token: string;
  created: number;
  seen: number;
}

/** A fresh session id or a token that stands for nothing: 256 random bits, 43 characters. */
export const randomToken = (): string => randomBytes(32).toString('base64url');

/** What is stored of a session id or access token. */
export const hashOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Opens the session table. Ids are stored hashed, tokens are computed. What changes something is to be called inside a write. */
export const openSessions = (db: DatabaseSync) => {
  const { row, value, insert, run: write } = statementsOf(db);
  /** Sessions as they were read last; forgotten with every change. */
  const known = new Map<string, Session>();
  const run = (...args: Parameters<typeof write>) => {
    known.clear();
    write(...args);
  };
  const secret = String(value<string>`SELECT value FROM setting WHERE name = 'key'`);
  const tokenOf = (id: string): string => createHmac('sha256', secret).update(id).digest('base64url');
  const read = (id: string): Session | null => {
    const found = row<Pick<Session, 'uid' | 'created' | 'seen'>>`SELECT uid, created, seen FROM session
      WHERE id = ${hashOf(id)}`;
    if (found === null) return null;
    const session = { id, token: tokenOf(id), ...found };
    known.set(id, session);
    return session;
  };
  return {
    /** The session of a cookie value, or null when it is unknown or expired. `now` in Unix seconds. */
    find: (id: string, now: number): Session | null => {
      const found = known.get(id) ?? read(id);
      return found && found.seen + idleSeconds >= now && found.created + longestSeconds >= now ? found : null;
    },
    /** True when "last seen" is old enough to be written again with `touch`. */
    isDue: ({ seen }: Session, now: number): boolean => seen + seenEvery < now,
    touch: ({ id }: Session, now: number): void => run`UPDATE session SET seen = ${now} WHERE id = ${hashOf(id)}`,
    /** Starts a session with a new id and drops expired ones. */
    start: (uid: number, now: number): { id: string; token: string } => {
      run`DELETE FROM session WHERE seen < ${now - idleSeconds} OR created < ${now - longestSeconds}`;
      const id = randomToken();
      insert('session', { id: hashOf(id), uid, created: now, seen: now });
      return { id, token: tokenOf(id) };
    },
    end: ({ id }: Session): void => run`DELETE FROM session WHERE id = ${hashOf(id)}`,
    endAll: (uid: number | null = null): void => run`DELETE FROM session WHERE uid = coalesce(${uid}, uid)`,
  };
};

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

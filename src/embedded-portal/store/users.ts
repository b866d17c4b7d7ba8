// Accounts of the portal.
import { randomUUID } from 'node:crypto';
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

// Accounts of the portal.
import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Permission } from '../../dataset-api/values.ts';
import { defaultRoles, grantsOf, type RoleTable } from '../roles.ts';
import { insertInto, prepareAll, type Statements, valuesOf } from './statements.ts';

/** One account. `uid` 0 is the anonymous user. Times are Unix seconds. */
export interface User {
  uid: number;
  name: string;
  mail: string;
  /** `scrypt:…`, never the password itself. */
  pass: string;
  /** The hash that a file gave, of which `pass` may be a stronger one; null: it gave the password, or nothing. */
  given: string | null;
  status: number;
  /** Stored roles by name, such as `editor`; "authenticated user" is implied. */
  roles: string[];
  /** What those roles grant. */
  permissions: ReadonlySet<Permission>;
  /** The `roles` of a user object: role number to name (spec 2.4). */
  roleMap: Readonly<Record<string, string>>;
  created: number;
  access: number;
  login: number;
  uuid: string;
}

/** What is written for an account; `uid` null takes the next free one. */
export interface UserInput {
  uid: number | null;
  name: string;
  mail: string;
  pass: string;
  given: string | null;
  /** True: it is in the users file, and is blocked when it leaves it. */
  fromFile: boolean;
  status: number;
  roles: string[];
  created: number;
}

/** The user of requests without a session. */
const anonymousOf = (table: RoleTable): User => ({
  uid: 0,
  name: '',
  mail: '',
  pass: '',
  given: null,
  status: 0,
  roles: [],
  ...grantsOf(table, { uid: 0, roles: [] }),
  created: 0,
  access: 0,
  login: 0,
  uuid: '',
});

type Account = Omit<User, 'permissions' | 'roleMap'>;

const toAccount = ({ from_file: _, roles, ...row }: Record<string, unknown>): Account =>
  ({ ...row, roles: JSON.parse(String(roles)) }) as Account; // the columns of the table, written by save() only

const columns = 'uid name mail pass given from_file status roles created uuid'.split(' ');

const statements = {
  byUid: 'SELECT * FROM user WHERE uid = ?',
  byName: 'SELECT * FROM user WHERE name = ?',
  insert: insertInto('user', columns),
  update: `UPDATE user SET name = :name, mail = :mail, pass = :pass, given = :given, from_file = :from_file,
    status = :status, roles = :roles WHERE uid = :uid`,
  setPass: 'UPDATE user SET pass = ? WHERE uid = ?',
  ofFile: 'SELECT uid, name FROM user WHERE from_file = 1 AND status = 1',
  block: 'UPDATE user SET status = 0 WHERE uid = ?',
  seen: 'UPDATE user SET access = ?, login = ? WHERE uid = ?',
  count: 'SELECT count(*) AS n FROM user',
};

/** The user table. */
export class Users {
  readonly #sql: Statements<typeof statements>;

  #roles: RoleTable = defaultRoles;
  #anonymous = anonymousOf(defaultRoles);

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
  }

  /** The user of requests without a session. */
  get anonymous(): User {
    return this.#anonymous;
  }

  /** Uses other roles than the default ones from now on. */
  useRoles(table: RoleTable): void {
    this.#roles = table;
    this.#anonymous = anonymousOf(table);
  }

  /** The account with that uid, or null. */
  byUid(uid: number): User | null {
    const row = this.#sql.byUid.get(uid);
    return row === undefined ? null : this.#grant(row);
  }

  /** The account with that name, whatever its case (recorded behaviour 5), or null. */
  byName(name: string): User | null {
    const row = this.#sql.byName.get(name);
    return row === undefined ? null : this.#grant(row);
  }

  /** How many accounts there are. */
  count(): number {
    return Number(this.#sql.count.get()?.n ?? 0);
  }

  /** Adds an account, or updates the one of that name; to be called inside a write. */
  save(input: UserInput): User {
    const known = this.byName(input.name);
    const { uid, fromFile, created, ...rest } = input;
    const row = { ...rest, from_file: fromFile ? 1 : 0, roles: JSON.stringify(input.roles) };
    if (known === null) this.#sql.insert.run(...valuesOf({ ...row, uid, created, uuid: randomUUID() }, columns));
    else this.#sql.update.run({ ...row, uid: known.uid });
    return this.byName(input.name) ?? this.#anonymous;
  }

  /** Keeps another hash of the same password; to be called inside a write. */
  renewPass(uid: number, pass: string): void {
    this.#sql.setPass.run(pass, uid);
  }

  /** Blocks the accounts of a users file that it does not name (any more) and returns their uids; inside a write. */
  blockOthers(names: readonly string[]): number[] {
    const kept = new Set(names.map((name) => name.toLowerCase()));
    const gone = this.#sql.ofFile.all().filter(({ name }) => !kept.has(String(name).toLowerCase()));
    for (const { uid } of gone) this.#sql.block.run(Number(uid));
    return gone.map(({ uid }) => Number(uid));
  }

  /** Notes a login (both times, Unix seconds); to be called inside a write. */
  loggedIn(uid: number, at: { access: number; login: number }): void {
    this.#sql.seen.run(at.access, at.login, uid);
  }

  #grant(row: Record<string, unknown>): User {
    const user = toAccount(row);
    return { ...user, ...grantsOf(this.#roles, user) };
  }
}

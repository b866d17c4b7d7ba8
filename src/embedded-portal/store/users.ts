// Accounts of the portal.
import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Permission } from '../../dataset-api/permissions.ts';
import { defaultRoles, grantsOf, type RoleTable } from '../roles.ts';

/** One account. `uid` 0 is nobody (anonymous). Times are Unix seconds. */
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
  /** True: it stands in the users file, and is blocked when it leaves it. */
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

const toUser = (row: Record<string, unknown>): Omit<User, 'permissions' | 'roleMap'> => ({
  uid: Number(row.uid),
  name: String(row.name),
  mail: String(row.mail),
  pass: String(row.pass),
  given: row.given === null ? null : String(row.given),
  status: Number(row.status),
  roles: JSON.parse(String(row.roles)) as string[], // written by save() only
  created: Number(row.created),
  access: Number(row.access),
  login: Number(row.login),
  uuid: String(row.uuid),
});

/** The user table; reads are kept in memory, because this process alone writes it. */
export class Users {
  readonly #byUid: StatementSync;
  readonly #byName: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #setPass: StatementSync;
  readonly #ofFile: StatementSync;
  readonly #block: StatementSync;
  readonly #seen: StatementSync;
  readonly #count: StatementSync;
  readonly #cache = new Map<number, User>();

  #roles: RoleTable = defaultRoles;
  #anonymous = anonymousOf(defaultRoles);

  constructor(db: DatabaseSync) {
    this.#byUid = db.prepare('SELECT * FROM user WHERE uid = ?');
    this.#byName = db.prepare('SELECT * FROM user WHERE name = ?');
    this.#insert = db.prepare(
      'INSERT INTO user (uid, name, mail, pass, given, from_file, status, roles, created, uuid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#update = db.prepare(
      'UPDATE user SET name = ?, mail = ?, pass = ?, given = ?, from_file = ?, status = ?, roles = ? WHERE uid = ?',
    );
    this.#setPass = db.prepare('UPDATE user SET pass = ? WHERE uid = ?');
    this.#ofFile = db.prepare('SELECT uid, name FROM user WHERE from_file = 1 AND status = 1');
    this.#block = db.prepare('UPDATE user SET status = 0 WHERE uid = ?');
    this.#seen = db.prepare('UPDATE user SET access = ?, login = ? WHERE uid = ?');
    this.#count = db.prepare('SELECT count(*) AS n FROM user');
  }

  /** The user of requests without a session. */
  get anonymous(): User {
    return this.#anonymous;
  }

  /** Uses other roles than the default ones from now on. */
  useRoles(table: RoleTable): void {
    this.#roles = table;
    this.#anonymous = anonymousOf(table);
    this.#cache.clear();
  }

  /** The account with that uid, or null. */
  byUid(uid: number): User | null {
    const known = this.#cache.get(uid);
    if (known !== undefined) return known;
    const row = this.#byUid.get(uid);
    if (row === undefined) return null;
    const user = this.#grant(row);
    if (this.#cache.size > 10_000) this.#cache.clear();
    this.#cache.set(uid, user);
    return user;
  }

  /** The account with that name, whatever its case (recorded behaviour 5), or null. */
  byName(name: string): User | null {
    const row = this.#byName.get(name);
    return row === undefined ? null : this.#grant(row);
  }

  /** How many accounts there are. */
  count(): number {
    return Number(this.#count.get()?.n ?? 0);
  }

  /** Adds an account, or updates the one of that name; to be called inside a write. */
  save(input: UserInput): User {
    const known = this.byName(input.name);
    const roles = JSON.stringify(input.roles);
    if (known === null) {
      const { uid, name, mail, pass, given, fromFile, status, created } = input;
      this.#insert.run(uid, name, mail, pass, given, fromFile ? 1 : 0, status, roles, created, randomUUID());
    } else {
      const { name, mail, pass, given, fromFile, status } = input;
      this.#update.run(name, mail, pass, given, fromFile ? 1 : 0, status, roles, known.uid);
    }
    this.#cache.clear();
    return this.byName(input.name) ?? this.#anonymous;
  }

  /** Keeps another hash of the same password; to be called inside a write. */
  renewPass(uid: number, pass: string): void {
    this.#setPass.run(pass, uid);
    this.#cache.delete(uid);
  }

  /** Blocks the accounts of a users file that it does not name (any more) and returns their uids; inside a write. */
  blockOthers(names: readonly string[]): number[] {
    const kept = new Set(names.map((name) => name.toLowerCase()));
    const gone = this.#ofFile.all().filter(({ name }) => !kept.has(String(name).toLowerCase()));
    for (const { uid } of gone) this.#block.run(Number(uid));
    this.#cache.clear();
    return gone.map(({ uid }) => Number(uid));
  }

  /** Notes a login (both times, Unix seconds); to be called inside a write. */
  loggedIn(uid: number, at: { access: number; login: number }): void {
    this.#seen.run(at.access, at.login, uid);
    this.#cache.delete(uid);
  }

  #grant(row: Record<string, unknown>): User {
    const user = toUser(row);
    return { ...user, ...grantsOf(this.#roles, user) };
  }
}

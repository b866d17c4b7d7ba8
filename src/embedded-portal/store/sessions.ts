// Login sessions with their CSRF tokens, access tokens, which need no session, and failed logins, counted to slow down guessing.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { NotFoundError, PortalStoreError } from '../../model/errors.ts';
import { schemaVersion } from './schema.ts';
import { prepareAll, type Statements } from './statements.ts';

/** Seconds a cookie lives in the browser (recorded behaviour 5). */
export const cookieSeconds = 2_000_000;

/** Seconds without a request after which a session ends. */
export const idleSeconds = 2 * 3600;

/** Seconds after which a session ends however much it is used. */
export const longestSeconds = 12 * 3600;

/** How often "last seen" is written, seconds. */
const seenEvery = 180;

/** A session of a logged-in user. */
export interface Session {
  /** What the cookie holds; it is never stored. */
  id: string;
  /** SHA-256 of the id, which is what the store holds. */
  key: string;
  uid: number;
  /** CSRF token, the same for the life of the session. */
  token: string;
  created: number;
  seen: number;
}

/** A fresh session id or a token that stands for nothing: 256 random bits, 43 characters. */
export const randomToken = (): string => randomBytes(32).toString('base64url');

/** What is stored of a session id or access token. */
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

const statements = {
  select: 'SELECT uid, created, seen FROM session WHERE id = ?',
  insert: 'INSERT INTO session (id, uid, created, seen) VALUES (?, ?, ?, ?)',
  remove: 'DELETE FROM session WHERE id = ?',
  removeAll: 'DELETE FROM session WHERE uid = coalesce(?, uid)',
  touch: 'UPDATE session SET seen = ? WHERE id = ?',
  expire: 'DELETE FROM session WHERE seen < ? OR created < ?',
};

/** The session table. Ids are stored hashed, tokens are computed. */
export class Sessions {
  readonly #secret: string;
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#secret = String(db.prepare("SELECT value FROM setting WHERE name = 'key'").get()?.value);
    this.#sql = prepareAll(db, statements);
  }

  /** The session of a cookie value, or null when it is unknown or expired. `now` in Unix seconds. */
  find(id: string, now: number): Session | null {
    const hash = hashOf(id);
    const row = this.#sql.select.get(hash);
    if (row === undefined) return null;
    const [created, seen] = [Number(row.created), Number(row.seen)];
    if (seen + idleSeconds < now || created + longestSeconds < now) return null;
    return { id, key: hash.toString('base64url'), uid: Number(row.uid), token: this.#tokenOf(id), created, seen };
  }

  /** True when "last seen" is old enough to be written again with {@link Sessions.touch}. */
  isDue(session: Session, now: number): boolean {
    return session.seen + seenEvery < now;
  }

  /** Notes a request of the session; to be called inside a write. */
  touch(session: Session, now: number): void {
    session.seen = now;
    this.#sql.touch.run(now, Buffer.from(session.key, 'base64url'));
  }

  /** Starts a session with a new id and drops expired ones; to be called inside a write. */
  start(uid: number, now: number): { id: string; token: string } {
    this.#sql.expire.run(now - idleSeconds, now - longestSeconds);
    const id = randomToken();
    this.#sql.insert.run(hashOf(id), uid, now, now);
    return { id, token: this.#tokenOf(id) };
  }

  /** Ends a session; to be called inside a write. */
  end(session: Session): void {
    this.#sql.remove.run(Buffer.from(session.key, 'base64url'));
  }

  /** Ends every session of an account, or of all; to be called inside a write. */
  endAll(uid: number | null = null): void {
    this.#sql.removeAll.run(uid);
  }

  #tokenOf(id: string): string {
    return createHmac('sha256', this.#secret).update(id).digest('base64url');
  }
}

/** What is known of a token; never the token itself. */
interface TokenFacts {
  /** Number by which it is revoked. */
  id: number;
  /** Name of the account. */
  user: string;
  /** What it was made for. */
  label: string;
  /** Unix seconds. */
  created: number;
}

const tokenStatements = {
  find: 'SELECT uid FROM access_token WHERE hash = ?',
  add: 'INSERT INTO access_token (hash, uid, label, created) SELECT ?, uid, ?, ? FROM user WHERE name = ?',
  list: 'SELECT t.id, u.name AS user, t.label, t.created FROM access_token t JOIN user u ON u.uid = t.uid ORDER BY t.id',
  revoke: 'DELETE FROM access_token WHERE id = ?',
};

/** The token table. Tokens are stored hashed; the portal and the command line may use it at the same time. */
export class Tokens {
  readonly #sql: Statements<typeof tokenStatements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, tokenStatements);
  }

  /** The uid whose token it is, or null. */
  uidOf(token: string): number | null {
    const row = this.#sql.find.get(hashOf(token));
    return row === undefined ? null : Number(row.uid);
  }

  /** Makes a token for an account; it is shown this once. Throws {@link NotFoundError} when there is no such account. */
  add(user: string, { label, now }: { label: string; now: number }): string {
    const token = randomToken();
    if (Number(this.#sql.add.run(hashOf(token), label, now, user).changes) === 0) {
      throw new NotFoundError(`the portal has no account named ${user}`, {
        hint: 'accounts come from the users file; see `sluice portal --users`',
      });
    }
    return token;
  }

  /** Every token, oldest first. */
  list(): TokenFacts[] {
    return this.#sql.list.all().map((row) => ({ ...row })) as unknown as TokenFacts[]; // the columns of the SELECT
  }

  /** Makes a token worthless from now on. Throws {@link NotFoundError} when there is none of that number. */
  revoke(id: number): void {
    if (Number(this.#sql.revoke.run(id).changes) === 0) {
      throw new NotFoundError(`there is no access token number ${id}`, {
        hint: '`sluice portal token list` shows them',
      });
    }
  }
}

/**
 * Opens the tokens of a store beside the portal that may be serving it. Throws PortalStoreError when there is no store
 * of our version in the folder.
 */
export const openTokens = (dataDir: string): { tokens: Tokens; close(): void } => {
  const path = join(dataDir, 'portal.db');
  const hint = 'start the portal once with `sluice portal --data`, then try again';
  if (!existsSync(path)) throw new PortalStoreError(`there is no portal store in ${dataDir}`, { hint });
  const db = new DatabaseSync(path, { timeout: 5000 });
  db.exec('PRAGMA synchronous = FULL');
  if (Number(db.prepare('PRAGMA user_version').get()?.user_version) !== schemaVersion) {
    db.close();
    throw new PortalStoreError(`the portal store in ${dataDir} is of another version`, { hint });
  }
  return { tokens: new Tokens(db), close: () => db.close() };
};

/** Failures of one user from one address that are allowed, and within how many seconds. */
export const userLimit = { failures: 5, window: 6 * 3600 };

/** Failures from one address that are allowed, and within how many seconds. */
export const addressLimit = { failures: 50, window: 3600 };

/** An attempt to log in. */
export interface Attempt {
  /** Uid, or a name that no account has; null: counted by address only. */
  user: number | string | null;
  address: string;
  /** Unix seconds. */
  now: number;
}

const floodStatements = {
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
  readonly #sql: Statements<typeof floodStatements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, floodStatements);
  }

  /** Who may not try again for now: that user from that address, or anybody from it; null when the attempt may be made. */
  blocked({ user, address, now }: Attempt): 'user' | 'address' | null {
    if (this.#number('address', address, now - addressLimit.window) >= addressLimit.failures) return 'address';
    const ofUser = user === null ? 0 : this.#number('user', `${user}-${address}`, now - userLimit.window);
    return ofUser >= userLimit.failures ? 'user' : null;
  }

  /** Counts an attempt; returns what {@link Flood.giveBack} takes. To be called inside a write. */
  reserve({ user, address, now }: Attempt): number[] {
    this.#sql.expire.run(now - userLimit.window);
    const rows = [
      this.#sql.insert.run('address', address, now),
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

// Access tokens: a way in without a session, off unless it is configured (specification 1 and 5).
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { NotFoundError, PortalStoreError } from '../../model/errors.ts';
import { schemaVersion } from './schema.ts';
import { randomToken } from './sessions.ts';
import { prepareAll, type Statements } from './statements.ts';

/** What is known of a token; never the token itself. */
export interface TokenFacts {
  /** Number by which it is revoked. */
  id: number;
  /** Name of the account. */
  user: string;
  /** What it was made for. */
  label: string;
  /** Unix seconds. */
  created: number;
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

const statements = {
  find: 'SELECT uid FROM access_token WHERE hash = ?',
  add: 'INSERT INTO access_token (hash, uid, label, created) SELECT ?, uid, ?, ? FROM user WHERE name = ?',
  list: 'SELECT t.id, u.name AS user, t.label, t.created FROM access_token t JOIN user u ON u.uid = t.uid ORDER BY t.id',
  revoke: 'DELETE FROM access_token WHERE id = ?',
};

/** The token table. Tokens are stored hashed; the portal and the command line may use it at the same time. */
export class Tokens {
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
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

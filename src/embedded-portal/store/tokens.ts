// Access tokens, which let in without a session.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NotFoundError, PortalStoreError } from '../../model/errors.ts';
import { DatabaseSync } from '../../util/sqlite.ts';
import { schemaVersion } from './schema.ts';
import { statementsOf } from './statements.ts';
import { hashOf, randomToken } from './users.ts';

export type Tokens = ReturnType<typeof openTokenTable>;

/** Opens the token table. Tokens are stored hashed; the portal and the command line may use it at the same time. */
export const openTokenTable = (db: DatabaseSync) => {
  const { rows, value, run } = statementsOf(db);
  return {
    uidOf: (token: string) => value<number>`SELECT uid FROM access_token WHERE hash = ${hashOf(token)}`,
    /** Makes a token for an account; it is shown this once. Throws {@link NotFoundError} when there is no such account. */
    add: (user: string, { label, now }: { label: string; now: number }): string => {
      const token = randomToken();
      const { changes } = run`INSERT INTO access_token (hash, uid, label, created)
        SELECT ${hashOf(token)}, uid, ${label}, ${now} FROM user WHERE name = ${user}`;
      if (changes > 0) return token;
      throw new NotFoundError(`the portal has no account named ${user}`, {
        hint: 'accounts come from the users file; see `sluice portal --users`',
      });
    },
    /** Every token, oldest first. */
    list: () =>
      rows<{ id: number; user: string; label: string; created: number }>`SELECT t.id, u.name AS user, t.label, t.created
        FROM access_token t JOIN user u ON u.uid = t.uid ORDER BY t.id`,
    /** Makes a token worthless from now on. Throws {@link NotFoundError} when there is none of that number. */
    revoke: (id: number): void => {
      if (run`DELETE FROM access_token WHERE id = ${id}`.changes > 0) return;
      throw new NotFoundError(`there is no access token number ${id}`, {
        hint: '`sluice portal token list` shows them',
      });
    },
  };
};

/** Opens the tokens beside the portal that may be serving the store. Throws PortalStoreError where there is none of our version. */
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
  return { tokens: openTokenTable(db), close: () => db.close() };
};

// Login sessions with their CSRF tokens.
import { createHmac, hash, randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { statementsOf } from './statements.ts';

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

// Access to the pages: sessions, guesses of the password, and the proof that a form came from our own page.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { BoundedMap } from '../../util/bounded-map.ts';

/** The name of the cookie. */
export const sessionCookie = 'sluice-session';

/** What is known of who asks. */
export interface Session {
  /** Is in every form of this session; a form without it does nothing. */
  token: string;
  /** False where there is no login. */
  canLogOut: boolean;
}

interface KeptSession {
  token: string;
  /** Unix milliseconds. */
  until: number;
}

const sessionMs = 12 * 3600 * 1000;
/** Wrong passwords of an address that cost nothing; each further one doubles the time to the next. */
const freeGuesses = 5;
const firstWaitMs = 10_000;
const longestWaitMs = 15 * 60_000;

/** Sessions of one process; they end with it. */
export class Logins {
  readonly #username: string;
  readonly #password: string | null;
  readonly #sessions = new BoundedMap<string, KeptSession>(1000);
  readonly #guesses = new BoundedMap<string, { count: number; until: number }>(10_000);
  readonly #open: Session = { token: secretText(), canLogOut: false };

  /** Without a password everybody who reaches the pages may use them. */
  constructor({ username, password }: { username: string; password: string | null }) {
    this.#username = username;
    this.#password = password;
  }

  /** The session of a request; null where it has to log in first. */
  sessionOf(request: FastifyRequest, now = Date.now()): Session | null {
    if (this.#password === null) return this.#open;
    const id = cookieOf(request);
    const session = id === null ? undefined : this.#sessions.get(id);
    return session && session.until > now ? { token: session.token, canLogOut: true } : null;
  }

  /** The id of a new session, null for a wrong name or password, or how long this address has to wait, milliseconds. */
  logIn(
    { username, password }: { username: string; password: string },
    address: string,
    now = Date.now(),
  ): string | number | null {
    const from = networkOf(address);
    const { count, until } = this.#guesses.get(from) ?? { count: 0, until: 0 };
    if (until > now) return until - now;
    const isUser = isSame(username, this.#username);
    if (isSame(password, this.#password ?? '') && isUser && this.#password !== null) {
      this.#guesses.delete(from);
      const id = secretText();
      this.#sessions.set(id, { token: secretText(), until: now + sessionMs });
      return id;
    }
    const wait = count + 1 < freeGuesses ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (count + 1 - freeGuesses));
    this.#guesses.set(from, { count: count + 1, until: now + wait });
    return null;
  }

  /** Ends the session of a request. */
  logOut(request: FastifyRequest): void {
    const id = cookieOf(request);
    if (id !== null) this.#sessions.delete(id);
  }
}

/** True when the token of a form is that of the session. */
export const isToken = (given: string | null, { token }: Session): boolean => given !== null && isSame(given, token);

/** True for a request that a page of this server made, or no browser at all. */
export const isOwnOrigin = ({ headers }: FastifyRequest, publicUrl: string | null): boolean => {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined) return true;
  const from = URL.parse(origin)?.host;
  return from !== undefined && (from === host || (publicUrl !== null && from === new URL(publicUrl).host));
};

const secretText = (): string => randomBytes(32).toString('base64url');

/** In a time that does not depend on where the texts differ. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const cookieOf = ({ headers }: FastifyRequest): string | null =>
  new RegExp(`(?:^|; )${sessionCookie}=([\\w-]{43})(?:;|$)`).exec(headers.cookie ?? '')?.[1] ?? null;

/** Who has one address of version 6 has 2^64 of them. */
const networkOf = (address: string): string =>
  isIPv6(address) && !address.startsWith('::ffff:') ? address.split(':').slice(0, 4).join(':') : address;

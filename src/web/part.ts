// What the parts of the HTTP server share: their interface, the token of programs, and one count of guessed secrets.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Overview } from '../service/overview.ts';
import type { Runtime } from '../service/runtime.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import { clientAddress, networkOf } from '../util/connections.ts';
import { isSameSecret } from '../util/secrets.ts';

export interface WebContext {
  runtime: Runtime;
  overview: Overview;
  /** Every secret that a request sends is counted here. */
  guesses: Guesses;
}

/** Adds routes to a scope of its own: hooks and parsers that it registers are for these routes only. */
export type WebPart = (app: FastifyInstance, context: WebContext) => void | Promise<void>;

/** Whether a request carries `web.token` as its bearer; a request without any is no guess. */
export const tryToken = (request: FastifyRequest, { runtime, guesses }: WebContext): Tried => {
  const { token } = runtime.config.web;
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined) return 'wrong';
  return guesses.try(isSameSecret(given, token ?? '') && token !== null, clientAddress(request));
};

/** Whether a program may see what the pages show; where these have no password, all may. */
export const mayWatch = (request: FastifyRequest, context: WebContext): Tried =>
  context.runtime.config.web.password === null ? 'right' : tryToken(request, context);

/** Wrong secrets of a network that cost nothing; each further one doubles the time to the next. */
const freeGuesses = 5;
const firstWaitMs = 10_000;
const longestWaitMs = 15 * 60_000;

/** What became of a secret that was sent; a number: it was not looked at, try again in so many milliseconds. */
export type Tried = 'right' | 'wrong' | number;

/** The guesses of one process. A count ends with a login, or 15 minutes after the last wait. */
export class Guesses {
  readonly #networks = new BoundedMap<string, { count: number; until: number }>(10_000);

  try(isRight: boolean, address: string, now = Date.now()): Tried {
    const from = networkOf(address);
    const known = this.#networks.get(from);
    if (known && known.until > now) return known.until - now;
    if (isRight) return 'right';
    const count = known && known.until + longestWaitMs > now ? known.count + 1 : 1;
    const wait = count < freeGuesses ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (count - freeGuesses));
    this.#networks.set(from, { count, until: now + wait });
    return 'wrong';
  }

  /** Forgets those of an address where a person has logged in; programs send their token all the time. */
  forget(address: string): void {
    this.#networks.delete(networkOf(address));
  }
}

// Guessed secrets: one count for each network and for every way in, so that none of them lets anybody guess faster.
import { BoundedMap } from '../util/bounded-map.ts';
import { networkOf } from '../util/http.ts';

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

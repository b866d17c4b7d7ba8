// Password checks: few at once, because each takes memory and a thread that files need too, and few that wait.
import { Refusal } from './refusal.ts';

/** How many run at once. */
const threads = 2;

/** How many may wait; a person waits a few seconds behind them. */
const mostWaiting = 50;

/** Runs password checks in the order in which they came. */
export class LoginQueue {
  #free = threads;
  readonly #waiting: (() => void)[] = [];

  /** Runs `check` when it is its turn. Throws a Refusal (503) at once where too many wait. */
  async run<T>(check: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else if (this.#waiting.length >= mostWaiting) throw new Refusal(503, 'Too many people log in at once; try again.');
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await check();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

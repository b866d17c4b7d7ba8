// Limits concurrent requests to a portal; the others wait in order.

/** Counts requests in flight. Whoever acquires a slot releases it. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when a slot is free, which is the caller's then; rejects with the reason of the signal. */
  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      this.#waiting.delete(onFree);
      reject(signal.reason);
    };
    const onFree = (): void => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    this.#waiting.add(onFree);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise;
  }

  /** Gives a slot to the one that has waited longest. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

// Concurrency: waiting until a signal aborts, work that is repeated, or on many items several at once, and a semaphore.
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a shared promise until `signal` aborts; then it rejects with its reason, and what comes later is ignored. */
export const abortable = <T>(shared: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    shared.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });

/** Sleeps `ms` milliseconds; rejects with the signal's reason when it is aborted meanwhile. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
};

/** Repeats `work`, never twice at once; returns what stops it after the turn in progress. It keeps no process alive. */
export const repeat = (everyMs: number, work: () => Promise<void>, failed: (error: unknown) => void) => {
  let turn: Promise<void> | null = null;
  const over = (): void => {
    turn = null;
  };
  const timer = setInterval(() => {
    turn ??= work().catch(failed).finally(over);
  }, everyMs).unref();
  return async () => {
    clearInterval(timer);
    await turn;
  };
};

/**
 * Runs `work` for each of `all`, at most `atOnce` at the same time; results in their order. After a failure none is started
 * any more; those in progress are waited for, then the first failure is thrown.
 */
export const eachAtOnce = async <T, R>(all: Iterable<T>, atOnce: number, work: (each: T) => Promise<R>) => {
  const items = Iterator.from(all).map((each, at) => ({ each, at })); // a failure ends it for all
  const results: R[] = [];
  const go = async (): Promise<void> => {
    for (const { each, at } of items) results[at] = await work(each);
  };
  const turns = Array.from({ length: atOnce }, go);
  await Promise.all(turns).finally(() => Promise.allSettled(turns));
  return results;
};

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
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    this.#waiting.add(resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Gives a slot to the one that has waited longest, unless slots are owed to {@link remove}. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined || this.#free < 0) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  /** Takes slots away, also those in use, which are not given on when they are released. */
  remove(count: number): void {
    this.#free -= count;
  }
}

/** Successes, for each slot, after which one more is tried. */
const calmSuccesses = 20;

/** Slots for work that fails when too much of it overlaps: half as many after such a failure, slowly more afterwards, never more than `most`, and never none. */
export const adaptiveSlots = (most: number) => {
  let successes = 0;
  const slots = new Semaphore(most);
  let count = most;

  /** Does the work in a slot. `isCrowded`: whether an error of it means that too much overlapped. */
  const run = async <T>(work: () => Promise<T>, isCrowded: (error: unknown) => boolean, signal: AbortSignal) => {
    await slots.acquire(signal);
    try {
      const result = await work();
      successes += 1;
      if (count < most && successes >= calmSuccesses * count) {
        resize(count + 1);
        slots.release();
      }
      return result;
    } catch (error) {
      if (isCrowded(error)) {
        slots.remove(Math.floor(count / 2));
        resize(Math.ceil(count / 2));
      }
      throw error;
    } finally {
      slots.release();
    }
  };

  const resize = (to: number): void => {
    count = to;
    successes = 0;
  };

  return { run };
};

export type AdaptiveSlots = ReturnType<typeof adaptiveSlots>;

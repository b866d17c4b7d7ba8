// Reads of a portal that serve for five minutes.
import { abortable } from '../util/concurrency.ts';

const validMs = 300_000;

/** Caches reads by key; one that fails is repeated by the next call. */
export class ReadCache<T> {
  readonly #shared: AbortSignal;
  readonly #known = new Map<string, { value: Promise<T>; until: number }>();

  /** `shared`: the signal readings run under, because they belong to no single caller. */
  constructor(shared: AbortSignal) {
    this.#shared = shared;
  }

  /** The known value, else what `read` gives; rejects with the reason of `signal` when that is aborted first. */
  get(key: string, read: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const known = this.#known.get(key);
    if (known && performance.now() < known.until) return abortable(known.value, signal);
    const value = read(this.#shared);
    this.#known.set(key, { value, until: performance.now() + validMs });
    value.catch(() => this.#known.delete(key));
    return abortable(value, signal);
  }
}

// Reads of a portal that serve for five minutes.
import { abortable } from '../util/concurrency.ts';

export const validMs = 300_000;

/**
 * Caches reads by key; one that fails is repeated by the next call. `shared`: the signal readings run under, because they
 * belong to no single caller.
 */
export const readCache = <T>(shared: AbortSignal) => {
  const cached = new Map<string, { value: Promise<T>; until: number }>();
  /** The known value, else what `read` gives; rejects with the reason of `signal` when that is aborted first. */
  return (key: string, read: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const known = cached.get(key);
    if (known && performance.now() < known.until) return abortable(known.value, signal);
    const value = read(shared);
    cached.set(key, { value, until: performance.now() + validMs });
    value.catch(() => cached.delete(key));
    return abortable(value, signal);
  };
};

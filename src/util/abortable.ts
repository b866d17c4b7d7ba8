// Waiting until a signal says stop.
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a shared promise without owning it: rejects with the signal's reason when that comes first. */
export const abortable = <T>(shared: Promise<T>, signal: AbortSignal): Promise<T> => {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    shared.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
};

/** Sleeps `ms` milliseconds; rejects with the signal's reason when it is aborted meanwhile. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
};

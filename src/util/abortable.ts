// Waiting for something shared until a signal says stop.

/** Waits for a shared promise without owning it: rejects with the signal's reason when that comes first. */
export const abortable = <T>(shared: Promise<T>, signal: AbortSignal): Promise<T> => {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    shared.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
};

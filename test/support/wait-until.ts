// Polls a condition instead of sleeping.

/** Resolves with the first truthy value of `probe`, asked every 20 ms; rejects after `timeoutMs` naming `what`. */
export const waitUntil = async <T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 200_000,
): Promise<NonNullable<T>> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value) return value as NonNullable<T>; // just checked
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

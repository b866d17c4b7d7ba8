// How long ago a target was compared with the portal's own listing.

/** True when the last comparison (Unix milliseconds; null: nothing is published yet) is older than `afterMs` (null: never asked). */
export const isStale = (last: number | null, afterMs: number | null, now: number = Date.now()): boolean =>
  last !== null && afterMs !== null && now - last > afterMs;

// How long between the tries of a read.

const firstBackoffMs = 250;
/** A longer `Retry-After` is left to the job's own retry, which everybody can see; where there is no job, it ends the command. */
const longestPauseMs = { job: 10_000, command: 60_000 } as const;

/** How often a read is repeated that a busy database did not take, and how long it waits at most in between. */
export const busyRetries = 12;
const longestBusyMs = 2000;

/** Milliseconds before the next try of what a busy database did not take. */
export const busyPause = (attempt: number, random: number): number =>
  Math.min(longestBusyMs, 50 * 2 ** attempt) * (0.5 + random / 2);

/**
 * Milliseconds before the next try of a read: what the portal asked for, else a span that doubles with every attempt
 * (from 0), of which `random` (0 to 1) takes away up to half. Undefined when the portal asked for more than 10 s, or
 * where a command waits itself, for more than a minute.
 */
export const readPause = (
  attempt: number,
  { askedMs, random, waitsFor = 'job' }: { askedMs?: number | undefined; random: number; waitsFor?: 'job' | 'command' },
): number | undefined => {
  if (askedMs !== undefined) return askedMs <= longestPauseMs[waitsFor] ? askedMs : undefined;
  return firstBackoffMs * 2 ** attempt * (0.5 + random / 2);
};

// When a failed job is tried again: by class of its error.
import { machineFault, PortalError, SluiceError, SourceUnreachableError } from '../model/errors.ts';

/** How retries are spaced. */
export interface RetrySettings {
  /** Delay before the second attempt, milliseconds; doubled for each further one. */
  backoffMs: number;
  /** Longest delay, milliseconds. */
  maxBackoffMs: number;
}

/** True when the same job may succeed later without anybody changing anything. Unknown errors are bugs: not retried. */
export const isRetryable = (thrown: unknown): boolean => {
  const error = machineFault(thrown);
  return error instanceof SluiceError && error.retryable;
};

/**
 * Milliseconds to wait before the next attempt: exponential with full jitter over the upper half, never less than what
 * the portal, or the server of a source, requested by `Retry-After`. What a portal requests counts up to the longest
 * delay: beyond that the portal is paused, where everybody can see it.
 */
export const backoffMs = (
  attemptsMade: number,
  error: unknown,
  settings: RetrySettings,
  random: () => number = Math.random,
): number => {
  const ceiling = Math.min(settings.maxBackoffMs, settings.backoffMs * 2 ** Math.max(0, attemptsMade - 1));
  const jittered = Math.round(ceiling * (0.5 + random() / 2));
  return Math.max(jittered, askedMs(error, settings));
};

const askedMs = (error: unknown, { maxBackoffMs }: RetrySettings): number => {
  if (error instanceof PortalError) return Math.min(error.request.retryAfterMs ?? 0, maxBackoffMs);
  return error instanceof SourceUnreachableError ? (error.retryAfterMs ?? 0) : 0;
};

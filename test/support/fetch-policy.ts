// The usual policy of fetches in tests; a test spreads its own changes over it.
import type { FetchPolicy } from '../../src/sources/fetch/policy.ts';

/** Small limits, no pace, and of all private addresses only 127.0.0.1. */
export const fetchPolicy: FetchPolicy = {
  allowPrivate: ['127.0.0.1'],
  maxBytes: 1_000_000,
  maxRedirects: 3,
  connectMs: 20_000,
  headersMs: 20_000,
  bodyMs: 20_000,
  requestsPerSecond: 0,
  userAgent: 'sluice-test',
};

import { describe, expect, it } from 'vitest';
import { isRetryable, PortalRefusedError, PortalUnreachableError, TableFaultError } from '../../src/model/errors.ts';
import { backoffMs } from '../../src/queue/retry.ts';

const facts = { method: 'GET', path: '/api/dataset/node' };
const settings = { backoffMs: 1000, maxBackoffMs: 60_000 };

describe('isRetryable', () => {
  it('is true for passing faults of the portal only', () => {
    expect(isRetryable(new PortalUnreachableError('x', facts))).toBe(true);
    expect(isRetryable(new PortalRefusedError('x', facts))).toBe(false);
    expect(isRetryable(new TableFaultError('x', { code: 'table-ragged', line: 2 }))).toBe(false);
    expect(isRetryable(new TypeError('x'))).toBe(false);
  });
});

describe('backoffMs', () => {
  it('doubles with every attempt, up to the longest delay, with jitter over the upper half', () => {
    expect([1, 2, 3, 4].map((made) => backoffMs(made, null, settings, () => 1))).toEqual([1000, 2000, 4000, 8000]);
    expect([1, 2, 3, 4].map((made) => backoffMs(made, null, settings, () => 0))).toEqual([500, 1000, 2000, 4000]);
    expect(backoffMs(30, null, settings, () => 1)).toBe(60_000);
  });

  it('is never shorter than the portal asked for, which counts up to the longest delay', () => {
    const error = (retryAfterMs: number) => new PortalUnreachableError('busy', { ...facts, status: 429, retryAfterMs });
    expect(backoffMs(1, error(40_000), settings, () => 0)).toBe(40_000);
    expect(backoffMs(1, error(86_400_000), settings, () => 0)).toBe(60_000);
  });
});

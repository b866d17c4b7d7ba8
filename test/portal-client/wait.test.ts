import { describe, expect, it } from 'vitest';
import { readPause } from '../../src/portal-client/classify.ts';
import { retryAfterMs } from '../../src/util/http.ts';

describe('the pause between tries of a read', () => {
  it('is what the portal asked for', () => {
    expect(readPause(0, { askedMs: 7000, random: 0.3 })).toBe(7000);
    expect(readPause(2, { askedMs: 0, random: 0.3 })).toBe(0);
  });

  it('is none when the portal asked for more than ten seconds', () => {
    expect(readPause(0, { askedMs: 10_001, random: 0 })).toBeUndefined();
  });

  it('is up to a minute where no job waits', () => {
    expect(readPause(0, { askedMs: 60_000, random: 0, waitsFor: 'command' })).toBe(60_000);
    expect(readPause(0, { askedMs: 60_001, random: 0, waitsFor: 'command' })).toBeUndefined();
  });

  it('doubles with every attempt and varies by half', () => {
    expect([readPause(0, { random: 1 }), readPause(1, { random: 1 }), readPause(2, { random: 1 })]).toEqual([
      250, 500, 1000,
    ]);
    expect(readPause(2, { random: 0 })).toBe(500);
  });
});

describe('a Retry-After header', () => {
  const now = Date.parse('2026-11-21T10:00:00Z');

  it.each([
    ['30', 30_000],
    [' 5 ', 5000],
    ['Sat, 21 Nov 2026 10:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['999999999', 86_400_000],
  ])('"%s" means %i ms', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });

  it.each([undefined, 'soon', ''])('%s means nothing', (header) => {
    expect(retryAfterMs(header, now)).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { durationMs, durationText, sizeBytes, sizeText } from '../../src/util/quantity.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['2s', 2_000],
    ['1.5s', 1_500],
    ['15 m', 900_000],
    ['6h', 21_600_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
  ])('%s is %d ms', (text, ms) => {
    expect(durationText.safeParse(text).success).toBe(true);
    expect(durationMs(text)).toBe(ms);
  });

  it.each(['2', '2 weeks', '-1s', '', 's', '1S'])('%j is none', (text) => {
    expect(durationText.safeParse(text).success).toBe(false);
    expect(() => durationMs(text)).toThrow(RangeError);
  });
});

describe('sizes', () => {
  it.each([
    ['10 MB', 10_000_000],
    ['500kB', 500_000],
    ['1.5 GB', 1_500_000_000],
    ['2 GiB', 2 * 1024 ** 3],
    ['7 B', 7],
  ])('%s is %d bytes', (text, bytes) => {
    expect(sizeText.safeParse(text).success).toBe(true);
    expect(sizeBytes(text)).toBe(bytes);
  });

  it.each(['10', '10 megabytes', 'MB', '-1 MB'])('%j is none', (text) => {
    expect(sizeText.safeParse(text).success).toBe(false);
    expect(() => sizeBytes(text)).toThrow(RangeError);
  });
});

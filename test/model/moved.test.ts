// How far a large file is: the rate, the text, and how often it is told.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Moved, meterOf, movedOn, movedText } from '../../src/model/moved.ts';

const MB = 1_000_000;

describe('the rate', () => {
  const begun: Moved = { bytes: 0, of: 100 * MB, rate: 0, at: 0 };

  it('is that of the first second, and follows later ones slowly', () => {
    const first = movedOn(begun, 10 * MB, 100 * MB, 1000);
    expect(first).toEqual({ bytes: 10 * MB, of: 100 * MB, rate: 10 * MB, at: 1000 });
    const second = movedOn(first, 30 * MB, 100 * MB, 2000);
    expect(second.rate).toBe(14 * MB);
  });

  it('begins anew with a file that is sent again', () => {
    const late: Moved = { bytes: 90 * MB, of: 100 * MB, rate: 30 * MB, at: 5000 };
    expect(movedOn(late, 2 * MB, 100 * MB, 6000)).toEqual({ bytes: 2 * MB, of: 100 * MB, rate: 2 * MB, at: 6000 });
  });
});

describe('the text', () => {
  const moved = (bytes: number, of: number | null, rate: number): Moved => ({ bytes, of, rate, at: 0 });

  it.each([
    [moved(42 * MB, 105 * MB, 12_300_000), 100, '40% of 105.0 MB, 12.3 MB/s, 5 s left'],
    [moved(104_999_999, 105 * MB, 12_300_000), 100, '99% of 105.0 MB, 12.3 MB/s, 1 s left'],
    [moved(105 * MB, 105 * MB, 12_300_000), 90_000, '100% of 105.0 MB'],
    [moved(42 * MB, null, 12_300_000), 100, '42.0 MB, 12.3 MB/s'],
    [moved(42 * MB, 105 * MB, 12_300_000), 12_000, '40% of 105.0 MB, nothing for 12 s'],
    [moved(0, 105 * MB, 0), 100, '0% of 105.0 MB, 0 bytes/s'],
  ])('of %j after %i ms is %s', (given, now, text) => {
    expect(movedText(given, now)).toBe(text);
  });
});

describe('the meter', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const metered = () => {
    const written: Moved[] = [];
    return { written, ...meterOf((moved) => written.push(moved)) };
  };

  it('writes once a second at most, however often it is told, and the end of a pause', () => {
    const { written, tell, end } = metered();
    for (let piece = 1; piece <= 50; piece++) {
      vi.advanceTimersByTime(100);
      tell(piece * MB, 60 * MB);
    }
    vi.advanceTimersByTime(60_000);
    expect(written.map(({ bytes }) => bytes / MB)).toEqual([9, 19, 29, 39, 49, 50]);
    tell(60 * MB, 60 * MB);
    vi.advanceTimersByTime(1);
    expect(written.at(-1)).toMatchObject({ bytes: 60 * MB });
    end();
  });

  it('writes nothing of a step that is quick, nor of a small file that is slow', () => {
    const quick = metered();
    quick.tell(500 * MB, 500 * MB);
    quick.end();
    const small = metered();
    for (let bytes = 0; bytes < 900_000; bytes += 1000) {
      small.tell(bytes, bytes % 2000 === 0 ? 900_000 : null);
      vi.advanceTimersByTime(50);
    }
    expect([...quick.written, ...small.written]).toEqual([]);
  });
});

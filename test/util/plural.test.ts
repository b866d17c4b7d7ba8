import { expect, it } from 'vitest';
import { countText } from '../../src/util/plural.ts';

it.each([0, 7, 999, 1000, 54_321, 999_999, 1_000_000, 12_345_678_901, -1, -999, -1000])(
  '%d is a count as people read it',
  (count) => {
    expect(countText(count)).toBe(count.toLocaleString('en'));
  },
);

import { expect, it } from 'vitest';
import { countText, listed } from '../../src/util/plural.ts';

it.each([0, 7, 999, 1000, 54_321, 999_999, 1_000_000, 12_345_678_901, -1, -999, -1000])(
  '%d is a count as people read it',
  (count) => {
    expect(countText(count)).toBe(count.toLocaleString('en'));
  },
);

it('a list names the first ones, and counts the others', () => {
  expect(listed([], 2)).toBe('');
  expect(listed(['a', 'b'], 2)).toBe('a, b');
  expect(listed(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
});

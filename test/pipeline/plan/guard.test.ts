// When a run is held.
import { expect, it } from 'vitest';
import { guardVerdict } from '../../../src/pipeline/plan/removals.ts';

const rules = { maxRemovals: 0.1, min: 5, maxUpdates: null };
const counts = { known: 338, removals: 0, updates: 0, wished: 338 };

it.each([
  [338, 33, true],
  [338, 34, false],
  [10, 5, true],
  [10, 6, false],
  [3, 3, true],
  [60, 6, true],
  [60, 7, false],
])('of %i known items %i may be taken down: %s', (known, removals, goes) => {
  expect(guardVerdict({ ...counts, known, removals }, rules) === null).toBe(goes);
});

it('an empty source never removes anything, however few are known and however much is allowed', () => {
  expect(guardVerdict({ known: 1, removals: 1, updates: 0, wished: 0 }, { ...rules, maxRemovals: 1 })).toContain(
    'empty',
  );
  expect(guardVerdict({ known: 1, removals: 0, updates: 0, wished: 0 }, rules)).toBeNull();
});

it('updates are unlimited unless a limit is set', () => {
  expect(guardVerdict({ ...counts, updates: 338 }, rules)).toBeNull();
  const limited = { ...rules, maxUpdates: 0.5 };
  expect(guardVerdict({ ...counts, updates: 169 }, limited)).toBeNull();
  expect(guardVerdict({ ...counts, updates: 170 }, limited)).toContain('170 of 338');
  expect(guardVerdict({ ...counts, known: 4, updates: 5 }, limited)).toBeNull();
});

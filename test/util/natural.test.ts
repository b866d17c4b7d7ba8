// Names are ordered as people count.
import { expect, it } from 'vitest';
import { byName } from '../../src/util/natural.ts';

it('numbers in names are ordered by their value, and no two names are equal', () => {
  const names = ['amt-10/b', 'amt-2', 'amt-1', 'amt-10/a', 'amt-01', 'Amt-3', 'amt-10'];
  expect(names.toSorted(byName)).toEqual(['amt-01', 'amt-1', 'amt-2', 'Amt-3', 'amt-10', 'amt-10/a', 'amt-10/b']);
  expect(names.toReversed().toSorted(byName)).toEqual(names.toSorted(byName));
});

import { expect, it } from 'vitest';
import { BoundedMap } from '../../src/util/bounded-map.ts';

it('a bounded map is emptied for the entry that would be too many, not for a new value of a known one', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  expect([...map]).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
  expect([...map.set('c', 4)]).toEqual([['c', 4]]);
});

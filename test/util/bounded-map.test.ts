import { expect, it } from 'vitest';
import { BoundedMap, memoize } from '../../src/util/bounded-map.ts';

it('a bounded map is emptied for the entry that would be too many, not for a new value of a known one', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  expect([...map]).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
  expect([...map.set('c', 4)]).toEqual([['c', 4]]);
});

it('a memoized function is called once for each argument until it keeps too many', () => {
  const asked: string[] = [];
  const length = memoize((text: string) => asked.push(text) && text.length, { max: 2 });
  for (const text of ['a', 'bb', 'a', 'bb', 'ccc', 'a']) expect(length(text)).toBe(text.length);
  expect(asked).toEqual(['a', 'bb', 'ccc', 'a']);
});

// The smallest free number, as if all were tried one by one, with few tries.
import { describe, expect, it } from 'vitest';
import { aliasOf, freeName } from '../../../src/embedded-portal/content/public-names.ts';
import { FreeNumbers } from '../../../src/embedded-portal/store/free-numbers.ts';
import { fc } from '../../support/extent.ts';

/** A step: take one, free the taken one at that place, or undo what was done since the last commit. */
type Step = { do: 'take' } | { do: 'free'; at: number } | { do: 'commit' } | { do: 'undo' };
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Step>({ do: 'take' }) },
    { weight: 3, arbitrary: fc.nat(50).map((at): Step => ({ do: 'free', at })) },
    { weight: 2, arbitrary: fc.constant<Step>({ do: 'commit' }) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'undo' }) },
  ),
  { maxLength: 200 },
);
const smallest = (taken: ReadonlySet<number>): number => {
  let number = 0;
  while (taken.has(number)) number += 1;
  return number;
};

/** A series, and what is taken of it now and durably. */
class World {
  readonly #numbers = new FreeNumbers();
  #taken = new Set<number>();
  #durable = new Set<number>();

  take(step: Step): void {
    if (step.do === 'take') {
      const number = this.#numbers.take('x', (candidate) => !this.#taken.has(candidate));
      expect(number).toBe(smallest(this.#taken));
      this.#taken.add(number);
    } else if (step.do === 'free') {
      const number = [...this.#taken][step.at % Math.max(1, this.#taken.size)];
      if (number === undefined) return;
      this.#taken.delete(number);
      this.#numbers.free('x', number);
    } else {
      if (step.do === 'commit') this.#durable = new Set(this.#taken);
      else {
        this.#taken = new Set(this.#durable);
        this.#numbers.undone();
      }
      this.#numbers.kept();
    }
  }
}

describe('free numbers', () => {
  it('are those that trying one by one would find, whatever is taken, freed and undone', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const world = new World();
        for (const step of all) world.take(step);
      }),
    );
  });

  it('leave the asker his own where that is the smallest', () => {
    const numbers = new FreeNumbers();
    const taken = new Set([0, 1, 2]);
    const others = (candidate: number): boolean => candidate === 1 || !taken.has(candidate);
    expect(numbers.take('x', others, 1)).toBe(1);
    expect(numbers.take('x', (candidate) => !taken.has(candidate))).toBe(3);
    taken.delete(0);
    numbers.free('x', 0);
    expect(numbers.take('x', others, 1)).toBe(0);
  });

  it('take a few tries each, for thousands of equal names and titles', () => {
    const names = new Set<string>();
    const numbers = new FreeNumbers();
    let tries = 0;
    const isTaken = (name: string): boolean => {
      tries += 1;
      return names.has(name);
    };
    for (let count = 0; count < 5000; count++) {
      names.add(freeName('table.csv', isTaken, numbers));
      const node = { type: 'dataset', title: 'Budget', uuid: '' };
      names.add(aliasOf(node, { parentTitle: null, isTaken, numbers }) ?? '');
    }
    expect(names.size).toBe(10_000);
    expect(names.has('table_4998.csv') && names.has('dataset/budget-4998')).toBe(true);
    expect(tries).toBeLessThan(3 * 10_000);
  });
});

import { describe, expect, it } from 'vitest';
import { filePathFor, slugName, takenNames } from '../../../src/pipeline/export/folder.ts';

/** Names as `takenNames` keeps them, whose look-ups are counted. */
class Counted extends Map<string, number> {
  lookUps = 0;
  override has(name: string): boolean {
    this.lookUps += 1;
    return super.has(name);
  }
}

describe('names in an export', () => {
  it.each([
    ['folders', (taken: Counted, at: number) => slugName(at % 2 ? 'City Budget' : 'city  budget', 'x', taken)],
    ['files', (taken: Counted, at: number) => filePathFor(at % 2 ? 'Budget.csv' : 'budget.csv', taken)],
  ])('of %s are found with a look-up each, also where all are alike', (_, next) => {
    const taken = new Counted();
    const names = new Set(Array.from({ length: 20_000 }, (_, at) => next(taken, at).toLowerCase()));
    expect(names.size).toBe(20_000);
    expect(taken.lookUps).toBe(20_000);
  });

  it('go around those that others have, whatever their case', () => {
    const taken = takenNames(['Budget', 'budget-2']);
    expect(slugName('budget 3', 'x', taken)).toBe('budget-3');
    expect(slugName('budget', 'x', taken)).toBe('budget-4');
    expect(slugName('budget', 'x', taken)).toBe('budget-5');
    expect(slugName('budget 3', 'x', taken)).toBe('budget-3-2');
  });
});

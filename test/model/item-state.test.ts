// How items stand: a table that a guard holds is told from what is held back because somebody edited it.
import { describe, expect, it } from 'vitest';
import { fateOf, isGuarded, itemStateOf, type LedgerEntry, newEntry } from '../../src/model/ledger-entry.ts';

const key = 'city/budget/spending';
const entryOf = (code: string | null, known: Partial<LedgerEntry> = {}): LedgerEntry => ({
  ...newEntry({ key, kind: 'resource', uuid: 'u', title: 'Spending' }),
  ...{ nid: '7', reason: code === null ? null : { code, message: 'why', hint: null } },
  ...known,
});

describe('an item', () => {
  it('is held by its guard even while live, and in any other state as its reason says', () => {
    const states = ['held', 'drift', 'table-header', 'cancelled', 'portal-reply'].map((code) => entryOf(code));
    expect(states.map(itemStateOf)).toEqual(['held', 'held', 'quarantined', 'cancelled', 'failed']);
    expect(states.map(isGuarded)).toEqual([true, false, false, false, false]);
    expect(itemStateOf(entryOf('held', { live: true }))).toBe('held');
    expect([entryOf(null), entryOf(null, { nid: null })].map(itemStateOf)).toEqual(['draft', 'pending']);
  });

  it('was added, updated or removed by what was done to it', () => {
    expect(fateOf({ outcome: 'done', actions: ['created', 'imported'] })).toBe('new');
    expect(fateOf({ outcome: 'done', actions: ['adopted', 'updated'] })).toBe('adopted');
    expect(fateOf({ outcome: 'done', actions: ['attached'] })).toBe('updated');
    expect(fateOf({ outcome: 'done', actions: ['unpublished'] })).toBe('removed');
    expect(fateOf({ outcome: 'done', actions: [] })).toBe('unchanged');
    expect(fateOf({ outcome: 'held', actions: ['created'] })).toBe('held');
  });
});

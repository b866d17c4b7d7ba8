// What a decision on a held table does to its entry, and when a table that stays the same is late.
import { describe, expect, it } from 'vitest';
import { type LedgerEntry, newEntry } from '../../../src/model/ledger-entry.ts';
import { liveVersionOf } from '../../../src/model/table-history.ts';
import { withDecision } from '../../../src/pipeline/plan/table-guard.ts';

const day = 24 * 3600 * 1000;
const now = Date.UTC(2026, 0, 10);
const key = 'city/one/a';
const guard = { sameMs: 2 * day };
const table = { rows: 1, bytes: 2, sha256: 'abc', contents: [] };
const version = liveVersionOf(table, { at: now - 3 * day, before: null, guard, changes: null });
const reason = { code: 'held', message: 'held by its guard', hint: null } as const;
const refused = { sha256: 'abc', importFingerprint: 'i', delimiter: null, isReplaced: true, reason } as const;
const entry = { ...newEntry({ key, kind: 'resource', uuid: 'u', title: 'A' }), nid: '7', live: true, version };
const held = { ...entry, live: false, stale: true, reason, refused: { ...refused, guard: 'held' as const } };
const late = withDecision(entry, { key, published: true, guard }, {}, now);
const decided = (known: LedgerEntry, how?: 'release' | 'discard', at = now, keys = [key]) =>
  withDecision(known, { key, published: true, guard }, how ? { decision: { how, keys } } : {}, at);

describe('a decision on a table', () => {
  it('releases or discards the held one, of its key alone', () => {
    expect(decided(held, 'release').refused?.guard).toBe('released');
    expect(decided(held, 'discard', now - 2 * day)).toMatchObject({
      refused: { guard: 'discarded' },
      live: true,
      stale: false,
      reason: null,
    });
    expect(decided(held, 'release', now, ['city/one/b'])).toBe(held);
    expect(decided(held)).toBe(held);
  });

  it('that stays the same for too long holds it as late, once', () => {
    expect(late).toMatchObject({
      live: false,
      stale: true,
      reason: { message: expect.stringContaining('2026-01-07') },
    });
    expect(decided(late)).toBe(late);
    expect(decided(entry, undefined, now - 2 * day)).toBe(entry);
    expect(withDecision(entry, { key, published: true }, {}, now)).toBe(entry);
  });

  it('confirms the late one, which is late again after the same time', () => {
    const confirmed = decided(late, 'release');
    expect(confirmed).toMatchObject({ live: true, stale: false, reason: null, version: { confirmed: now } });
    expect(decided(confirmed, undefined, now + day)).toBe(confirmed);
    expect(decided(confirmed, undefined, now + 3 * day)).toMatchObject({ live: false, stale: true });
  });

  it('is not needed where the guard no longer expects new data', () => {
    expect(withDecision(late, { key, published: true }, {}, now)).toMatchObject({
      live: true,
      stale: false,
      reason: null,
    });
  });
});

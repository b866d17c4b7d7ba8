// What the wishes no longer name, and when a run is held.
import { describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import type { LedgerEntry } from '../../../src/model/ledger-entry.ts';
import type { DatasetWish } from '../../../src/model/wish.ts';
import { findMissing, guardVerdict, type RemovalRules } from '../../../src/pipeline/plan/missing.ts';
import { datasetWish, liveState, resourceWish, source } from './support/make.ts';

const day = 24 * 3600 * 1000;
const rules: RemovalRules = { onMissing: 'unpublish', missingForMs: 0, now: 100 * day };
const before = [datasetWish('m/a', ['one', 'two']), datasetWish('m/b', ['one'])];

const missing = (wishes: DatasetWish[], more: Partial<RemovalRules> = {}, known = liveState(before)) => {
  const found = findMissing(wishes, known, { ...rules, ...more });
  return {
    removals: found.removals.map(({ key }) => key),
    renames: found.renames.map(({ from, to }) => `${from.key} -> ${to}`),
    newly: found.newlyMissing.map(({ key }) => key),
    returned: found.returned.map(({ key }) => key),
  };
};

/** What is known, with some entries changed. */
const knowing = (changes: Record<string, Partial<LedgerEntry>>) => {
  const known = liveState(before);
  for (const [key, change] of Object.entries(changes)) {
    const entry = known.entries.get(key);
    if (entry) known.entries.set(key, { ...entry, ...change });
  }
  return known;
};

it('nothing is missing where everything is wanted', () => {
  expect(missing(before)).toEqual({ removals: [], renames: [], newly: [], returned: [] });
});

it('a missing dataset goes with its resources, a missing resource alone', () => {
  expect(missing(before.slice(0, 1)).removals).toEqual(['m/b', 'm/b/one']);
  expect(missing([datasetWish('m/a', ['one']), before[1] ?? datasetWish('m/b')]).removals).toEqual(['m/a/two']);
});

it('what is kept is not taken down, only written down as missing', () => {
  expect(missing([], { onMissing: 'keep' })).toMatchObject({
    removals: [],
    newly: expect.arrayContaining(['m/a', 'm/b/one']),
  });
});

it('what was never on the portal, or is down already, is not taken down again', () => {
  const known = knowing({ 'm/b': { nid: null }, 'm/b/one': { removed: 'unpublish' } });
  expect(missing(before.slice(0, 1), {}, known).removals).toEqual([]);
});

describe('the grace', () => {
  const grace = { missingForMs: 7 * day };

  it('begins when an item is missing for the first time', () => {
    expect(missing(before.slice(0, 1), grace)).toMatchObject({ removals: [], newly: ['m/b', 'm/b/one'] });
  });

  it('ends after the time, not before', () => {
    const since = (days: number) =>
      knowing({ 'm/b': { missingSince: (100 - days) * day }, 'm/b/one': { missingSince: (100 - days) * day } });
    expect(missing(before.slice(0, 1), grace, since(6.9))).toMatchObject({ removals: [], newly: [] });
    expect(missing(before.slice(0, 1), grace, since(7)).removals).toEqual(['m/b', 'm/b/one']);
  });

  it('begins again for an item that came back in between', () => {
    const known = knowing({ 'm/b': { missingSince: 1 } });
    expect(missing(before, grace, known).returned).toEqual(['m/b']);
  });
});

describe('a rename', () => {
  const renamed = (key: string, from: string, resources: string[] = []): DatasetWish => ({
    ...datasetWish(key, resources),
    uuid: uuidOfKey(from),
    resources: resources.map((id) => resourceWish(`${key}/${id}`, { uuid: uuidOfKey(`${from}/${id}`) })),
  });

  it('by uuid takes the resources along and removes nothing', () => {
    const wishes = [before[0] ?? datasetWish('m/a'), renamed('m/c', 'm/b', ['one'])];
    expect(missing(wishes)).toMatchObject({ removals: [], renames: ['m/b -> m/c', 'm/b/one -> m/c/one'] });
  });

  it('by content is one of a resource within its dataset', () => {
    const known = liveState(before);
    known.sources.set('m/a/three', source('a\n1\nm/a/two'));
    expect(missing([datasetWish('m/a', ['one', 'three']), ...before.slice(1)], {}, known)).toMatchObject({
      removals: [],
      renames: ['m/a/two -> m/a/three'],
    });
    known.sources.set('m/b/three', source('a\n1\nm/a/two'));
    expect(missing([datasetWish('m/a', ['one']), datasetWish('m/b', ['one', 'three'])], {}, known)).toMatchObject({
      removals: ['m/a/two'],
      renames: [],
    });
  });

  it('of two with the same content goes to one each', () => {
    const known = liveState([datasetWish('m/a', ['one', 'two'])]);
    const same = source('same');
    for (const key of ['m/a/one', 'm/a/two']) {
      const entry = known.entries.get(key);
      if (entry?.file) known.entries.set(key, { ...entry, file: { ...entry.file, sha256: same.sha256 } });
    }
    known.sources.set('m/a/three', same).set('m/a/four', same);
    expect(missing([datasetWish('m/a', ['three', 'four'])], {}, known)).toMatchObject({
      removals: [],
      renames: ['m/a/one -> m/a/three', 'm/a/two -> m/a/four'],
    });
  });

  it('by uuid takes precedence over one by content', () => {
    const known = liveState([datasetWish('m/a', ['one', 'two'])]);
    known.sources.set('m/a/three', source('a\n1\nm/a/one'));
    const three = resourceWish('m/a/three', { uuid: uuidOfKey('m/a/two') });
    const wishes = [{ ...datasetWish('m/a'), resources: [three] }];
    expect(missing(wishes, {}, known)).toMatchObject({ renames: ['m/a/two -> m/a/three'], removals: ['m/a/one'] });
  });

  it('never takes the place of an item that exists', () => {
    const known = liveState(before);
    known.sources.set('m/a/one', source('a\n1\nm/a/two'));
    expect(missing([datasetWish('m/a', ['one']), ...before.slice(1)], {}, known)).toMatchObject({
      removals: ['m/a/two'],
      renames: [],
    });
  });
});

const guard = { maxRemovals: 0.1, min: 5, maxUpdates: null };
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
  expect(guardVerdict({ ...counts, known, removals }, guard) === null).toBe(goes);
});

it('an empty source never removes anything, however few are known and however much is allowed', () => {
  expect(guardVerdict({ known: 1, removals: 1, updates: 0, wished: 0 }, { ...guard, maxRemovals: 1 })).toContain(
    'empty',
  );
  expect(guardVerdict({ known: 1, removals: 0, updates: 0, wished: 0 }, guard)).toBeNull();
});

it('updates are unlimited unless a limit is set', () => {
  expect(guardVerdict({ ...counts, updates: 338 }, guard)).toBeNull();
  const limited = { ...guard, maxUpdates: 0.5 };
  expect(guardVerdict({ ...counts, updates: 169 }, limited)).toBeNull();
  expect(guardVerdict({ ...counts, updates: 170 }, limited)).toContain('170 of 338');
  expect(guardVerdict({ ...counts, known: 4, updates: 5 }, limited)).toBeNull();
});

// Which resource continues where addresses changed.

import { describe, expect, it } from 'vitest';
import type { LedgerEntry, SentNode } from '../../../src/model/ledger-entry.ts';
import type { DatasetWish } from '../../../src/model/wish.ts';
import { findMissing } from '../../../src/pipeline/plan/missing.ts';
import { catalogueManifest, entry, gatherEntries } from '../../sources/catalogue/support/catalogue.ts';
import { fc } from '../../support/extent.ts';
import { liveState } from './support/make.ts';

interface Distribution {
  downloadURL: string;
  title?: string;
  format?: string;
  identifier?: string;
}

const at = (path: string, more: Partial<Distribution> = {}): Distribution => ({
  downloadURL: path.includes('://') ? path : `https://example.org/${path}`,
  ...more,
});

const wishesOf = async (distribution: unknown[], files: 'link' | 'fetch' = 'link'): Promise<DatasetWish[]> =>
  (await gatherEntries([entry('a', { distribution })], catalogueManifest({ files }))).wishes;

const knownOf = (before: DatasetWish[]) => {
  const known = { ...liveState(before), sent: new Map<string, SentNode>() };
  for (const { resources } of before) {
    for (const { key, title, fields, source } of resources) {
      known.sent.set(key, { title, published: true, fields });
      const old = known.entries.get(key);
      const sourcePath = source.kind === 'url' ? source.url : null;
      if (old) known.entries.set(key, { ...old, file: null, sourcePath });
    }
  }
  return known;
};

/** Positions in the new list of what continues, by positions in the old one; null for what is missing. */
const continued = async (
  before: unknown[],
  after: unknown[],
  files?: 'link' | 'fetch',
  change?: Partial<LedgerEntry>,
) => {
  const [[old], [now]] = [await wishesOf(before, files), await wishesOf(after, files)];
  if (!old || !now) throw new Error('no dataset');
  const known = knownOf([old]);
  for (const [key, each] of known.entries) known.entries.set(key, { ...each, ...change });
  const { renames } = findMissing([now], known, { onMissing: 'delete', missingForMs: 0, now: 1 });
  const keys = now.resources.map(({ key }) => key);
  return old.resources.map(({ key }) => {
    const to = renames.find(({ from }) => from.key === key)?.to ?? key;
    return keys.includes(to) ? keys.indexOf(to) : null;
  });
};

describe('a resource whose address changed continues', () => {
  it.each<[string, Distribution[], Distribution[], (number | null)[]]>([
    ['by its title', [at('a.csv', { title: 'T' })], [at('2024/b.csv', { title: 'T' })], [0]],
    [
      'in any order',
      [at('a', { title: 'A' }), at('b', { title: 'B' })],
      [at('y', { title: 'B' }), at('x', { title: 'A' })],
      [1, 0],
    ],
    ['by the title of its dataset', [at('a.csv')], [at('b.csv')], [0]],
    [
      'on another host, by its path',
      [at('1/a.csv'), at('2/a.csv')],
      [at('http://x.org/2/a.csv'), at('http://x.org/1/a.csv')],
      [1, 0],
    ],
    ['by its file name', [at('a.csv'), at('b.csv')], [at('new/b.csv'), at('new/a.csv'), at('new/c.csv')], [1, 0]],
    [
      'by its format',
      [at('1', { format: 'CSV' }), at('2', { format: 'PDF' })],
      [at('3', { format: 'pdf' }), at('4', { format: 'csv' })],
      [1, 0],
    ],
    [
      'although it got an identifier',
      [at('a.csv', { title: 'T' })],
      [at('a.csv', { title: 'U', identifier: 'i' })],
      [0],
    ],
    [
      'although it lost its twin',
      [at('a', { title: 'A' }), at('a', { title: 'B' })],
      [at('a', { title: 'B' })],
      [null, 0],
    ],
    ['although it got a twin', [at('a', { title: 'B' })], [at('a', { title: 'A' }), at('a', { title: 'B' })], [1]],
  ])('%s', async (_what, before, after, expected) => {
    expect(await continued(before, after)).toEqual(expected);
    expect(await continued(before, after, 'fetch')).toEqual(expected);
  });

  it.each<[string, Distribution[], Distribution[], (number | null)[]]>([
    ['the title is another one', [at('a.csv', { title: 'T' })], [at('b.csv', { title: 'U' })], [null]],
    ['two have its title', [at('a', { title: 'T' })], [at('b', { title: 'T' }), at('c', { title: 'T' })], [null]],
    ['another one kept its address and has its title', [at('a'), at('b')], [at('a'), at('c')], [0, null]],
    [
      'it has an identifier',
      [at('a', { title: 'T', identifier: '1' })],
      [at('b', { title: 'T', identifier: '2' })],
      [null],
    ],
  ])('not where %s', async (_what, before, after, expected) => {
    expect(await continued(before, after)).toEqual(expected);
  });

  it('not where it was taken down: what has its title now is new', async () => {
    const [before, after] = [[at('a', { title: 'T' })], [at('b', { title: 'T' })]];
    expect(await continued(before, after, 'link', { removed: 'unpublish' })).toEqual([null]);
  });
});

describe('any change of a list', () => {
  const item = fc.record({
    downloadURL: fc.integer({ min: 0, max: 5 }).map((index) => `https://example.org/${index % 3}/${index}.csv`),
    title: fc.constantFrom('A', 'B', 'C', 'D'),
    format: fc.constantFrom('csv', 'pdf'),
  });

  it('continues each resource at most once, never as one of another title, and leaves no identity to another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 5 }), fc.array(item, { maxLength: 5 }), async (before, after) => {
        const positions = await continued(before, after);
        const found = positions.filter((position) => position !== null);
        expect(new Set(found).size).toBe(found.length);
        for (const [index, position] of positions.entries()) {
          const [old, now] = [before[index], position === null ? undefined : after[position]];
          if (now && old?.downloadURL !== now.downloadURL) expect(now.title).toBe(old?.title);
        }
      }),
    );
  });

  it('with reordering, duplicates and moved addresses swaps nothing where titles are distinct', async () => {
    const distinct = fc
      .uniqueArray(
        item.map((each) => each.downloadURL),
        { minLength: 1, maxLength: 6 },
      )
      .map((urls) => urls.map((downloadURL, index) => ({ downloadURL, title: `T${index}`, format: 'csv' })));
    const change = fc.array(fc.record({ isMoved: fc.boolean(), place: fc.nat() }), { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(distinct, change, async (before, changes) => {
        const after = before
          .map((each, index) =>
            changes[index]?.isMoved ? { ...each, downloadURL: `https://new.example/${index}` } : each,
          )
          .map((each, index) => ({ each, place: changes[index]?.place ?? 0 }))
          .sort((a, b) => a.place - b.place)
          .map(({ each }) => each);
        const expected = before.map(({ title }) => after.findIndex((each) => each.title === title));
        expect(await continued(before, after)).toEqual(expected);
        const doubled = [...after, ...after.map((each) => ({ ...each, title: `${each.title} copy` }))];
        expect(await continued(before, doubled)).toEqual(expected);
        expect((await continued(doubled, after)).slice(0, after.length)).toEqual(after.map((_, index) => index));
      }),
    );
  });
});

describe('a dataset whose identifier is spelt differently continues, with its resources', () => {
  const wished = async (identifiers: string[], address = 'https://example.org/a.csv'): Promise<DatasetWish[]> => {
    const distribution = [at(address, { title: 'T' }), at('https://example.org/b', { title: 'U', identifier: 'i' })];
    return (await gatherEntries(identifiers.map((identifier) => entry(identifier, { distribution })))).wishes;
  };
  const renamed = async (before: string[], after: string[], address?: string) => {
    const [old, now] = [await wished(before), await wished(after, address)];
    const known = knownOf(old);
    for (const { key, identifier = null } of old) {
      const each = known.entries.get(key);
      if (each) known.entries.set(key, { ...each, identifier });
    }
    const { renames, removals } = findMissing(now, known, { onMissing: 'delete', missingForMs: 0, now: 1 });
    return { renames: renames.length, removals: removals.length };
  };

  it.each([
    ['scheme', 'http://d.example/a', 'https://d.example/a'],
    ['slash', 'https://d.example/a', 'https://d.example/a/'],
    ['case', '0A1B-2C', '0a1b-2c'],
    ['encoding', 'https://d.example/größe a', 'https://d.example/gr%C3%B6%C3%9Fe%20a'],
    ['composition of letters', 'größe'.normalize('NFC'), 'größe'.normalize('NFD')],
  ])('%s', async (_what, before, after) => {
    expect(await renamed([before], [after])).toEqual({ renames: 3, removals: 0 });
    expect(await renamed([before], [after], 'http://example.org/a.csv')).toEqual({ renames: 3, removals: 0 });
  });

  it.each([
    [
      'both, then the address alone',
      { identifier: 'a-1', '@id': 'https://d.example/x' },
      { '@id': 'http://d.example/x/' },
    ],
    ['the address, then both', { '@id': 'https://d.example/x' }, { identifier: 'a-1', '@id': 'https://d.example/x' }],
    [
      'another name',
      { identifier: 'a', '@id': 'https://d.example/x' },
      { identifier: 'b', '@id': 'https://d.example/x' },
    ],
    [
      'an identifier that is the address',
      { identifier: 'https://d.example/x' },
      { identifier: 'a', '@id': 'https://d.example/x' },
    ],
  ])('its `@id`: %s', async (_what, before, after) => {
    const distribution = [at('https://example.org/a.csv', { title: 'T' })];
    const other = { identifier: 'y', '@id': 'https://d.example/y', title: 'Y' };
    const wishesOf = async (names: Record<string, unknown>) =>
      (await gatherEntries([{ title: 'X', ...names, distribution }, other])).wishes;
    const [old, now] = [await wishesOf(before), await wishesOf(after)];
    const known = knownOf(old);
    for (const { key, identifier = null, alias = null } of old) {
      const each = known.entries.get(key);
      if (each) known.entries.set(key, { ...each, identifier, alias });
    }
    const { renames, removals } = findMissing(now, known, { onMissing: 'delete', missingForMs: 0, now: 1 });
    expect([renames.map(({ to }) => to), removals]).toEqual([now[0] && [now[0].key, now[0].resources[0]?.key], []]);
  });

  it('unless that tells two apart, or it is another one', async () => {
    expect(await renamed(['http://d.example/a'], ['http://d.example/a', 'https://d.example/a'])).toEqual({
      renames: 0,
      removals: 0,
    });
    expect(await renamed(['d/A', 'd/a'], ['D/A', 'D/a'])).toEqual({ renames: 0, removals: 6 });
    expect(await renamed(['http://d.example/a'], ['https://d.example/b'])).toEqual({ renames: 0, removals: 3 });
  });
});

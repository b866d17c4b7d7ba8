import { describe, expect, it } from 'vitest';
import { type FetchedFrom, newEntry } from '../../../src/model/ledger-entry.ts';
import type { ResourceSource, ResourceWish } from '../../../src/model/wish.ts';
import { withKnownNames, withSource } from '../../../src/pipeline/plan/known-wish.ts';
import { datasetWish, resourceWish } from './support/make.ts';

const url = 'https://a.example/export?id=3';
const known: FetchedFrom = { url, etag: null, lastModified: null, finalUrl: url, name: 'spending.xlsx' };
const unsure: ResourceSource = { kind: 'url', url, name: 'export' };

const found = (source: ResourceSource, fetched: FetchedFrom | null): ResourceWish | undefined => {
  const wish = { ...datasetWish('m/d'), resources: [resourceWish('m/d/r', { source })] };
  const entry = newEntry({ key: 'm/d/r', kind: 'resource', uuid: 'u', title: 'R' });
  const entries = new Map([['m/d/r', { ...entry, fetched }]]);
  return withKnownNames([wish], { entries, sources: new Map() })[0]?.resources[0];
};

describe('the name of a file behind an address', () => {
  it('is the one its server told, and says what is made of it', () => {
    expect(found(unsure, known)).toMatchObject({ source: { name: 'spending.xlsx' }, recipe: { asked: false } });
    expect(found(unsure, { ...known, name: 'spending.csv' })).toMatchObject({ source: { name: 'spending.csv' } });
    expect(found(unsure, { ...known, name: 'spending.csv' })).not.toHaveProperty('recipe');
  });

  it('is not known for another address, before the first fetch, and not needed where the manifest names it', () => {
    expect(found(unsure, { ...known, url: 'https://b.example/' })?.source).toEqual(unsure);
    expect(found(unsure, null)?.source).toEqual(unsure);
    const named: ResourceSource = { ...unsure, name: 'mine.csv', isNamed: true };
    expect(found(named, known)?.source).toEqual(named);
  });

  it('reports whether the keys beside a table of text apply', () => {
    const wish = resourceWish('m/d/r', { source: unsure, reading: { encoding: 'cp1250', mend: 'safe' } });
    const csv = withSource(wish, { ...unsure, name: 'a.csv' });
    expect(csv.recipe).toMatchObject({ steps: [{ encoding: 'cp1250' }], mend: 'safe' });
    expect(withSource(wish, { ...unsure, name: 'a.pdf' })).not.toHaveProperty('recipe');
  });

  it('leaves a recipe that is requested alone', () => {
    const recipe = withSource(resourceWish('m/d/r'), { ...unsure, name: 'a.json' }).recipe;
    if (!recipe) throw new Error('no recipe');
    const asked = { ...recipe, asked: true };
    expect(withSource(resourceWish('m/d/r', { recipe: asked }), unsure).recipe).toEqual(asked);
  });
});

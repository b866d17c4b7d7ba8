// What holds for any catalogue.

import { describe, expect, it } from 'vitest';
import { idPattern, kindOfKey } from '../../../src/model/key.ts';
import { datasetWishSchema } from '../../../src/model/wish.ts';
import { readCatalogue } from '../../../src/sources/catalogue/read-catalogue.ts';
import { idOfAddress, idOfIdentifier } from '../../../src/sources/catalogue/values.ts';
import { draws, fc } from '../../support/extent.ts';
import { catalogueManifest, chunksOf, collect, gatherAll, gatherEntries } from './support/catalogue.ts';

const json = fc.jsonValue({ maxDepth: 6 });

/** Entries with the keys of catalogues and anything in them, some of it as it should be. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('R/P1D', '2014/2015', '0,0,1,1', 'https://a.example/x y'),
);
const value = fc.oneof(text, fc.array(text, { maxLength: 3 }), json);
const keys =
  'identifier title description keyword theme publisher contactPoint accessLevel rights license accrualPeriodicity issued modified temporal spatial landingPage language conformsTo isPartOf describedBy describedByType references bureauCode dataQuality distribution extra'.split(
    ' ',
  );
const distribution = fc.record(
  { downloadURL: value, accessURL: fc.webUrl(), title: value, format: value, mediaType: value },
  { requiredKeys: [] },
);
const entry = fc.record(
  {
    ...Object.fromEntries(keys.map((key) => [key, value])),
    identifier: fc.oneof(fc.string({ minLength: 1 }), value),
    title: fc.oneof(fc.string({ minLength: 1 }), value),
    distribution: fc.oneof(fc.array(distribution, { maxLength: 4 }), value),
  },
  { requiredKeys: [] },
);

describe('any catalogue', () => {
  it('is read as JSON.parse reads it, however its bytes are parted', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(json),
        json,
        fc.integer({ min: 1, max: 50 }),
        fc.boolean(),
        async (dataset, other, size, pretty) => {
          const written = JSON.stringify({ other, dataset, more: other }, null, pretty ? 2 : 0);
          const entries = await collect(readCatalogue(chunksOf(written, size), 'a.json'));
          expect(entries.map((item) => item.value)).toEqual(JSON.parse(written).dataset);
          expect(entries.map(({ index }) => index)).toEqual(dataset.map((_, at) => at + 1));
        },
      ),
      { numRuns: draws(200) },
    );
  });

  it('makes each entry a wish that the rest of the program takes, or a fault; never a crash', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(entry, json), { maxLength: 6 }),
        fc.constantFrom('link', 'fetch'),
        async (entries, files) => {
          const { wishes, skipped } = await gatherEntries(entries, catalogueManifest({ files }));
          expect(datasetWishSchema.array().safeParse(wishes).error).toBeUndefined();
          const faulty = skipped.filter(({ key }) => kindOfKey(key) === 'dataset');
          expect(wishes.length + faulty.length).toBe(entries.length);
          for (const { problems } of skipped) expect(problems).toHaveLength(1);
          const all = [...wishes, ...skipped].map(({ key }) => key);
          expect(new Set(all).size).toBe(all.length);
          for (const wish of wishes) {
            expect(wish.title).toMatch(/^[^\r\n]{1,255}$/);
            const ids = wish.resources.map(({ key }) => key.slice(wish.key.length + 1));
            expect(new Set(ids).size).toBe(ids.length);
            for (const id of ids) expect(id).toMatch(idPattern);
          }
        },
      ),
      { numRuns: draws(500) },
    );
  });

  it('gives the same wishes in whatever order entries and distributions stand', async () => {
    const sound = fc.uniqueArray(
      fc.record({
        identifier: fc.string({ minLength: 1 }).filter((id) => id.trim() !== ''),
        title: fc.constant('T'),
        distribution: fc.array(distribution, { maxLength: 4 }),
      }),
      { selector: ({ identifier }) => identifier.trim() },
    );
    await fc.assert(
      fc.asyncProperty(sound, async (entries) => {
        const { wishes } = await gatherEntries(entries);
        const turned = await gatherEntries(
          entries.toReversed().map((item) => ({ ...item, distribution: item.distribution.toReversed() })),
        );
        const byKey = ({ wishes: list }: typeof turned) =>
          list.map((wish) => ({ ...wish, resources: wish.resources.toSorted((a, b) => (a.key < b.key ? -1 : 1)) }));
        expect(byKey(turned).toReversed()).toEqual(byKey({ ...turned, wishes }));
      }),
    );
  });

  it('asks for nothing when its end is missing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry), fc.nat(), async (dataset, at) => {
        const written = JSON.stringify({ dataset });
        const cut = Buffer.from(written).subarray(0, at % Buffer.byteLength(written));
        await expect(gatherAll(catalogueManifest(), chunksOf(cut))).rejects.toMatchObject({
          code: 'catalogue-fault',
        });
      }),
    );
  });
});

describe('ids', () => {
  it('are sound for any identifier and address, and two identifiers never share one', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1, unit: 'binary' }), (a, b) => {
        expect(idOfIdentifier(a)).toMatch(idPattern);
        expect(idOfIdentifier(b)).toMatch(idPattern);
        if (a !== b) expect(idOfIdentifier(a)).not.toBe(idOfIdentifier(b));
      }),
    );
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), (url) => void expect(idOfAddress(url)).toMatch(idPattern)),
    );
  });
});

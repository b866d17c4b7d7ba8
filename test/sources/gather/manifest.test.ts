import { describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import { type DatasetWish, datasetWishSchema } from '../../../src/model/wish.ts';
import { gatherManifest } from '../../../src/sources/gather/dataset-wish.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { writeText } from '../../support/yaml-file.ts';

const gather = async (text: string): Promise<DatasetWish[]> =>
  await gatherManifest(await loadManifest(writeText(tempDir(), 'm.yaml', text)));

const one = (dataset: string, head = 'name: m'): string => `${head}\ndatasets: [${dataset}]`;

describe('wishes of a manifest', () => {
  it('hold keys, uuids, fields, source and what is published', async () => {
    const wishes = await gather(
      one('{ id: a, title: A, license: cc-by, published: false, resources: [{ id: r, file: /d/x.csv, format: csv }] }'),
    );
    expect(wishes).toMatchObject([
      {
        key: 'm/a',
        uuid: uuidOfKey('m/a'),
        title: 'A',
        published: false,
        fields: { field_license: { und: [{ value: 'cc-by' }] } },
        resources: [
          {
            key: 'm/a/r',
            uuid: uuidOfKey('m/a/r'),
            datasetKey: 'm/a',
            title: 'r',
            published: true,
            import: 'auto',
            source: { kind: 'file', path: '/d/x.csv', name: 'x.csv' },
            fields: { field_format: { und: [{ name: 'csv' }] } },
          },
        ],
      },
    ]);
    expect(datasetWishSchema.array().safeParse(wishes).error).toBeUndefined();
  });

  it('a renamed manifest, dataset or resource keeps the uuid of its first name under a new key', async () => {
    const [dataset] = await gather(
      one(
        '{ id: new, title: A, renamedFrom: old, resources: [{ id: r2, renamedFrom: r1, file: x.csv }] }',
        'name: m2\nrenamedFrom: m1',
      ),
    );
    expect(dataset).toMatchObject({
      key: 'm2/new',
      uuid: uuidOfKey('m1/old'),
      resources: [{ key: 'm2/new/r2', datasetKey: 'm2/new', uuid: uuidOfKey('m1/old/r1') }],
    });
  });

  it('published, import and fields are no metadata of their own', async () => {
    const [dataset] = await gather(one('{ id: a, title: A, resources: [{ id: r, file: x.csv, import: never }] }'));
    expect(dataset?.fields).toEqual({});
    expect(dataset?.resources[0]).toMatchObject({ fields: {}, import: 'never' });
  });

  it('a manifest of a folder names no datasets by itself', async () => {
    expect(await gather('name: m\ndrop: { folder: in }')).toEqual([]);
  });
});

describe('the fingerprint of metadata', () => {
  const print = async (dataset: string): Promise<string | undefined> =>
    (await gather(one(dataset)))[0]?.metadataFingerprint;
  const base = '{ id: a, title: A, license: cc-by, author: X, fields: { f: { b: 1, a: [1, 2] } } }';

  it('is the same whatever the order of keys', async () => {
    expect(await print('{ fields: { f: { a: [1, 2], b: 1 } }, author: X, license: cc-by, title: A, id: a }')).toBe(
      await print(base),
    );
    expect(await print(base)).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['title', '{ id: a, title: B, license: cc-by, author: X, fields: { f: { b: 1, a: [1, 2] } } }'],
    ['a field', '{ id: a, title: A, license: gfdl, author: X, fields: { f: { b: 1, a: [1, 2] } } }'],
    ['the order of a list', '{ id: a, title: A, license: cc-by, author: X, fields: { f: { b: 1, a: [2, 1] } } }'],
    [
      'published',
      '{ id: a, title: A, license: cc-by, author: X, fields: { f: { b: 1, a: [1, 2] } }, published: false }',
    ],
    ['a missing field', '{ id: a, title: A, license: cc-by, fields: { f: { b: 1, a: [1, 2] } } }'],
  ])('changes with %s', async (_, changed) => {
    expect(await print(changed)).not.toBe(await print(base));
  });

  it('of a resource does not depend on where its file lies, but on the address it points at', async () => {
    const of = async (source: string): Promise<string | undefined> =>
      (await gather(one(`{ id: a, title: A, resources: [{ id: r, ${source} }] }`)))[0]?.resources[0]
        ?.metadataFingerprint;
    expect(await of('file: /a/x.csv')).toBe(await of('file: /b/y.csv'));
    expect(await of('link: "https://example.org/1"')).not.toBe(await of('link: "https://example.org/2"'));
  });
});

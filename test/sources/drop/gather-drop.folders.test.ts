// What describes dropped files beside their own sidecars: listed folders, inherited `dataset.yaml`, `datapackage.json`.
import { symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { datasetFields, resourceFields } from '../../../src/dataset-api/fields.ts';
import { listedFolders, placeOf } from '../../../src/sources/drop/drop-target.ts';
import { gatherDrop } from '../../../src/sources/drop/gather-drop.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { isDropManifest } from '../../../src/sources/manifest/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

const manifestText = `name: m
defaults: { dataset: { license: cc-by, tags: [all] } }
drop:
  folder: inbox
  folders:
    transport: { topics: [Transport], tags: [roads] }
    transport/rail: { groups: ["12"] }
`;

const fingerprint = { bytes: 1, sha256: '', mtimeNs: '0', ctimeNs: '0', ino: '1', hashedAt: 0 };

/** Gathers files that were dropped at these paths, beside files with these texts. */
const gather = async (dropped: string[], beside: Record<string, string> = {}, text = manifestText) => {
  const dir = tempDir();
  for (const [path, content] of Object.entries(beside)) writeText(dir, `inbox/${path}`, content);
  const manifest = await loadManifest(writeText(dir, 'm.yaml', text));
  if (!isDropManifest(manifest)) throw new Error('no drop');
  const claims = dropped.map((path, at) => {
    const placed = placeOf(path, listedFolders(manifest.drop));
    if (placed.kind !== 'file') throw new Error(`not placed: ${path}`);
    const { dataset, resource } = placed.place;
    return {
      id: String(at),
      dataset,
      resource,
      name: basename(path),
      path: `/spool/${path}`,
      dropped: path,
      claimedAt: at,
      fingerprint,
    };
  });
  return { dir, ...(await gatherDrop(manifest, claims)) };
};

describe('listed folders of an inbox', () => {
  it('give their topics, groups and the like to every dataset in them', async () => {
    const { wishes } = await gather(['transport/bikes/june.csv', 'transport/rail/delays.csv', 'budget/spending.csv']);
    expect(wishes.map(({ key, title, fields }) => ({ key, title, fields }))).toEqual([
      { key: 'm/budget', title: 'Budget', fields: datasetFields({ license: 'cc-by', tags: ['all'] }) },
      {
        key: 'm/transport.bikes',
        title: 'Bikes',
        fields: datasetFields({ license: 'cc-by', topics: ['Transport'], tags: ['roads'] }),
      },
      {
        key: 'm/transport.rail.delays',
        title: 'Delays',
        fields: datasetFields({ license: 'cc-by', topics: ['Transport'], tags: ['roads'], groups: ['12'] }),
      },
    ]);
    expect(wishes[1]?.resources.map(({ key }) => key)).toEqual(['m/transport.bikes/june']);
  });

  it('must have names of which ids can be made, and hold what a dataset holds', async () => {
    const faults = (folders: string): Promise<string[]> =>
      problemsOf(gather([], {}, `name: m\ndrop: { folder: inbox, folders: ${folders} }\n`));
    expect(await faults('{ 数据: {} }')).toEqual([expect.stringMatching(/drop\.folders\.数据: cannot derive an id/)]);
    expect(await faults('{ x/.y: {}, .git: {} }')).toEqual([
      expect.stringMatching(/must be the path of a folder in the inbox/),
      expect.stringMatching(/must be the path of a folder in the inbox/),
    ]);
    expect(await faults('{ a: { topic: [X] }, b: { access: private } }')).toEqual([
      expect.stringMatching(/drop\.folders\.a\.topic: unknown key; did you mean `topics`\?/),
      expect.stringMatching(/drop\.folders\.b\.access: .*needs the key `rights`/),
    ]);
  });
});

describe('dataset.yaml', () => {
  it('is inherited downwards, each refining the one above', async () => {
    const { wishes } = await gather(['transport/bikes/june.csv', 'budget.csv'], {
      'dataset.yaml': 'author: City\nfrequency: monthly\n',
      'transport/dataset.yaml': 'author: Traffic Office\n',
      'transport/bikes/dataset.yaml': 'title: Bike counts\nfrequency: daily\n',
    });
    expect(wishes.map(({ title, fields }) => ({ title, fields }))).toEqual([
      {
        title: 'Budget',
        fields: datasetFields({ license: 'cc-by', tags: ['all'], author: 'City', frequency: 'monthly' }),
      },
      {
        title: 'Bike counts',
        fields: datasetFields({
          license: 'cc-by',
          topics: ['Transport'],
          tags: ['roads'],
          author: 'Traffic Office',
          frequency: 'daily',
        }),
      },
    ]);
  });

  it('above datasets has no title, and must be no link', async () => {
    const titled = await gather(['transport/bikes/june.csv', 'x.csv'], {
      'transport/dataset.yaml': 'title: Traffic\n',
    });
    expect(titled.wishes.map(({ key }) => key)).toEqual(['m/x']);
    expect(titled.refused).toMatchObject([
      { reason: { message: expect.stringMatching(/a title is for one dataset/) } },
    ]);
    const dir = tempDir();
    writeText(dir, 'far.yaml', 'author: Mallory\n');
    writeText(dir, 'inbox/x.csv', 'a\n1\n');
    symlinkSync(join(dir, 'far.yaml'), join(dir, 'inbox/dataset.yaml'));
    const manifest = await loadManifest(writeText(dir, 'm.yaml', manifestText));
    if (!isDropManifest(manifest)) throw new Error('no drop');
    const claim = {
      id: '1',
      dataset: 'x',
      resource: 'x',
      name: 'x.csv',
      path: '/x.csv',
      dropped: 'x.csv',
      claimedAt: 1,
      fingerprint,
    };
    expect((await gatherDrop(manifest, [claim])).refused).toMatchObject([{ reason: { code: 'source-refused' } }]);
  });
});

describe('datapackage.json beside dropped files', () => {
  const pack = JSON.stringify({
    name: 'other-name',
    title: 'Bike counts',
    keywords: ['bikes'],
    licenses: [{ name: 'CC0-1.0' }],
    contributors: [{ title: 'Traffic Office', email: 'traffic@example.org' }],
    resources: [
      {
        name: 'other',
        path: 'june.csv',
        title: 'June 2026',
        description: 'All of June.',
        format: 'csv',
        schema: { fields: [{ name: 'day', type: 'date' }] },
      },
      { name: 'elsewhere', path: 'https://example.org/far.csv' },
    ],
  });

  it('describes its folder and its files, whose ids are still those of their names', async () => {
    const { wishes } = await gather(['transport/bikes/june.csv', 'transport/bikes/july.csv'], {
      'transport/bikes/datapackage.json': pack,
    });
    expect(wishes).toMatchObject([
      {
        key: 'm/transport.bikes',
        title: 'Bike counts',
        fields: datasetFields({
          license: 'cc-zero',
          topics: ['Transport'],
          tags: ['bikes'],
          author: 'Traffic Office',
          contact: { name: 'Traffic Office', email: 'traffic@example.org' },
        }),
        resources: [
          { key: 'm/transport.bikes/july', title: 'July' },
          { key: 'm/transport.bikes/june', title: 'June 2026', recipe: { schema: { fields: [{ name: 'day' }] } } },
        ],
      },
    ]);
    const june = wishes[0]?.resources[1];
    expect(june?.fields).toEqual(
      resourceFields({ description: 'All of June.', format: 'csv' }, june?.source ?? { kind: 'link', url: '' }),
    );
  });

  it('gives way to the YAML files beside it', async () => {
    const { wishes } = await gather(['bikes/june.csv'], {
      'bikes/datapackage.json': pack,
      'bikes/dataset.yaml': 'title: Bicycles\nlicense: odc-by\n',
      'bikes/june.yaml': 'title: The sixth month\n',
    });
    expect(wishes[0]?.title).toBe('Bicycles');
    expect(wishes[0]?.fields).toMatchObject(datasetFields({ license: 'odc-by' }));
    expect(wishes[0]?.resources[0]?.title).toBe('The sixth month');
    expect(JSON.stringify(wishes[0]?.resources[0]?.fields)).toContain('All of June.');
  });

  it('that is faulty refuses the files of its dataset, with the place of the fault', async () => {
    const { wishes, refused } = await gather(['bikes/june.csv', 'x.csv'], {
      'bikes/datapackage.json': '{\n  "title": "Bikes",\n  "resources": [{ "path": 5 }]\n}\n',
    });
    expect(wishes.map(({ key }) => key)).toEqual(['m/x']);
    expect(refused).toMatchObject([
      {
        claim: { dropped: 'bikes/june.csv' },
        reason: { code: 'manifest', message: expect.stringMatching(/json:3:\d+/) },
      },
    ]);
  });
});

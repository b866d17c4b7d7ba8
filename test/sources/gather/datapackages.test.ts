import { mkdir, rename, rmdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sparing } from '../../../src/pipeline/plan/missing.ts';
import { gatherPackages } from '../../../src/sources/gather/datapackages.ts';
import { gatherManifest } from '../../../src/sources/gather/dataset-wish.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { writeText } from '../../support/yaml-file.ts';

const pack = {
  profile: 'tabular-data-package',
  name: 'city-budget',
  id: 'https://doi.org/10.1000/budget',
  title: 'City budget\n2026',
  description: 'What the city **plans**.',
  homepage: 'https://example.org/budget',
  version: '1.2.0',
  keywords: ['budget', ' finance ', 'budget', ''],
  licenses: [{ name: 'CC-BY-4.0', path: 'https://creativecommons.org/licenses/by/4.0/' }, { name: 'MIT' }],
  contributors: [
    { title: 'Ann Writer', role: 'author' },
    { title: 'Data Desk', email: 'data@example.org', role: 'maintainer' },
    { title: 'Bob Wrangler', role: 'wrangler' },
  ],
  sources: [{ title: 'Ledger', path: 'https://example.org/ledger' }, { title: 'By word of mouth' }],
  image: 'logo.png',
  resources: [
    {
      name: 'spending',
      title: 'Spending',
      description: 'By department.',
      path: 'data/spending.csv',
      format: 'csv',
      encoding: 'windows-1252',
      dialect: { delimiter: ';', quoteChar: "'", doubleQuote: true },
      schema: {
        fields: [
          { name: 'id', type: 'integer' },
          { name: 'where', type: 'geopoint', format: 'array' },
        ],
      },
    },
    { name: 'plain', path: ['data/plain.csv'], dialect: { delimiter: ';' } },
    { name: 'map', path: 'data/map.geojson', schema: { fields: [{ name: 'x' }] } },
    { path: 'https://example.org/far.csv' },
  ],
};

const gather = async (packages: Record<string, unknown>, keys = 'datapackage: packages/*/datapackage.json') => {
  const dir = tempDir();
  for (const [name, value] of Object.entries(packages)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    writeText(dir, `packages/${name}/datapackage.json`, text);
  }
  const manifest = await loadManifest(writeText(dir, 'm.yaml', `name: m\n${keys}\n`));
  if (!('datapackages' in manifest)) throw new Error('no packages');
  const gathered = await gatherPackages(manifest);
  const places = gathered.skipped
    .flatMap(({ problems }) => problems)
    .map(({ file, line, key, message }) => `${file.slice(join(dir, 'packages/').length)}:${line} ${key}: ${message}`);
  return { dir, ...gathered, places };
};

describe('a data package', () => {
  it('asks for the same as a dataset that is written down', async () => {
    const { dir, wishes, skipped } = await gather({ budget: pack });
    expect(skipped).toEqual([]);
    const written = await loadManifest(
      writeText(
        dir,
        'written.yaml',
        `name: m
datasets:
  - id: city-budget
    title: City budget 2026
    description: What the city **plans**.
    tags: [budget, finance]
    license: cc-by
    landingPage: https://example.org/budget
    author: Ann Writer
    contact: { name: Data Desk, email: data@example.org }
    relatedContent: [{ title: Ledger, url: "https://example.org/ledger" }]
    additionalInfo: { Identifier: "https://doi.org/10.1000/budget", Version: 1.2.0 }
    resources:
      - id: spending
        title: Spending
        description: By department.
        format: csv
        file: packages/budget/data/spending.csv
        table: [{ encoding: windows-1252 }, { delimiter: ";" }]
        schema: { fields: [{ name: id, type: integer }, { name: where, type: any }] }
      - { id: plain, file: packages/budget/data/plain.csv }
      - { id: map, file: packages/budget/data/map.geojson }
      - { id: far, url: "https://example.org/far.csv" }
`,
      ),
    );
    expect(wishes).toEqual(await gatherManifest(written));
  });

  it('reports what is ignored, and where', async () => {
    const { dir, remarks } = await gather({ budget: pack });
    expect(remarks.map((remark) => remark.slice(join(dir, 'packages/budget/').length))).toEqual([
      expect.stringMatching(/^datapackage\.json:\d+: licenses\.1: `MIT` is ignored: portals have no code for it$/),
      expect.stringMatching(/contributors\.2: `Bob Wrangler` is ignored$/),
      expect.stringMatching(/sources\.1: is ignored, because it has no address$/),
      expect.stringMatching(/image: is ignored$/),
      expect.stringMatching(
        /resources\.0\.schema\.fields\.1: cells of this field are not checked: type: `geopoint` is not allowed/,
      ),
      expect.stringMatching(/resources\.0\.dialect\.quoteChar: is ignored/),
    ]);
  });

  it('of version 2 is understood, and held against what can be checked of its schemas', async () => {
    const { wishes, skipped, remarks } = await gather({
      two: {
        $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
        name: 'two',
        contributors: [{ givenName: 'Ann', familyName: 'Writer', roles: ['creator', 'contact'] }],
        resources: [
          {
            name: 'table',
            path: 'table.csv',
            schema: {
              fields: [
                { name: 'id', type: 'integer', constraints: { required: true } },
                { name: 'day', type: 'date', format: 'any' },
                { name: 'kinds', type: 'list' },
              ],
              missingValues: ['', { value: '-99', label: 'not asked' }],
              primaryKey: ['id'],
            },
          },
          { name: 'odd', path: 'odd.csv', schema: { fields: [{ type: 'string' }] } },
        ],
      },
    });
    expect(skipped).toEqual([]);
    expect(JSON.stringify(wishes[0]?.fields)).toContain('Ann Writer');
    expect(wishes[0]?.resources.map(({ recipe }) => recipe?.schema ?? null)).toEqual([
      {
        fields: [
          { name: 'id', type: 'integer', constraints: { required: true } },
          { name: 'day', type: 'any' },
          { name: 'kinds', type: 'any' },
        ],
        missingValues: ['', '-99'],
        primaryKey: ['id'],
      },
      null,
    ]);
    expect(remarks).toEqual([
      expect.stringMatching(/fields\.1: cells of this field are not checked: format: `any` would be a guess/),
      expect.stringMatching(/fields\.2: cells of this field are not checked: type: `list` is not allowed/),
      expect.stringMatching(/resources\.1\.schema\.fields\.0: cells of this field are not checked: name: /),
      expect.stringMatching(/resources\.1\.schema: the table is not checked against it: name: /),
    ]);
  });

  it('without name and title has those of its folder and files', async () => {
    const nothing = { title: null, description: null, keywords: null, licenses: null };
    const { wishes } = await gather({
      'Bike Counts': { ...nothing, resources: [{ name: null, path: 'June 2026.csv' }] },
    });
    expect(wishes.map(({ key, title }) => [key, title])).toEqual([['m/bike-counts', 'Bike Counts']]);
    expect(wishes[0]?.resources.map(({ key }) => key)).toEqual(['m/bike-counts/june-2026']);
  });
});

describe('a faulty data package', () => {
  it('is skipped with its faults at their places; the others go on', async () => {
    const sound = { name: 'sound', resources: [{ name: 'a', path: 'a.csv' }] };
    const gathered = await gather({
      a: sound,
      b: {
        name: 'bad',
        contributors: [{ title: 'Ann', email: 'nobody' }],
        resources: [
          { name: 'up', path: '../secret.csv' },
          { name: 'root', path: '/etc/passwd' },
          { name: 'inline', data: [1, 2] },
          { name: 'parts', path: ['a.csv', 'b.csv'] },
          { name: 'none' },
          { name: 'back', path: 'sub\\x.csv' },
          { name: 'share', path: '\\\\server\\x.csv' },
          { name: 'drive', path: 'C:\\x.csv' },
        ],
      },
      c: '{ "name": "torn",\n  "resources": [}\n',
      d: { ...sound, title: 'Twin' },
      e: { name: 'empty', resources: [] },
    });
    expect(gathered.wishes.map(({ key }) => key)).toEqual(['m/sound']);
    expect(gathered.places).toEqual([
      expect.stringMatching(
        /^b\/datapackage\.json:\d+ resources\.0\.path: `\.\.\/secret\.csv` leads out of the folder/,
      ),
      expect.stringMatching(/^b\/.* resources\.1\.path: `\/etc\/passwd` leads out of the folder/),
      expect.stringMatching(/^b\/.* resources\.2\.data: data inside the package cannot be published/),
      expect.stringMatching(/^b\/.* resources\.3\.path: a resource of several files cannot be published/),
      expect.stringMatching(/^b\/.* resources\.4\.path: the resource has no `path`/),
      expect.stringMatching(/^b\/.* resources\.5\.path: `sub\\x\.csv`: write folders with `\/`, as in `sub\/x\.csv`/),
      expect.stringMatching(/^b\/.* resources\.6\.path: `\\\\server\\x\.csv` leads out of the folder/),
      expect.stringMatching(/^b\/.* resources\.7\.path: `C:\\x\.csv` leads out of the folder/),
      expect.stringMatching(/^b\/datapackage\.json:6 contributors\.0\.email: must be an e-mail address/),
      expect.stringMatching(/^c\/datapackage\.json:2 : not valid JSON/),
      expect.stringMatching(/^d\/datapackage\.json:1 name: `sound` is already used by .*a\/datapackage\.json/),
      expect.stringMatching(/^e\/datapackage\.json:3 resources: must have at least 1 entry/),
    ]);
    expect(gathered.skipped.map(({ key, isKnown }) => `${key} ${isKnown}`)).toEqual([
      'm/bad true',
      'm/entry#c false',
      'm/entry#d false',
      'm/entry#e false',
    ]);
    expect(gathered.skipped[0]?.reason).toMatchObject({ code: 'entry-fault' });
    expect(sparing(gathered, () => false)('m/gone')).toBe('possible');
  });

  it('may not nest without end', async () => {
    const deep = `{ "name": "deep", "resources": [{ "path": "a.csv", "x": ${'['.repeat(50_000)}${']'.repeat(50_000)} }] }`;
    expect((await gather({ deep })).places).toEqual([
      'deep/datapackage.json:1 : the file nests deeper than 100 levels',
    ]);
  });

  it('that is named and not there is reported, and nothing counts as missing', async () => {
    const { skipped, places } = await gather({}, 'datapackage: [packages/x/datapackage.json]');
    expect(places).toEqual(['x/datapackage.json:1 : there is no such file']);
    expect(skipped.map(({ isKnown }) => isKnown)).toEqual([false]);
  });

  it('that a pattern does not find are no fault, but told', async () => {
    const { skipped, places, complete } = await gather({ a: pack }, 'datapackage: packagez/*/datapackage.json');
    expect(places).toEqual([]);
    expect(skipped).toEqual([]);
    expect(complete).toMatch(
      /^no file matches `.*packagez\/\*\/datapackage\.json`; the folder .*packagez cannot be read: there is no such file$/,
    );
  });

  it('may be in a folder that is not mounted: what the pattern finds is complete only where every folder was read', async () => {
    const { dir, complete } = await gather({ a: pack });
    expect(complete).toBe(true);
    const manifest = await loadManifest(join(dir, 'm.yaml'));
    if (!('datapackages' in manifest)) throw new Error('no packages');
    await mkdir(join(dir, 'packages/empty'));
    expect((await gatherPackages(manifest)).complete).toMatch(/^the folder .*\/empty is empty$/);
    await rmdir(join(dir, 'packages/empty'));
    await symlink(join(dir, 'elsewhere'), join(dir, 'packages/linked'));
    expect((await gatherPackages(manifest)).complete).toMatch(/linked leads nowhere$/);
  });
});

describe('a data package behind a link', () => {
  it('is found by a pattern like any other', async () => {
    const { dir, wishes } = await gather({ a: pack });
    await rename(join(dir, 'packages/a'), join(dir, 'elsewhere'));
    await symlink(join(dir, 'elsewhere'), join(dir, 'packages/a'));
    const manifest = await loadManifest(join(dir, 'm.yaml'));
    if (!('datapackages' in manifest)) throw new Error('no packages');
    const again = await gatherPackages(manifest);
    expect([again.wishes.map(({ key }) => key), again.complete]).toEqual([wishes.map(({ key }) => key), true]);
  });
});

describe('a data package made to fill the memory', () => {
  it('is skipped by its size', async () => {
    const { places } = await gather({ large: `{"resources": [${'1,'.repeat(4_500_000)}1]}` });
    expect(places).toEqual([
      expect.stringContaining('large/datapackage.json:1 : the file is larger than 8,388,608 bytes'),
    ]);
  });
});

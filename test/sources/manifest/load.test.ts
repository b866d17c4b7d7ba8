import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { defaultRules, type ListManifest, type Manifest } from '../../../src/sources/manifest/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

const load = async (text: string): Promise<Manifest> => await loadManifest(writeText(tempDir(), 'm.yaml', text));

const loadList = async (text: string): Promise<ListManifest> => {
  const manifest = await load(text);
  if (!('datasets' in manifest)) throw new Error('no written-down datasets');
  return manifest;
};

describe('a manifest with written-down datasets', () => {
  it('is resolved: defaults merged in, paths absolute, titles filled in', async () => {
    const dir = tempDir();
    const path = writeText(
      dir,
      'jobs/m.yaml',
      `name: city-finance
portal: city
schedule: "15 3 * * *"
timezone: Europe/Berlin
defaults: { dataset: { license: cc-by, tags: [city], contact: { name: Office } }, resource: { import: never } }
datasets:
  - id: budget
    title: Budget
    tags: [budget]
    contact: { email: office@example.org }
    resources:
      - { id: spending, title: Spending, file: ../data/spending.csv, import: auto }
      - { id: far, file: /srv/far.csv }
      - { id: page, link: "https://example.org/page" }
      - { id: service, api: "https://example.org/api", renamedFrom: old }
  - { id: empty, title: Empty, published: false }
`,
    );
    expect(await loadManifest(path)).toEqual({
      path,
      name: 'city-finance',
      portal: 'city',
      schedule: { cron: '15 3 * * *', timezone: 'Europe/Berlin', jitterMs: 0, window: null, catchUp: 'once' },
      ...defaultRules,
      defaults: {
        dataset: { license: 'cc-by', tags: ['city'], contact: { name: 'Office' } },
        resource: { import: 'never' },
      },
      datasets: [
        {
          id: 'budget',
          title: 'Budget',
          details: { license: 'cc-by', tags: ['budget'], contact: { email: 'office@example.org' } },
          resources: [
            {
              id: 'spending',
              title: 'Spending',
              source: { kind: 'file', path: `${dir}/data/spending.csv`, name: 'spending.csv' },
              details: { import: 'auto' },
            },
            {
              id: 'far',
              title: 'far',
              source: { kind: 'file', path: '/srv/far.csv', name: 'far.csv' },
              details: { import: 'never' },
            },
            {
              id: 'page',
              title: 'page',
              source: { kind: 'link', url: 'https://example.org/page' },
              details: { import: 'never' },
            },
            {
              id: 'service',
              title: 'service',
              renamedFrom: 'old',
              source: { kind: 'api', url: 'https://example.org/api' },
              details: { import: 'never' },
            },
          ],
        },
        {
          id: 'empty',
          title: 'Empty',
          details: { license: 'cc-by', tags: ['city'], contact: { name: 'Office' }, published: false },
          resources: [],
        },
      ],
    });
  });

  it('goes to the portal `local` and has no schedule unless it says so', async () => {
    const manifest = await loadList('name: m\ndatasets: []\n');
    expect(manifest).toMatchObject({ portal: 'local', onMissing: 'keep', datasets: [] });
    expect(manifest.schedule).toBeUndefined();
  });

  it('passes node fields through as they are', async () => {
    const { datasets } = await loadList(
      'name: m\ndatasets: [{ id: a, title: A, fields: { field_topic: { und: [{ tid: "2" }] } } }]',
    );
    expect(datasets[0]?.details.fields).toEqual({ field_topic: { und: [{ tid: '2' }] } });
  });

  it('is sound although a data file does not exist', async () => {
    const text = 'name: m\ndatasets: [{ id: a, title: A, resources: [{ id: r, file: nowhere.csv }] }]';
    await expect(load(text)).resolves.toBeDefined();
  });
});

describe('a manifest of a folder', () => {
  it('has an absolute folder and patterns as a list', async () => {
    const dir = tempDir();
    const path = writeText(
      dir,
      'jobs/in.yaml',
      'name: inbox\ndrop: { folder: ../inbox, files: "**/*.csv", settle: 2s, marker: .done }\ndefaults: { dataset: { license: gfdl } }',
    );
    expect(await loadManifest(path)).toMatchObject({
      defaults: { dataset: { license: 'gfdl' }, resource: {} },
      drop: { folder: `${dir}/inbox`, files: ['**/*.csv'], settleMs: 2_000, marker: '.done' },
    });
  });

  it('leaves the time to settle to the configuration when it names none', async () => {
    const manifest = await load('name: inbox\ndrop: { folder: /srv/in, files: ["*.csv", "*.tsv"] }');
    expect(manifest).toMatchObject({ drop: { folder: '/srv/in', files: ['*.csv', '*.tsv'], settleMs: null } });
  });
});

describe('faults', () => {
  it('of every kind come at once, in the order of their lines', async () => {
    const text = `nmae: x
schedule: "61 3 * * *"
timezone: Mars/Olympus
onMissing: destroy
defaults: { dataset: { licence: cc-by } }
datasets:
  - id: Budget
    title: A
    license: cc-bye
    frequency: anually
  - id: twice
    title: B
    access: private
    temporal: { from: 2026-05-01, to: 2026-04-30 }
    resources:
      - { id: r, file: a.csv, link: "https://example.org" }
      - { id: r, file: b.csv }
      - { id: s }
      - { id: t, link: example.org }
  - id: twice
    title: C
    tags: budget
    spatial: { wkt: "POINT (1 2" }
    contact: { email: nobody }
    temporal: { from: 2026-02-30 }
`;
    expect(await problemsOf(load(text))).toEqual([
      '1:1 name: this key is required',
      '1:1 nmae: unknown key; did you mean `name`?',
      expect.stringMatching(/^2:11 schedule: is not a cron expression: /),
      '3:11 timezone: is not a known time zone; use an IANA name such as `Europe/Berlin` or `UTC`',
      '4:12 onMissing: `destroy` is not allowed; allowed: keep, orphan, unpublish, delete',
      '5:24 defaults.dataset.licence: unknown key; did you mean `license`?',
      expect.stringMatching(/^7:9 datasets\.0\.id: must be 1 to 64 characters from/),
      expect.stringMatching(
        /^9:14 datasets\.0\.license: `cc-bye` is not allowed \(did you mean `cc-by`\?\); allowed: cc-by, /,
      ),
      expect.stringMatching(
        /^10:16 datasets\.0\.frequency: `anually` is not allowed \(did you mean `annually`\?\); allowed: R/,
      ),
      '13:13 datasets.1.access: `private` needs the key `rights`: say why access is limited',
      '14:39 datasets.1.temporal.to: must not be before `from` (2026-05-01)',
      '16:31 datasets.1.resources.0.link: only one of `file`, `url`, `link`, `api` is allowed; `file` is set, too',
      '17:15 datasets.1.resources.1.id: `r` is already used: the resource on line 16 has this id; ids must be unique',
      '18:9 datasets.1.resources.2: the resource has no content: it needs one of `file`, `url`, `link`, `api`',
      '19:24 datasets.1.resources.3.link: must be a full address that begins with http:// or https://',
      '20:9 datasets.2.id: `twice` is already used: the dataset on line 11 has this id; ids must be unique',
      '22:11 datasets.2.tags: must be a list, not text',
      '23:21 datasets.2.spatial.wkt: must be a well-known-text geometry such as `POINT (13.4 52.5)`',
      '24:23 datasets.2.contact.email: must be an e-mail address',
      '25:23 datasets.2.temporal.from: is not an existing date or time',
    ]);
  });

  it.each([
    ['name: m', '1:1 : the manifest publishes nothing: it needs one of `datasets`, `drop`'],
    ['name: m\ndatasets: []\ndrop: { folder: x }', '3:1 drop: only one of `datasets`, `drop`'],
    ['name: m\ndatasets: []\ncatalogue: a.json', '3:1 catalogue: only one of `datasets`, `drop`'],
    ['name: m\ncatalogue: 3', '2:12 catalogue: cannot be a number'],
    [
      'name: m\ncatalogue: https://ann:geheim@a.example/',
      '2:12 catalogue: must be a path, or an http(s) address without',
    ],
    ['name: m\ncatalogue: { from: ftp://a.example/ }', '2:20 catalogue.from: must be a path, or an http(s) address'],
    ['name: m\ncatalogue: { from: a.json, filters: { x..y: 1 } }', '2:39 catalogue.filters.x..y: must be a path'],
    ['name: m\ndrop: {}', '2:1 drop.folder: this key is required'],
    ['name: m\ndrop: { folder: x, settle: 2 }', '2:28 drop.settle: must be a duration'],
    ['name: m\nrenamedFrom: m\ndatasets: []', '2:1 renamedFrom: is the current name; remove it'],
    ['name: m\nschedule: hourly\ndatasets: []', '2:11 schedule: must have 5 fields'],
    ['name: m\nschedule: "0 0 30 2 *"\ndatasets: []', '2:11 schedule: is not a cron expression'],
    ['- a\n- b', '1:1 : must be a mapping (key: value), not a list'],
  ])('%j', async (text, problem) => {
    expect(await problemsOf(load(text))).toEqual([expect.stringContaining(problem)]);
  });

  it('a former id must not be in use, nor be the present one, nor be claimed twice', async () => {
    const text = `name: m
datasets:
  - { id: a, title: A, renamedFrom: b }
  - { id: b, title: B, renamedFrom: b }
  - { id: c, title: C, renamedFrom: x }
  - { id: d, title: D, renamedFrom: x }
`;
    expect(await problemsOf(load(text))).toEqual([
      '3:37 datasets.0.renamedFrom: `b` is already used: the dataset on line 4 has this id; ids must be unique',
      '4:24 datasets.1.renamedFrom: is the current id; remove it',
      '6:37 datasets.3.renamedFrom: `x` is already used: line 5 has the same former id; ids must be unique',
    ]);
  });

  it('limited access is judged with the defaults merged in', async () => {
    const datasets = 'datasets: [{ id: a, title: A, rights: Names of people }, { id: b, title: B }]';
    expect(await problemsOf(load(`name: m\ndefaults: { dataset: { access: private } }\n${datasets}`))).toEqual([
      expect.stringContaining('3:58 datasets.1.access: `private` needs the key `rights`'),
    ]);
  });

  it('a missing file and broken YAML are faults of the manifest, with the place', async () => {
    expect(await problemsOf(loadManifest('/nowhere/m.yaml'))).toEqual(['1:1 : there is no such file']);
    expect(await problemsOf(load('name: m\ndatasets: [\n'))).toEqual([expect.stringMatching(/^3:1 : not valid YAML/)]);
  });

  it('name the file as it was given', async () => {
    await expect(loadManifest('/nowhere/m.yaml')).rejects.toThrow(/^\/nowhere\/m\.yaml: there is no such file$/);
  });
});

describe('a manifest that is loaded again', () => {
  const text = 'name: m\ndatasets: [{ id: a, title: A }]\n';

  it('is the same while its text is, and read again when it changed', async () => {
    const path = writeText(tempDir(), 'm.yaml', text);
    const first = await loadManifest(path);
    expect(await loadManifest(path)).toBe(first);
    writeFileSync(path, text.replace('title: A', 'title: B'));
    expect(await loadManifest(path)).toMatchObject({ datasets: [{ title: 'B' }] });
    writeFileSync(path, 'name: m\ndatasets: [{ id: a }]\n');
    expect(await problemsOf(loadManifest(path))).toEqual([expect.stringContaining('title')]);
  });

  it('is not that of another path with the same text', async () => {
    const [one, other] = [writeText(tempDir(), 'm.yaml', text), writeText(tempDir(), 'm.yaml', text)];
    const first = await loadManifest(one);
    expect((await loadManifest(other)).path).toBe(other);
    expect(first.path).toBe(one);
  });
});

import { describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import { datasetWishSchema } from '../../../src/model/wish.ts';
import { sparedBy } from '../../../src/sources/gather/dataset-wish.ts';
import { catalogueManifest, chunksOf, entry, gatherAll, gatherEntries } from './support/catalogue.ts';

const url = 'https://example.org/a.csv';

/** A whole entry of DCAT-US 1.1. */
const whole = {
  '@type': 'dcat:Dataset',
  identifier: 'https://example.org/id/budget',
  title: ' City\n budget ',
  description: 'Planned <b>spending</b>.',
  keyword: ['budget', 'Finance', 'finance', ''],
  theme: ['Money'],
  publisher: { name: 'Finance Office', subOrganizationOf: { name: 'City', subOrganizationOf: { name: 'County' } } },
  contactPoint: { fn: 'Ada', hasEmail: 'mailto:ada@example.org' },
  accessLevel: 'restricted public',
  rights: 'Ask first.',
  license: 'https://creativecommons.org/licenses/by/4.0/',
  accrualPeriodicity: 'R/P1M',
  issued: '2015-02-03',
  modified: '2016-11-15T14:30:48.000Z',
  temporal: '2014/2015',
  spatial: '0,0,1,1',
  landingPage: 'https://example.org/budget',
  language: ['en-US', 'de'],
  conformsTo: 'https://example.org/standard',
  isPartOf: 'finances',
  describedBy: 'https://example.org/columns.csv',
  describedByType: 'text/csv',
  references: ['https://example.org/debate', 'nowhere'],
  bureauCode: ['015:11'],
  programCode: ['015:001', '015:002'],
  dataQuality: true,
  systemOfRecords: 'https://example.org/sorn',
  primaryITInvestmentUII: '023-000000001',
  shoeSize: 43,
  distribution: [
    { downloadURL: url, title: 'Table', description: 'All of it.', mediaType: 'text/csv', conformsTo: 'x' },
    { accessURL: 'https://example.org/api', format: 'API', downloadURL: null },
    { title: 'On paper only' },
  ],
};

const text = (value: string) => ({ und: [{ value }] });

describe('an entry', () => {
  it('becomes a dataset: every key in its field', async () => {
    const { wishes, skipped } = await gatherEntries([whole]);
    expect(skipped).toEqual([]);
    expect(datasetWishSchema.array().parse(wishes)).toEqual(wishes);
    expect(wishes[0]).toMatchObject({
      identifier: 'https://example.org/id/budget',
      title: 'City budget',
      published: true,
      fields: {
        body: { und: [{ value: 'Planned <b>spending</b>.', format: 'html' }] },
        field_pod_theme: text('Money'),
        field_author: text('Finance Office'),
        field_contact_name: text('Ada'),
        field_contact_email: text('ada@example.org'),
        field_public_access_level: text('restricted'),
        field_rights: text('Ask first.'),
        field_license: text('cc-by'),
        field_frequency: text('R/P1M'),
        field_harvest_source_issued: text('2015-02-03 00:00:00'),
        field_harvest_source_modified: text('2016-11-15 14:30:48'),
        field_temporal_coverage: { und: [{ value: '2014-01-01 00:00:00', value2: '2015-12-31 00:00:00' }] },
        field_spatial: { und: [{ wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))' }] },
        field_landing_page: { und: [{ url: 'https://example.org/budget' }] },
        field_language: { und: [{ value: 'en' }, { value: 'de' }] },
        field_conforms_to: { und: [{ url: 'https://example.org/standard' }] },
        field_is_part_of: text('finances'),
        field_data_dictionary: text('https://example.org/columns.csv'),
        field_data_dictionary_type: text('text/csv'),
        field_related_content: { und: [{ url: 'https://example.org/debate', title: 'https://example.org/debate' }] },
      },
    });
    const fields = wishes[0]?.fields as Record<string, { und: Record<string, string>[] }>; // as the schema says
    const [tags, info] = [fields.field_tags, fields.field_additional_info];
    expect(tags?.und.map(({ name }) => name)).toEqual(['budget', 'Finance']);
    expect(info?.und.map(({ first, second }) => [first, second])).toEqual([
      ['Identifier', 'https://example.org/id/budget'],
      ['Part of', 'City, County'],
      ['Bureau code', '015:11'],
      ['Program code', '015:001, 015:002'],
      ['Data quality', 'true'],
      ['System of records', 'https://example.org/sorn'],
      ['Primary IT investment UII', '023-000000001'],
    ]);
  });

  it('has its distributions as links, with title, description and format', async () => {
    const { wishes } = await gatherEntries([whole]);
    expect(wishes[0]?.resources).toMatchObject([
      {
        title: 'Table',
        source: { kind: 'link', url },
        fields: {
          body: { und: [{ value: 'All of it.' }] },
          field_format: { und: [{ name: 'csv' }] },
          field_link_api: { und: [{ url }] },
        },
      },
      {
        title: 'City budget',
        source: { kind: 'api', url: 'https://example.org/api' },
        fields: { field_format: { und: [{ name: 'api' }] } },
      },
    ]);
  });

  it('loses nothing without a word: what has no field is counted', async () => {
    const { remarks } = await gatherEntries([whole, { ...whole, identifier: 'b' }]);
    expect(remarks).toEqual(
      [
        '`distribution.conformsTo` has no field on the portal (2 times, first in "https://example.org/id/budget")',
        '`distribution` left out: it has neither downloadURL nor accessURL (2 times, first in "https://example.org/id/budget")',
        '`references` not an address (2 times, first in "https://example.org/id/budget")',
        '`shoeSize` has no field on the portal (2 times, first in "https://example.org/id/budget")',
      ].sort(),
    );
  });

  it.each([
    ['link', 'downloadURL'],
    ['link', 'accessURL'],
    ['fetch', 'downloadURL'],
  ] as const)('never publishes a password that stands in an address (files: %s, %s)', async (files, key) => {
    const distribution = [{ [key]: 'https://ann:secret@example.org/a.csv' }, { [key]: 'https://example.org/b.csv' }];
    const { wishes, remarks } = await gatherEntries([entry('a', { distribution })], catalogueManifest({ files }));
    expect(JSON.stringify(wishes)).not.toContain('secret');
    expect(wishes[0]?.resources).toHaveLength(1);
    expect(remarks).toEqual([
      `\`distribution.${key}\` left out: the address holds a user name or password, which would be published (in "a")`,
    ]);
  });

  it('may have null and empty text wherever it likes', async () => {
    const empty = Object.fromEntries(Object.keys(whole).map((key) => [key, null]));
    const blank = Object.fromEntries(Object.keys(whole).map((key) => [key, ' ']));
    const { wishes, skipped, remarks } = await gatherEntries([
      { ...empty, identifier: 'a', title: 'A' },
      { ...blank, identifier: 'b', title: 'B', distribution: [] },
    ]);
    expect([wishes.map(({ title }) => title), skipped, remarks]).toEqual([['A', 'B'], [], []]);
  });

  it('with values that no field takes shows them as further facts', async () => {
    const odd = {
      license: 'https://example.org/terms',
      accrualPeriodicity: 'now and then',
      modified: 'last week',
      temporal: 'the nineties',
      landingPage: 'none',
      conformsTo: 'good taste',
      accessLevel: 'friends',
    };
    const { wishes } = await gatherEntries([entry('a', odd)]);
    const info = wishes[0]?.fields.field_additional_info as { und: { second: string }[] };
    for (const value of Object.values(odd)) expect(info.und.map(({ second }) => second)).toContain(value);
    expect(Object.keys(wishes[0]?.fields ?? {})).toEqual(['field_additional_info']);
  });

  it('that is renewed by a rule instead of a date tells how often', async () => {
    const { wishes } = await gatherEntries([
      entry('a', { modified: 'R/P1W' }),
      entry('b', { modified: 'R/P1W', accrualPeriodicity: 'R/P1D' }),
    ]);
    expect(wishes.map(({ fields }) => fields.field_frequency)).toEqual([text('R/P1W'), text('R/P1D')]);
  });

  it('of limited access without rights gives the access level as the reason that portals ask for', async () => {
    const { wishes } = await gatherEntries([entry('a', { accessLevel: 'non-public' })]);
    expect(wishes[0]?.fields).toMatchObject({
      field_public_access_level: text('private'),
      field_rights: text('non-public'),
    });
  });

  it('with texts too long for the portal is cut, and it is told', async () => {
    const { wishes, remarks } = await gatherEntries([entry('a', { title: 'x'.repeat(300), rights: 'y'.repeat(300) })]);
    expect(wishes[0]?.title).toBe(`${'x'.repeat(254)}…`);
    expect(remarks).toEqual(['`rights` cut to 255 characters (in "a")', '`title` cut to 255 characters (in "a")']);
  });

  it('of DCAT-US 3.0 is understood where its keys are the same', async () => {
    const { wishes } = await gatherEntries([
      {
        '@type': 'Dataset',
        identifier: { '@type': 'Identifier', '@id': 'https://example.org/3' },
        title: 'Three',
        theme: [{ '@type': 'Concept', prefLabel: 'Money' }],
        contactPoint: [{ '@type': 'Kind', fn: 'Ada', hasEmail: 'mailto:a@example.org' }],
        publisher: { '@type': 'Organization', name: 'Office' },
        temporal: [{ startDate: '2014-01-01', endDate: '2014-12-31' }],
        spatial: [{ '@type': 'Location', prefLabel: 'Town' }],
        distribution: [
          {
            '@type': 'Distribution',
            downloadURL: { '@id': url },
            mediaType: 'https://www.iana.org/assignments/media-types/text/csv',
          },
        ],
      },
    ]);
    expect(wishes[0]).toMatchObject({
      identifier: 'https://example.org/3',
      fields: {
        field_pod_theme: text('Money'),
        field_contact_name: text('Ada'),
        field_author: text('Office'),
        field_spatial_geographical_cover: text('Town'),
      },
      resources: [{ source: { kind: 'link', url }, fields: { field_format: { und: [{ name: 'csv' }] } } }],
    });
  });
});

describe('files: fetch', () => {
  const sourceOf = async (distribution: Record<string, unknown>) => {
    const { wishes, remarks } = await gatherEntries(
      [entry('a', { distribution: [distribution] })],
      catalogueManifest({ files: 'fetch' }),
    );
    return { source: wishes[0]?.resources[0]?.source, fields: wishes[0]?.resources[0]?.fields, remarks };
  };

  it.each([
    [{ downloadURL: url }, { kind: 'url', url, name: 'a.csv', isNamed: true }],
    [
      { downloadURL: 'https://example.org/x/data?format=csv', mediaType: 'text/csv' },
      { kind: 'url', url: 'https://example.org/x/data?format=csv', name: 'data.csv', isNamed: true },
    ],
    [
      { downloadURL: 'https://example.org/', format: 'SHP', mediaType: 'application/zip' },
      { kind: 'url', url: 'https://example.org/', name: 'data.zip', isNamed: true },
    ],
    [{ accessURL: url }, { kind: 'api', url }],
  ])('fetches what portals take: %j', async (distribution, source) => {
    expect(await sourceOf(distribution)).toMatchObject({ source, remarks: [] });
  });

  it('leaves no link where the file itself is sent', async () => {
    expect((await sourceOf({ downloadURL: url })).fields).not.toHaveProperty('field_link_api');
  });

  it.each([
    [
      { downloadURL: 'https://example.org/page', format: 'HTML', mediaType: 'text/html' },
      'portals take no files of its kind',
    ],
    [{ downloadURL: 'https://example.org/a.exe' }, 'portals take no files of its kind'],
  ])('links what it does not fetch, and says so: %j', async (distribution, why) => {
    const { source, remarks } = await sourceOf(distribution);
    expect(source).toEqual({ kind: 'link', url: distribution.downloadURL });
    expect(remarks).toEqual([`\`distribution.downloadURL\` is linked, not fetched: ${why} (in "a")`]);
  });
});

describe('identity', () => {
  it('follows the identifier, whatever the title and the order', async () => {
    const before = await gatherEntries([entry('a'), entry('b')]);
    const after = await gatherEntries([entry('b', { title: 'B' }), entry('a', { title: 'A' })]);
    expect(after.wishes.map(({ uuid }) => uuid)).toEqual(before.wishes.map(({ uuid }) => uuid).reverse());
    expect(before.wishes[0]).toMatchObject({ key: 'm/a', uuid: uuidOfKey('m/a') });
  });

  it('of distributions follows their address, or their own identifier, not their order or title', async () => {
    const distribution = [
      { downloadURL: url, title: 'A' },
      { downloadURL: 'https://example.org/b.csv', title: 'B' },
      { '@id': 'https://example.org/d/3', downloadURL: url, title: 'C' },
      { '@id': '_:b4', accessURL: 'https://example.org/d', title: 'D' },
    ];
    const keysOf = async (list: { title: string }[]) => {
      const { wishes } = await gatherEntries([entry('a', { distribution: list })]);
      return new Map(wishes[0]?.resources.map(({ title, key }) => [title, key]));
    };
    const before = await keysOf(distribution);
    expect(new Set(before.values()).size).toBe(4);
    expect(await keysOf(distribution.toReversed())).toEqual(before);
    const renamed = await keysOf(distribution.map((item) => ({ ...item, title: item.title.toLowerCase() })));
    expect([...renamed.values()]).toEqual([...before.values()]);
    const moved = await keysOf(
      distribution.map((item) =>
        '@id' in item && item.title === 'C' ? { ...item, downloadURL: 'https://example.org/new' } : item,
      ),
    );
    expect(moved).toEqual(before);
  });

  it('of distributions with one address follows what they hold', async () => {
    const twins = [
      { accessURL: url, title: 'First' },
      { accessURL: url, title: 'Second' },
      { accessURL: url, title: 'Second' },
    ];
    const resources = async (list: unknown[]) =>
      (await gatherEntries([entry('a', { distribution: list })])).wishes[0]?.resources;
    const before = await resources(twins);
    expect(before).toHaveLength(3);
    expect(await resources(twins.toReversed())).toEqual(before);
  });
});

describe('faulty entries', () => {
  const faulty: [string, unknown, string][] = [
    ['no object', 7, 'it is no object'],
    ['no identifier', { title: 'T' }, 'it has no identifier'],
    ['an empty identifier', { identifier: '  ', title: 'T' }, 'it has no identifier'],
    [
      'an identifier without @id',
      { identifier: { notation: 'x' }, title: 'T' },
      'its identifier is an object without `@id`',
    ],
    ['no title', { identifier: 'x' }, 'it has no title'],
    [
      'a distribution that is none',
      { identifier: 'x', title: 'T', distribution: ['a.csv'] },
      'distribution 1 is no object',
    ],
    [
      'an address that is none',
      { identifier: 'x', title: 'T', distribution: [{ accessURL: '//////a' }] },
      'the accessURL of distribution 1 is no address: "//////a"',
    ],
    [
      'several faults',
      { distribution: [{ downloadURL: 'a' }] },
      'it has no identifier; it has no title; the downloadURL of distribution 1 is no address: "a"',
    ],
    [
      'the identifier of another',
      { identifier: 'good', title: 'T' },
      'entry 1 has the same identifier and is published',
    ],
  ];

  it.each(faulty)('are told and skipped, the others go on: %s', async (_what, value, fault) => {
    const { wishes, skipped } = await gatherEntries([entry('good'), value, entry('better')]);
    expect(wishes.map(({ key }) => key)).toEqual(['m/good', 'm/better']);
    expect(skipped).toHaveLength(1);
    expect(skipped[0]?.reason).toMatchObject({
      code: 'entry-fault',
      message: expect.stringMatching(/^entry 2.* \(line 1 of a\.json\): /),
    });
    expect(skipped[0]?.reason.message.endsWith(`: ${fault}`)).toBe(true);
  });

  it('have a key of their own each, known by the identifier where there is one', async () => {
    const { skipped } = await gatherEntries([entry('a'), entry('a'), { identifier: 'x' }, { identifier: 'x' }, {}, 3]);
    expect(skipped.map(({ key, isKnown }) => [key, isKnown])).toEqual([
      ['m/entry#2', true],
      ['m/x', true],
      ['m/entry#4', true],
      ['m/entry#5', false],
      ['m/entry#6', false],
    ]);
  });

  it('spare what they published before; those that cannot be told apart spare everything', async () => {
    const known = sparedBy((await gatherEntries([{ identifier: 'x' }])).skipped);
    expect(['m/x', 'm/x/r', 'm/y', 'm/y/r', 'm/xx'].filter(known)).toEqual(['m/x', 'm/x/r']);
    const unknown = sparedBy((await gatherEntries([{ title: 'X' }])).skipped);
    expect(['m/x', 'm/y/r'].filter(unknown)).toEqual(['m/x', 'm/y/r']);
    expect(['m/x'].filter(sparedBy([]))).toEqual([]);
  });

  it('that are not wanted are not told', async () => {
    const manifest = catalogueManifest({ filters: { theme: ['water'] } });
    const { wishes, skipped } = await gatherEntries([entry('a', { theme: 'water' }), { theme: 'air' }], manifest);
    expect([wishes.length, skipped]).toEqual([1, []]);
  });

  it('of a catalogue that ends early publish nothing at all', async () => {
    const bytes = chunksOf('{"dataset": [{"identifier": "a", "title": "A"}, {"identifier": "b"');
    await expect(gatherAll(catalogueManifest(), bytes)).rejects.toThrow('it ends early');
  });
});

describe('a manifest', () => {
  it('gives what an entry leaves out, and its own fields', async () => {
    const manifest = catalogueManifest(
      { defaults: { license: 'cc-by' }, overrides: { 'publisher.name': 'City' } },
      {
        defaults: {
          dataset: {
            license: 'cc-zero',
            author: 'Nobody',
            language: ['de'],
            published: false,
            fields: { field_granularity: text('Street') },
          },
          resource: { format: 'data', import: 'never' },
        },
      },
    );
    const { wishes } = await gatherEntries([entry('a', { distribution: { downloadURL: url } })], manifest);
    expect(wishes[0]).toMatchObject({
      published: false,
      fields: {
        field_license: text('cc-by'),
        field_author: text('City'),
        field_language: text('de'),
        field_granularity: text('Street'),
      },
      resources: [{ import: 'never', fields: { field_format: { und: [{ name: 'data' }] } } }],
    });
  });

  it('that was renamed keeps the identities', async () => {
    const { wishes } = await gatherEntries([entry('a')], catalogueManifest({}, { name: 'new', renamedFrom: 'm' }));
    expect(wishes[0]).toMatchObject({ key: 'new/a', uuid: uuidOfKey('m/a') });
  });
});

import { describe, expect, it } from 'vitest';
import { itemsOfField } from '../../../src/dataset-api/fields.ts';
import { uuidOfKey } from '../../../src/model/key.ts';
import { type DatasetWish, datasetWishSchema } from '../../../src/model/wish.ts';
import { sparing } from '../../../src/pipeline/plan/missing.ts';
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

const factsOf = (wish: DatasetWish | undefined): unknown => itemsOfField(wish?.fields.field_additional_info);

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
      ['References', 'nowhere'],
      ['Bureau code', '015:11'],
      ['Program code', '015:001, 015:002'],
      ['Data quality', 'true'],
      ['System of records', 'https://example.org/sorn'],
      ['Primary IT investment UII', '023-000000001'],
      ['shoeSize', '43'],
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

  it.each([
    ['temporal', '2009-01-01/..', 'Temporal', '2009-01-01/..'],
    ['temporal', '2009-01-01/', 'Temporal', '2009-01-01/'],
    ['temporal', { startDate: '2009-01-01' }, 'Temporal', '2009-01-01/..'],
    ['temporal', { endDate: '2009-01-01' }, 'Temporal', '../2009-01-01'],
    ['temporal', [{ startDate: '2009' }, '2010/2011'], 'Temporal', '2009/..'],
    ['issued', 'last spring', 'Issued', 'last spring'],
    ['modified', { when: 1 }, 'Modified', '{"when":1}'],
    ['license', 'ours', 'License', 'ours'],
    ['accessLevel', 'secret', 'Access level', 'secret'],
    ['accrualPeriodicity', 'when needed', 'Frequency', 'when needed'],
    ['landingPage', 'our intranet', 'Landing page', 'our intranet'],
    ['language', ['en', 'Klingon'], 'Language', 'Klingon'],
    ['spatial', { zone: 7 }, 'Spatial', '{"zone":7}'],
    ['references', 'nowhere', 'References', 'nowhere'],
    ['publisher', ['A', 'B', 'C'], 'Further publishers', 'B; C'],
    ['contactPoint', [{ fn: 'A' }, { fn: 'B' }], 'Further contacts', 'B'],
    ['inSeries', ['a', 'b'], 'Series', 'b'],
    ['ext:grade', ['x', 'y'], 'grade', 'x; y'],
  ])('keeps in Additional info what the portal cannot hold of `%s`: %j', async (key, value, name, text) => {
    const { wishes, remarks } = await gatherEntries([entry('a', { [key]: value })]);
    expect(wishes[0]?.fields.field_additional_info).toMatchObject({
      und: expect.arrayContaining([{ first: name, second: text }]),
    });
    expect(remarks.join()).toMatch(new RegExp(`^\`${key}\` .*; kept in Additional info`));
    expect(JSON.stringify(wishes[0]?.fields.field_temporal_coverage ?? '')).not.toContain('2009');
  });

  it('has well-formed text only, and is the same at the next run', async () => {
    const half = '\ud83d';
    const cut = entry('a', { title: `Cut ${half}`, description: half, keyword: [`tag ${half}`], [`x${half}`]: half });
    const first = await gatherEntries([cut]);
    const written = JSON.stringify(first.wishes);
    expect(written.isWellFormed() && !/\\ud[89a-f]/.test(written)).toBe(true);
    expect(first.wishes[0]).toMatchObject({ title: 'Cut \ufffd', fields: { body: { und: [{ value: '\ufffd' }] } } });
    expect((await gatherEntries([JSON.parse(JSON.stringify(cut))])).wishes).toEqual(first.wishes);
    const { wishes } = await gatherEntries([entry('b', { title: `${'x'.repeat(253)}🎉🎉` })]);
    expect(wishes[0]?.title).toBe(`${'x'.repeat(253)}…`);
  });

  it('loses nothing without a word: what has no field is counted', async () => {
    const { remarks } = await gatherEntries([whole, { ...whole, identifier: 'b' }]);
    expect(remarks).toEqual(
      [
        '`distribution.conformsTo` has no field on the portal (2 times, first in "https://example.org/id/budget")',
        '`distribution` left out: it has neither downloadURL nor accessURL (2 times, first in "https://example.org/id/budget")',
        '`references` not an address that portals link to; kept in Additional info (2 times, first in "https://example.org/id/budget")',
        '`shoeSize` has no field on the portal; kept in Additional info (2 times, first in "https://example.org/id/budget")',
      ].sort(),
    );
  });

  it.each([
    ['link', 'downloadURL'],
    ['link', 'accessURL'],
    ['fetch', 'downloadURL'],
  ] as const)('never publishes a password that stands in an address (files: %s, %s)', async (files, key) => {
    const distribution = [{ [key]: 'https://ann:secret@example.org/a.csv' }, { [key]: 'https://example.org/b.csv' }];
    const { wishes, skipped } = await gatherEntries([entry('a', { distribution })], catalogueManifest({ files }));
    expect(JSON.stringify([wishes, skipped])).not.toContain('secret');
    expect(wishes[0]?.resources).toHaveLength(1);
    expect(skipped.map(({ reason }) => reason.message)).toEqual([
      `entry 1 "a" (line 1 of a.json): distribution 1 is left out: its ${key} holds a user name or password, which would be published`,
    ]);
  });

  it.each(['ftp://ann:secret@example.org/a', 'sftp://ann:secret@h/a', 'jdbc:postgresql://ann:secret@h/db'])(
    'never publishes a password that stands in an address of another kind: %s',
    async (accessURL) => {
      const { wishes, skipped } = await gatherEntries([
        entry('a', { distribution: [{ accessURL }, { accessURL: url }] }),
      ]);
      expect(JSON.stringify([wishes, skipped])).not.toContain('secret');
      expect([wishes[0]?.resources.length, skipped.length]).toEqual([1, 1]);
    },
  );

  it('leaves out a value with a password in an address, whatever its key, and says so', async () => {
    const secret = 'https://ann:secret@example.org/x';
    const values = {
      landingPage: secret,
      references: [url, secret],
      describedBy: { '@id': secret },
      conformsTo: secret,
      license: secret,
      isPartOf: secret,
      rights: `see ${secret}`,
      shoeSize: secret,
    };
    const { wishes, remarks } = await gatherEntries([entry('a', { ...values, keyword: ['k'] })]);
    expect(JSON.stringify(wishes)).not.toContain('secret');
    expect(wishes[0]?.fields).toHaveProperty('field_tags');
    const why = 'left out: it holds a user name or password, which would be published (in "a")';
    expect(remarks.toSorted()).toEqual(
      Object.keys(values)
        .map((key) => `\`${key}\` ${why}`)
        .sort(),
    );
    const plain = { landingPage: 'https://example.org/@52,13?mail=a:b@c', rights: 'mailto:a@b.example at 8:00' };
    expect((await gatherEntries([entry('a', plain)])).remarks).toEqual([]);
  });

  it('has no control characters in its text', async () => {
    const odd = {
      title: 'A\u0000\u0007b',
      description: 'x\u0000\ny',
      keyword: 'k\u0001, l',
      publisher: { name: '\u001bP' },
    };
    const { wishes } = await gatherEntries([entry('a', odd)]);
    expect(wishes[0]).toMatchObject({
      title: 'Ab',
      fields: { body: { und: [{ value: 'x\ny' }] }, field_author: text('P') },
    });
    expect(JSON.stringify(wishes)).not.toMatch(/\\u00[01]/);
  });

  it('has an e-mail address without its scheme and subject, or none', async () => {
    const emailOf = async (hasEmail: string) => {
      const { wishes } = await gatherEntries([entry('a', { contactPoint: { fn: 'Ann', hasEmail } })]);
      return wishes[0]?.fields.field_contact_email;
    };
    expect(await emailOf('MAILTO:a@b.example?subject=Hi')).toEqual(text('a@b.example'));
    expect(await emailOf('mailto:')).toBeUndefined();
  });

  it.each([
    ['http://purl.org/cld/freq/daily', 'R/P1D'],
    ['http://publications.europa.eu/resource/authority/frequency/ANNUAL', 'R/P1Y'],
  ])('says by an address how often it is renewed: %s', async (accrualPeriodicity, code) => {
    const { wishes } = await gatherEntries([entry('a', { accrualPeriodicity })]);
    expect(wishes[0]?.fields.field_frequency).toEqual(text(code));
  });

  it('may have texts by language, and distributions by name', async () => {
    const files = {
      r1: { title: 'One', downloadURL: 'https://f.example/1' },
      r2: { accessURL: 'https://f.example/2' },
    };
    const { wishes } = await gatherEntries([
      entry('a', {
        title: { de: 'Bäume', fr: 'Arbres' },
        description: { fr: 'Où', en: 'Where' },
        keyword: { de: ['Baum', 'Stadt'], fr: ['arbre'] },
        distribution: files,
      }),
      entry('b', { distribution: { title: { de: 'Eins' }, accessURL: { '@id': 'https://f.example/3' } } }),
    ]);
    expect(wishes[0]).toMatchObject({ title: 'Bäume', fields: { body: { und: [{ value: 'Where' }] } } });
    expect(wishes[0]?.fields.field_tags).toMatchObject({ und: [{ name: 'Baum' }, { name: 'Stadt' }] });
    expect(wishes.map(({ resources }) => resources.map(({ title }) => title))).toEqual([['One', 'Bäume'], ['Eins']]);
  });

  it('may have keys of any length, which are cut as their values are', async () => {
    const { wishes, remarks } = await gatherEntries([entry('a', { ['k'.repeat(5000)]: 'v' })]);
    expect(factsOf(wishes[0])).toContainEqual({ first: `${'k'.repeat(254)}…`, second: 'v' });
    expect(remarks.every((remark) => remark.length < 500)).toBe(true);
  });

  it('may spell its keys in another case, or with a prefix; distributions may be a list of PHP', async () => {
    const plain = { identifier: 'a', title: 'A', keyword: ['k'] };
    const distribution = [
      { downloadURL: url, title: 'One' },
      { accessURL: `${url}/2`, title: 'Two' },
    ];
    const expected = await gatherEntries([{ ...plain, distribution }]);
    expect(expected.wishes[0]?.resources).toHaveLength(2);
    const odd = [
      { DownloadUrl: url, Title: 'One' },
      { 'dcat:accessUrl': `${url}/2`, 'dct:title': 'Two' },
    ];
    for (const [key, value] of [
      ['Distribution', odd],
      ['dcat:distribution', odd],
      ['distribution', { 0: distribution[0], 2: distribution[1] }],
    ] as const) {
      const entry = { Identifier: 'a', 'dcterms:title': 'A', Keyword: ['k'], [key]: value };
      expect(await gatherEntries([entry])).toMatchObject({ wishes: expected.wishes, skipped: [], remarks: [] });
    }
    const both = await gatherEntries([{ ...plain, Title: 'Other' }]);
    expect([both.wishes[0]?.title, both.remarks]).toEqual([
      'A',
      ['`Title` has no field on the portal; kept in Additional info (in "a")'],
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

  it('may have a geometry of any size', async () => {
    const ring = Array.from({ length: 100_000 }, (_, at) => [(at % 360) - 180, (at % 180) - 90]);
    const { wishes } = await gatherEntries([entry('a', { spatial: { type: 'Polygon', coordinates: [ring] } })]);
    const [area] = itemsOfField(wishes[0]?.fields.field_spatial) ?? [];
    expect(area?.wkt).toBe(`POLYGON ((${ring.map((pair) => pair.join(' ')).join(', ')}))`);
  });

  it.each([
    [{ modified: '2020-05-06' }, '2020-05-06 00:00:00'],
    [{ modified: '2020-05-06T07:08:09Z', issued: null }, '2020-05-06 07:08:09'],
    [{ modified: '2020-05-06', issued: '2019-01-01' }, '2019-01-01 00:00:00'],
    [{ modified: '2020-05-06', issued: 'long ago' }, undefined],
    [{ modified: 'R/P1D' }, undefined],
  ])('without a date of issue was issued when it was modified: %j', async (more, issued) => {
    const { wishes } = await gatherEntries([entry('a', more)]);
    expect(wishes[0]?.fields.field_harvest_source_issued).toEqual(issued && text(issued));
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
    [
      { downloadURL: 'https://example.org/1', format: '.CSV' },
      { kind: 'url', url: 'https://example.org/1', name: '1.csv', isNamed: true },
    ],
    [
      {
        downloadURL: 'https://example.org/1',
        format: 'http://publications.europa.eu/resource/authority/file-type/CSV',
      },
      { kind: 'url', url: 'https://example.org/1', name: '1.csv', isNamed: true },
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

  it('of distributions with one address, or one identifier, follows title and format, not their order or number', async () => {
    const twins = [
      { accessURL: url, title: 'First' },
      { accessURL: url, title: 'Second' },
      { accessURL: url, title: 'Second', format: 'PDF' },
      { accessURL: url, title: 'Second', format: 'PDF' },
      { identifier: 'i', accessURL: url, title: 'First' },
      { identifier: 'i', accessURL: 'https://example.org/b', title: 'Second' },
    ];
    const keysOf = async (list: unknown[]) =>
      (await gatherEntries([entry('a', { distribution: list })])).wishes[0]?.resources.map(({ key }) => key) ?? [];
    const before = await keysOf(twins);
    expect(new Set(before).size).toBe(6);
    expect((await keysOf(twins.toReversed())).sort()).toEqual(before.toSorted());
    expect(await keysOf(twins.slice(1))).toEqual([...before.slice(1, 4), expect.any(String), expect.any(String)]);
  });

  it('of resources is that of the catalogue: they are in its order', async () => {
    const distribution = ['z', 'a', 'm'].map((name) => ({
      downloadURL: `https://example.org/${name}.csv`,
      title: name,
    }));
    const { wishes } = await gatherEntries([entry('a', { distribution })]);
    expect(wishes[0]?.resources.map(({ title }) => title)).toEqual(['z', 'a', 'm']);
  });
});

describe('DCAT-US 3.0', () => {
  const named = (identifier: unknown) => ({ identifier, title: 'T' });

  it.each([
    ['an @id', named({ '@id': 'urn:a', notation: 'n' }), 'urn:a'],
    ['a notation only', named({ '@type': 'Identifier', notation: 'NCDC-1', version: '1.0' }), 'NCDC-1'],
    ['a notation with a type', named({ notation: { '@value': 'NCDC-1' } }), 'NCDC-1'],
    ['adms:identifier', { title: 'T', 'adms:identifier': [{ notation: 'NCDC-1' }] }, 'NCDC-1'],
    ['its own @id', { title: 'T', '@id': 'https://example.org/d' }, 'https://example.org/d'],
    ['identifier before them', { ...named('i'), '@id': 'urn:x', 'adms:identifier': { notation: 'y' } }, 'i'],
  ])('identifies by %s', async (_what, value, identifier) => {
    const { wishes, skipped } = await gatherEntries([value]);
    expect([wishes.map((wish) => wish.identifier), skipped]).toEqual([[identifier], []]);
    expect(factsOf(wishes[0])).toContainEqual({ first: 'Identifier', second: identifier });
  });

  it('publishes services as datasets with their endpoints, and what nested catalogues hold', async () => {
    const service = {
      '@type': 'DataService',
      identifier: 's',
      title: 'Weather',
      endpointURL: ['https://example.org/v1', 'https://example.org/v2'],
      endpointDescription: ['https://example.org/openapi.json'],
      servesDataset: ['urn:d', { title: 'Rain' }],
    };
    const nested = { title: 'Inner', dataset: [entry('n')], hasPart: [{ service: [{ ...service, identifier: 't' }] }] };
    const written = JSON.stringify({ dataset: [entry('d')], service: [service], catalog: [nested], record: [{}] });
    const { wishes, skipped, remarks } = await gatherAll(catalogueManifest(), chunksOf(written));
    expect(wishes.map(({ key }) => key)).toEqual(['m/d', 'm/s', 'm/n', 'm/t']);
    expect(skipped).toEqual([]);
    expect(remarks).toEqual([
      '`record` of the catalogue is not published: only datasets and services are (in its head)',
    ]);
    expect(wishes[1]).toMatchObject({
      title: 'Weather',
      fields: { field_data_dictionary: text('https://example.org/openapi.json') },
      resources: service.endpointURL.map((address) => ({ title: 'Weather', source: { kind: 'api', url: address } })),
    });
    expect(factsOf(wishes[1])).toContainEqual({ first: 'Serves', second: 'urn:d, Rain' });
  });

  it('publishes a series, and the members written inside it once', async () => {
    const member = (year: number) => ({ '@id': `urn:c:${year}`, identifier: `c${year}`, title: `Climate ${year}` });
    const series = {
      '@type': 'DatasetSeries',
      '@id': 'urn:climate',
      title: 'Climate',
      first: member(2000),
      seriesMember: [{ ...member(2001), isPartOf: 'elsewhere' }, 'urn:c:2002', member(2003)],
      last: { '@id': 'urn:c:2003', title: 'the same' },
    };
    const loose = { ...entry('c2004'), inSeries: [{ '@id': 'urn:climate', title: 'Climate' }] };
    const { wishes, skipped, spared, remarks } = await gatherEntries([
      series,
      member(2003),
      loose,
      { ...series, '@id': undefined },
    ]);
    expect(wishes.map(({ identifier, fields }) => [identifier, fields.field_is_part_of])).toEqual([
      ['urn:climate', undefined],
      ['c2000', text('urn:climate')],
      ['c2001', text('elsewhere')],
      ['c2003', text('urn:climate')],
      ['c2004', text('urn:climate')],
    ]);
    expect(remarks).toEqual([
      '`seriesMember` is described twice: the first description is used (4 times, first in "c2003")',
    ]);
    expect(skipped.map(({ key }) => key)).toEqual(['m/entry#4']);
    // One that is only named is elsewhere, or what it published is still offered.
    expect(new Set(spared)).toEqual(new Set(['m/urn-c-2002-d13c093fd0bb823d']));
    const named = await gatherEntries([{ ...series, first: 'b1', seriesMember: ['b1', { '@id': 'b2' }], last: null }]);
    expect([named.skipped, named.spared]).toEqual([[], ['m/b1', 'm/b2']]);
    const spares = sparing(named, () => true);
    expect(['m/b1', 'm/b1/r', 'm/b3'].map(spares)).toEqual(['certain', 'certain', 'none']);
  });

  it('links a distribution that only a service gives access to', async () => {
    const service = [{ title: 'API', endpointURL: ['https://example.org/api'] }];
    const distribution = [
      { accessService: service },
      { accessService: service, accessURL: url },
      { accessService: [{}] },
    ];
    const { wishes, remarks } = await gatherEntries([entry('a', { distribution })]);
    expect(wishes[0]?.resources.map(({ source }) => source)).toEqual([
      { kind: 'api', url: 'https://example.org/api' },
      { kind: 'api', url },
    ]);
    expect(remarks).toEqual([
      '`distribution.accessService` not published in addition to an accessURL (in "a")',
      '`distribution` left out: it has neither downloadURL nor accessURL (in "a")',
    ]);
  });
});

describe('an entry with nothing where a filter looks', () => {
  it('is not published, and keeps what it published', async () => {
    const manifest = catalogueManifest({ filters: { 'publisher.name': ['Parks'] } });
    const gathered = await gatherEntries(
      [
        entry('a', { publisher: { name: 'Parks' } }),
        entry('b', { publisher: null }),
        entry('c', { publisher: { name: 'Water' } }),
      ],
      manifest,
    );
    expect([gathered.wishes.map(({ key }) => key), gathered.skipped]).toEqual([['m/a'], []]);
    expect(['m/b', 'm/b/r', 'm/c'].map(sparing(gathered, () => true))).toEqual(['certain', 'certain', 'none']);
  });
});

describe('distributions', () => {
  it.each([
    ['are none', [[], null, undefined, ''], 'none'],
    [
      'are empty, and may be any',
      [[{}, {}], {}, [null], [''], [{ '@type': 'dcat:Distribution' }], [{}, []]],
      'possible',
    ],
  ])('%s', async (_what, values, spared) => {
    for (const distribution of values) {
      const gathered = await gatherEntries([entry('x', { distribution }), entry('y')]);
      const spares = sparing(gathered, () => false);
      expect([gathered.skipped, spares('m/x/r'), spares('m/y/r')], JSON.stringify(distribution)).toEqual([
        [],
        spared,
        'none',
      ]);
    }
  });
});

describe('a faulty distribution', () => {
  const good = { downloadURL: url, title: 'Good' };

  it.each([
    ['no object', 7, null, 'it is not an object'],
    [
      'an address that is none',
      { accessURL: '//////a', title: 'Bad' },
      null,
      'its accessURL is not a valid address: "//////a"',
    ],
    [
      'one with an identifier',
      { identifier: 'i', downloadURL: 'a' },
      'i',
      'its downloadURL is not a valid address: "a"',
    ],
  ])('leaves out itself, not its dataset: %s', async (_what, bad, id, fault) => {
    const { wishes, skipped } = await gatherEntries([entry('x', { distribution: [bad, good] }), entry('y')]);
    expect(wishes.map(({ resources }) => resources.map(({ title }) => title))).toEqual([['Good'], []]);
    expect(skipped).toMatchObject([{ key: `m/x/${id ?? 'distribution#1'}`, isKnown: id !== null }]);
    expect(skipped[0]?.reason).toMatchObject({
      code: 'entry-fault',
      message: `entry 1 "x" (line 1 of a.json): distribution 1 is left out: ${fault}`,
    });
    expect(skipped.flatMap(({ problems }) => problems.map(({ message }) => message))).toEqual([
      `entry 1 "x": distribution 1 is left out: ${fault}`,
    ]);
  });

  it('keeps what it published before: itself where it has an identifier, else whatever its dataset no longer names', async () => {
    const spared = async (bad: unknown) => {
      const spares = sparing(await gatherEntries([entry('x', { distribution: [bad, good] })]), () => false);
      return Object.fromEntries(['m/x', 'm/x/i', 'm/x/r', 'm/y', 'm/y/i'].map((key) => [key, spares(key)]));
    };
    const none = { 'm/x': 'none', 'm/x/i': 'none', 'm/x/r': 'none', 'm/y': 'none', 'm/y/i': 'none' };
    expect(await spared({ identifier: 'i', downloadURL: 'a' })).toEqual({ ...none, 'm/x/i': 'certain' });
    expect(await spared({ downloadURL: 'a' })).toEqual({ ...none, 'm/x/i': 'possible', 'm/x/r': 'possible' });
    expect(await spared({ title: 'On paper only' })).toEqual(none);
    for (const empty of [{}, null, '', { '@type': 'dcat:Distribution' }, { title: '', downloadURL: ' ' }])
      expect(await spared(empty)).toEqual({ ...none, 'm/x/i': 'possible', 'm/x/r': 'possible' });
    expect(await spared({ title: 'Not yet', downloadURL: null })).toEqual({
      ...none,
      'm/x/i': 'possible',
      'm/x/r': 'possible',
    });
    expect(await spared({ identifier: 'i', accessURL: '' })).toEqual({ ...none, 'm/x/i': 'certain' });
  });
});

describe('faulty entries', () => {
  const faulty: [string, unknown, string][] = [
    ['no object', 7, 'it is not an object'],
    ['no identifier', { title: 'T' }, 'it has no identifier'],
    ['an empty identifier', { identifier: '  ', title: 'T' }, 'it has no identifier'],
    [
      'an identifier without @id and notation',
      { identifier: { version: '1' }, title: 'T' },
      'its identifier is an object without `@id` and `notation`',
    ],
    ['a list of identifiers', { identifier: ['x'], title: 'T' }, 'its identifier is a list; an identifier is one text'],
    [
      'an identifier that is rounded',
      { identifier: 2 ** 53, title: 'T' },
      'its identifier is a number too large to be read exactly; write it as text',
    ],
    ['true as identifier', { identifier: true, title: 'T' }, 'its identifier is not text of at most 2,000 characters'],
    ['no title', { identifier: 'x' }, 'it has no title'],
    ['a title that nobody sees', { identifier: 'x', title: '\u200b\u0007' }, 'it has no title'],
    ['a title that is a list', { identifier: 'x', title: ['A', 'B'] }, 'its title is a list; a title is one text'],
    ['an empty list as title', { identifier: 'x', title: [] }, 'it has no title'],
    ['several faults', { distribution: [{ downloadURL: 'a' }] }, 'it has no identifier; it has no title'],
    ['the identifier of another', { identifier: 'good', title: 'T' }, 'entry 1 has the same identifier and is used'],
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
    const known = sparing(await gatherEntries([{ identifier: 'x' }]), () => false);
    const spared = ['m/x', 'm/x/r', 'm/y', 'm/y/r', 'm/xx'].map((key) => known(key));
    expect(spared).toEqual(['certain', 'certain', 'none', 'none', 'none']);
    const unknown = sparing(await gatherEntries([{ title: 'X' }]), () => false);
    expect(['m/x', 'm/y/r'].map((key) => unknown(key))).toEqual(['possible', 'possible']);
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

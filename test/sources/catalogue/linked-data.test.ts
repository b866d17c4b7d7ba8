import { describe, expect, it } from 'vitest';
import { readLinkedData } from '../../../src/sources/catalogue/linked-data.ts';
import { catalogueManifest, chunksOf, collect, gatherAll } from './support/catalogue.ts';

const gather = (document: unknown, size = 1000) =>
  gatherAll(catalogueManifest(), chunksOf(typeof document === 'string' ? document : JSON.stringify(document), size));

const context = {
  dcat: 'http://www.w3.org/ns/dcat#',
  dct: 'http://purl.org/dc/terms/',
  foaf: 'http://xmlns.com/foaf/0.1/',
  vcard: 'http://www.w3.org/2006/vcard/ns#',
  adms: 'http://www.w3.org/ns/adms#',
};
const eu = 'http://publications.europa.eu/resource/authority';

const graph = {
  '@context': context,
  '@graph': [
    {
      '@id': 'https://example.org/cat',
      '@type': 'dcat:Catalog',
      'dcat:dataset': [{ '@id': 'https://example.org/d/1' }],
    },
    {
      '@id': 'https://example.org/d/1',
      '@type': 'dcat:Dataset',
      'dct:title': [
        { '@language': 'de', '@value': 'Haushalt' },
        { '@language': 'en', '@value': 'Budget' },
      ],
      'dct:description': 'Planned spending.',
      'dcat:keyword': ['budget', 'finance'],
      'dcat:theme': { '@id': `${eu}/data-theme/GOVE` },
      'dct:publisher': { '@id': 'https://example.org/office' },
      'dcat:contactPoint': { '@id': '_:contact' },
      'dct:accessRights': { '@id': `${eu}/access-right/PUBLIC` },
      'dct:accrualPeriodicity': { '@id': `${eu}/frequency/ANNUAL` },
      'dct:language': [{ '@id': `${eu}/language/DEU` }, { '@id': `${eu}/language/ENG` }],
      'dct:license': { '@id': 'https://creativecommons.org/licenses/by/4.0/' },
      'dct:modified': { '@value': '2020-05-06', '@type': 'http://www.w3.org/2001/XMLSchema#date' },
      'dct:temporal': { '@type': 'dct:PeriodOfTime', 'dcat:startDate': '2019-01-01', 'dcat:endDate': '2019-12-31' },
      'dct:spatial': { '@type': 'dct:Location', 'dcat:bbox': 'POLYGON ((0 0, 1 0, 1 1, 0 0))' },
      'adms:status': 'fine',
      'dcat:distribution': [{ '@id': 'https://example.org/d/1/csv' }],
    },
    { '@id': 'https://example.org/office', '@type': 'foaf:Organization', 'foaf:name': 'Finance Office' },
    {
      '@id': '_:contact',
      '@type': 'vcard:Kind',
      'vcard:fn': 'Ada',
      'vcard:hasEmail': { '@id': 'mailto:ada@example.org' },
    },
    {
      '@id': 'https://example.org/d/1/csv',
      '@type': 'dcat:Distribution',
      'dct:title': 'Table',
      'dcat:accessURL': { '@id': 'https://example.org/a.csv' },
      'dcat:downloadURL': { '@id': 'https://example.org/a.csv' },
      'dct:format': { '@id': `${eu}/file-type/CSV` },
    },
  ],
};

const text = (value: string) => ({ und: [{ value }] });

describe('a DCAT-AP catalogue in JSON-LD', () => {
  it('is understood by the same mapping', async () => {
    const { wishes, skipped, remarks } = await gather(graph);
    expect([wishes.length, skipped]).toEqual([1, []]);
    expect(wishes[0]).toMatchObject({
      identifier: 'https://example.org/d/1',
      title: 'Budget',
      fields: {
        field_author: text('Finance Office'),
        field_contact_name: text('Ada'),
        field_contact_email: text('ada@example.org'),
        field_public_access_level: text('public'),
        field_frequency: text('R/P1Y'),
        field_language: { und: [{ value: 'de' }, { value: 'en' }] },
        field_license: text('cc-by'),
        field_pod_theme: text('GOVE'),
        field_harvest_source_modified: text('2020-05-06 00:00:00'),
        field_temporal_coverage: { und: [{ value: '2019-01-01 00:00:00', value2: '2019-12-31 00:00:00' }] },
        field_spatial: { und: [{ wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 0))' }] },
      },
      resources: [
        {
          title: 'Table',
          source: { kind: 'link', url: 'https://example.org/a.csv' },
          fields: { field_format: { und: [{ name: 'csv' }] } },
        },
      ],
    });
    expect(remarks).toEqual([
      '`http://www.w3.org/ns/adms#status` has no field on the portal; kept in Additional info (in "https://example.org/d/1")',
    ]);
  });

  it('means the same in whatever form it is written', async () => {
    const [{ wishes }, nested, list] = await Promise.all([
      gather(graph),
      gather({
        '@context': context,
        '@type': 'dcat:Catalog',
        'dcat:dataset': [graph['@graph'][1]],
        'dct:hasPart': graph['@graph'].slice(2),
      }),
      gather(
        graph['@graph'].map((node) => ({ '@context': context, ...node })),
        11,
      ),
    ]);
    expect(nested.wishes).toEqual(wishes);
    expect(list.wishes).toEqual(wishes);
  });

  it('has services of catalogues, series, and identifiers with a notation', async () => {
    const document = {
      '@context': { ...context, skos: 'http://www.w3.org/2004/02/skos/core#' },
      '@graph': [
        { '@id': 'urn:c', '@type': 'dcat:Catalog', 'dcat:service': { '@id': 'urn:s' } },
        {
          '@id': 'urn:s',
          '@type': 'dcat:DataService',
          'dct:title': 'Service',
          'dcat:endpointURL': { '@id': 'https://example.org/api' },
        },
        { '@id': 'urn:series', '@type': 'dcat:DatasetSeries', 'dct:title': 'Series' },
        {
          '@type': 'dcat:Dataset',
          'dct:title': 'Member',
          'dct:identifier': { 'skos:notation': 'M-1' },
          'dcat:inSeries': { '@id': 'urn:series' },
          'dcat:distribution': { 'dcat:accessService': { '@id': 'urn:access' } },
        },
        { '@type': 'dcat:Dataset', 'dct:title': 'Other', 'adms:identifier': { 'skos:notation': 'O-1' } },
        { '@id': 'urn:access', '@type': 'dcat:DataService', 'dcat:endpointURL': { '@id': 'https://example.org/wfs' } },
      ],
    };
    const { wishes, skipped, remarks } = await gather(document);
    const urls = ({ resources }: (typeof wishes)[number]) =>
      resources.map(({ source }) => 'url' in source && source.url);
    expect(new Map(wishes.map((wish) => [wish.identifier, [wish.title, ...urls(wish)]]))).toEqual(
      new Map([
        ['urn:s', ['Service', 'https://example.org/api']],
        ['urn:series', ['Series']],
        ['M-1', ['Member', 'https://example.org/wfs']],
        ['O-1', ['Other']],
      ]),
    );
    expect(wishes.find(({ title }) => title === 'Member')?.fields.field_is_part_of).toEqual(text('urn:series'));
    expect([skipped, remarks]).toEqual([[], []]);
  });

  it('names its faulty entries', async () => {
    const bare = {
      '@context': context,
      '@graph': [
        { '@type': 'dcat:Dataset', 'dct:title': 'T' },
        { '@id': 'urn:x', '@type': 'dcat:Dataset' },
      ],
    };
    const { skipped } = await gather(bare);
    expect(skipped.map(({ reason }) => reason.message)).toEqual([
      'entry 1 "T" (a.json): it has no identifier',
      'entry 2 "urn:x" (a.json): it is named, but not described',
    ]);
  });

  it.each([
    ['a context elsewhere', { '@context': 'https://example.org/context.jsonld', '@graph': [] }, 'is not fetched'],
    ['no dataset', [{ '@id': 'urn:a', 'http://purl.org/dc/terms/title': 'x' }], 'it describes no dataset'],
    ['a broken document', '{"@graph": [', 'it is not JSON'],
    ['a nested document', `{"@graph": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'more than 40 levels deep'],
    ['no JSON-LD', '{"@context": {"a": 3}, "@graph": [{"a": 1}]}', 'it cannot be read as JSON-LD'],
  ])('that cannot be read is told: %s', async (_what, document, message) => {
    await expect(gather(document)).rejects.toMatchObject({
      code: 'catalogue-fault',
      message: expect.stringContaining(message),
    });
  });

  it('cannot grow while it is read: references are followed one step', async () => {
    const nodes = Array.from({ length: 60 }, (_, index) => ({
      '@id': `urn:n${index}`,
      '@type': 'dcat:Dataset',
      'dct:identifier': `n${index}`,
      'dct:title': `N${index}`,
      'dct:publisher': [{ '@id': `urn:n${index + 1}` }, { '@id': `urn:n${index + 1}` }],
      'dcat:distribution': [{ '@id': `urn:n${(index + 1) % 60}` }, { '@id': `urn:n${index}` }],
    }));
    const { wishes } = await gather({ '@context': context, '@graph': nodes });
    expect(wishes).toHaveLength(60);
  });
});

describe('a document made to fill the memory', () => {
  const fault = { code: 'catalogue-fault', hint: expect.stringContaining('one context') };
  const node = { '@id': 'https://example.org/d', '@type': 'http://www.w3.org/ns/dcat#Dataset' };
  const terms = (count: number, prefix = 't') =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, `https://example.org/${at}`]));

  it('by a list of contexts is refused before it is expanded, with the place of the list', async () => {
    const contexts = Array.from({ length: 20_000 }, (_, at) => ({ [`t${at}`]: `https://example.org/${at}` }));
    await expect(gather([{ ...node, '@context': contexts }], 65_536)).rejects.toMatchObject({
      ...fault,
      message: expect.stringContaining('at `0.@context` more than 100 contexts apply at once'),
    });
  });

  it('by contexts inside each other, or inside terms, is refused as well', async () => {
    const inner = {
      '@type': node['@type'],
      '@context': Array.from({ length: 60 }, () => ({ a: 'https://example.org/a' })),
    };
    await expect(gather([{ '@context': inner['@context'], '@graph': [inner] }])).rejects.toMatchObject(fault);
    const scoped = { '@context': { term: { '@id': 'https://example.org/t', ...inner } }, '@graph': [inner] };
    await expect(gather([{ '@context': inner['@context'], '@graph': [scoped] }])).rejects.toMatchObject(fault);
  });

  it('by too many terms is refused; some thousands are read', async () => {
    const many = [{ ...node, '@context': [terms(15_000), terms(15_000, 'u')] }];
    await expect(gather(many, 65_536)).rejects.toMatchObject({
      ...fault,
      message: expect.stringContaining('more than 20,000 terms are defined at once'),
    });
    const { wishes, skipped } = await gather([{ ...node, '@context': [context, terms(3000)] }], 65_536);
    expect(wishes.length + skipped.length).toBe(1);
  });

  it('takes down its own thread only, when it takes too long', async () => {
    const nodes = Array.from({ length: 50_000 }, (_, at) => ({ ...node, '@id': `https://example.org/${at}` }));
    const bytes = chunksOf(JSON.stringify(nodes), 65_536);
    await expect(collect(readLinkedData(bytes, 'slow.jsonld', 'json-ld', { longestMs: 20 }))).rejects.toMatchObject({
      code: 'catalogue-fault',
      message: 'slow.jsonld:1:1: reading it as JSON-LD takes too long',
    });
    expect((await gather(graph)).wishes).toHaveLength(1);
  });
});

import { describe, expect, it } from 'vitest';
import { datasetFields, limitedInForms, plainFields, resourceFields } from '../../src/dataset-api/fields.ts';

describe('fields of a dataset', () => {
  it('every friendly key becomes its node field in the entity shape', () => {
    const fields = datasetFields({
      description: 'All **about** it',
      summary: 'About',
      tags: ['budget', 'budget', 'finance'],
      topics: ['City Planning'],
      license: 'cc-by',
      frequency: 'annually',
      contact: { name: 'Office', email: 'office@example.org' },
      author: 'Statistics',
      access: 'restricted',
      rights: 'Names of people',
      spatial: { wkt: 'POINT (1 2)', label: 'Harbour' },
      temporal: { from: '2026-01-01', to: '2026-12-31T23:59' },
      granularity: 'Street',
      language: ['en', 'de'],
      groups: [12, '13'],
      landingPage: 'https://example.org/l',
      additionalInfo: { Year: 2026, Source: 'Ledger' },
      dataDictionary: 'https://example.org/d',
      dataDictionaryType: 'text/csv',
      conformsTo: 'https://example.org/s',
      isPartOf: 'Finances',
      relatedContent: [{ title: 'Debate', url: 'https://example.org/r' }],
      themes: ['Finance'],
      modified: '2026-02-01',
    });
    const term = (vocabulary: string, name: string) => ({
      tid: 'autocreate',
      name,
      vocabulary_machine_name: vocabulary,
    });
    expect(fields).toEqual({
      body: { und: [{ value: 'All **about** it', summary: 'About', format: 'html' }] },
      field_tags: { und: [term('tags', 'budget'), term('tags', 'finance')] },
      field_topic: { und: [term('dkan_topics', 'City Planning')] },
      field_license: { und: [{ value: 'cc-by' }] },
      field_frequency: { und: [{ value: 'R/P1Y' }] },
      field_contact_name: { und: [{ value: 'Office' }] },
      field_contact_email: { und: [{ value: 'office@example.org' }] },
      field_author: { und: [{ value: 'Statistics' }] },
      field_public_access_level: { und: [{ value: 'restricted' }] },
      field_rights: { und: [{ value: 'Names of people' }] },
      field_spatial: { und: [{ wkt: 'POINT (1 2)' }] },
      field_spatial_geographical_cover: { und: [{ value: 'Harbour' }] },
      field_temporal_coverage: { und: [{ value: '2026-01-01 00:00:00', value2: '2026-12-31 23:59:00' }] },
      field_granularity: { und: [{ value: 'Street' }] },
      field_language: { und: [{ value: 'en' }, { value: 'de' }] },
      og_group_ref: { und: [{ target_id: '12' }, { target_id: '13' }] },
      field_landing_page: { und: [{ url: 'https://example.org/l' }] },
      field_additional_info: {
        und: [
          { first: 'Year', second: '2026' },
          { first: 'Source', second: 'Ledger' },
        ],
      },
      field_data_dictionary: { und: [{ value: 'https://example.org/d' }] },
      field_data_dictionary_type: { und: [{ value: 'text/csv' }] },
      field_conforms_to: { und: [{ url: 'https://example.org/s' }] },
      field_is_part_of: { und: [{ value: 'Finances' }] },
      field_related_content: { und: [{ url: 'https://example.org/r', title: 'Debate' }] },
      field_pod_theme: { und: [{ value: 'Finance' }] },
      field_modified_source_date: { und: [{ value: '2026-02-01 00:00:00' }] },
    });
  });

  it('keys that are left out are not sent', () => {
    expect(datasetFields({})).toEqual({});
  });

  it('a period without an end ends where it begins', () => {
    expect(datasetFields({ temporal: { from: '2026-01-01 09:30:15' } })).toEqual({
      field_temporal_coverage: { und: [{ value: '2026-01-01 09:30:15', value2: '2026-01-01 09:30:15' }] },
    });
  });

  it('fields passed through replace those of the friendly keys', () => {
    const own = { field_license: { und: [{ value: 'other-open' }] }, field_extra: [] };
    expect(datasetFields({ license: 'cc-by' }, own)).toEqual(own);
  });
});

describe('fields of a resource', () => {
  const file = { kind: 'file', path: '/data/a.csv', name: 'a.csv' } as const;

  it('description and format by name', () => {
    expect(resourceFields({ description: 'Rows', format: 'csv' }, file)).toEqual({
      body: { und: [{ value: 'Rows', format: 'html' }] },
      field_format: { und: [{ tid: 'autocreate', name: 'csv', vocabulary_machine_name: 'format' }] },
    });
  });

  it.each(['link', 'api'] as const)('the address of a %s goes into the field that every portal keeps', (kind) => {
    expect(resourceFields({}, { kind, url: 'https://example.org/x' })).toEqual({
      field_link_api: { und: [{ url: 'https://example.org/x' }] },
    });
  });
});

it('a field that refers to nodes or terms, or chooses a text format, is not plain', () => {
  const others = ['body', 'field_tags', 'field_topic', 'og_group_ref', 'field_spatial', 'field_resources'];
  expect(others.filter((name) => plainFields.has(name))).toEqual([]);
  expect([...plainFields]).toContain('field_license');
});

it('editing forms of older portals lack four fields, and take one item of two', () => {
  const limited = Map.groupBy(limitedInForms, ({ most }) => most);
  const names = (most: 0 | 1) => limited.get(most)?.map(({ field }) => field);
  expect(names(0)).toEqual(['field_spatial', 'field_is_part_of', 'field_pod_theme', 'field_modified_source_date']);
  expect(names(1)).toEqual(['field_additional_info', 'field_related_content']);
});

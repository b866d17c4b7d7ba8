// What the specifications of data packages (version 1) and of DCAT-US 1.1 catalogues ask, as JSON Schemas.
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

const name = { type: 'string', pattern: '^[-a-z0-9._/]+$' };
const address = { type: 'string', format: 'uri' };
const text = { type: 'string', minLength: 1 };
const safePath = { type: 'string', pattern: '^(?=^[^./~])(^((?!\\.{2}).)*$).*$' };

const dataResource = {
  type: 'object',
  oneOf: [{ required: ['name', 'data'] }, { required: ['name', 'path'] }],
  properties: {
    name,
    path: { oneOf: [safePath, { type: 'array', minItems: 1, items: safePath }] },
    schema: {
      type: 'object',
      required: ['fields'],
      properties: {
        fields: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              type: { enum: ['string', 'number', 'integer', 'boolean', 'date', 'any'] },
            },
          },
        },
      },
    },
    title: { type: 'string' },
    description: { type: 'string' },
    format: { type: 'string' },
    mediatype: { type: 'string', pattern: '^(.+)/(.+)$' },
    bytes: { type: 'integer' },
    hash: { type: 'string', pattern: '^([^:]+:[a-fA-F0-9]+|[a-fA-F0-9]{32}|)$' },
  },
};

const dataPackage = {
  type: 'object',
  required: ['resources'],
  properties: {
    profile: { type: 'string' },
    name,
    id: { type: 'string' },
    title: { type: 'string' },
    description: { type: 'string' },
    homepage: address,
    created: { type: 'string', format: 'date-time' },
    keywords: { type: 'array', minItems: 1, items: { type: 'string' } },
    contributors: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['title'],
        properties: {
          title: { type: 'string' },
          email: { type: 'string', format: 'email' },
          role: { enum: ['publisher', 'author', 'maintainer', 'wrangler', 'contributor'] },
        },
      },
    },
    licenses: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { name: { type: 'string', pattern: '^[-a-zA-Z0-9._]+$' } },
        anyOf: [{ required: ['name'] }, { required: ['path'] }],
      },
    },
    resources: { type: 'array', minItems: 1, items: dataResource },
  },
};

const moment = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d)?Z?)?$' };
const uniqueTexts = { type: 'array', minItems: 1, uniqueItems: true, items: text };
const mediaType = { type: 'string', pattern: '^[-\\w]+/[-\\w]+(\\.[-\\w]+)*([+][-\\w]+)?$' };

const distribution = {
  type: 'object',
  properties: {
    '@type': { const: 'dcat:Distribution' },
    title: text,
    description: text,
    format: text,
    accessURL: address,
    downloadURL: address,
    mediaType,
  },
  anyOf: [{ required: ['accessURL'] }, { required: ['downloadURL', 'mediaType'] }],
  additionalProperties: false,
};

const catalogueDataset = {
  type: 'object',
  required: ['title', 'description', 'keyword', 'modified', 'publisher', 'contactPoint', 'identifier', 'accessLevel'],
  properties: {
    '@type': { const: 'dcat:Dataset' },
    title: text,
    description: text,
    keyword: { type: 'array', minItems: 1, items: text },
    modified: moment,
    issued: moment,
    publisher: {
      type: 'object',
      required: ['name'],
      properties: { '@type': { const: 'org:Organization' }, name: text },
    },
    contactPoint: {
      type: 'object',
      required: ['fn', 'hasEmail'],
      properties: {
        '@type': { const: 'vcard:Contact' },
        fn: text,
        hasEmail: { type: 'string', pattern: "^mailto:[\\w_~!$&'()*+,;=:.-]+@[\\w.-]+\\.[\\w.-]+$" },
      },
    },
    identifier: text,
    accessLevel: { enum: ['public', 'restricted public', 'non-public'] },
    rights: { type: 'string', minLength: 1, maxLength: 255 },
    license: address,
    accrualPeriodicity: {
      type: 'string',
      pattern: '^(irregular|R/P(\\d+(\\.\\d+)?[YMWD])*(T(\\d+(\\.\\d+)?[HMS])+)?)$',
    },
    spatial: text,
    temporal: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\d[^/]*/\\d{4}-\\d\\d-\\d\\d[^/]*$' },
    language: { type: 'array', items: { type: 'string', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' } },
    theme: uniqueTexts,
    landingPage: address,
    conformsTo: address,
    isPartOf: text,
    references: { type: 'array', minItems: 1, uniqueItems: true, items: address },
    describedBy: address,
    describedByType: mediaType,
    distribution: { type: 'array', minItems: 1, uniqueItems: true, items: distribution },
  },
  additionalProperties: false,
};

const catalogue = {
  type: 'object',
  required: ['conformsTo', 'dataset'],
  properties: {
    '@type': { const: 'dcat:Catalog' },
    conformsTo: { const: 'https://project-open-data.cio.gov/v1.1/schema' },
    describedBy: address,
    dataset: { type: 'array', items: catalogueDataset },
  },
};

const typed = (type: string, required: string[], properties: Record<string, object>) => ({
  type: 'object',
  required: ['@type', ...required],
  properties: { '@type': { const: type }, ...properties },
  additionalProperties: false,
});
const iri = { type: 'string', format: 'uri' };
const date = {
  anyOf: [
    { type: 'string', format: 'date-time' },
    { type: 'string', format: 'date' },
  ],
};
const listOf = (items: object) => ({ type: 'array', minItems: 1, items });
const mail = { type: 'string', pattern: "^mailto:[\\w_~!$&'()*+,;=:.-]+@[\\w.-]+\\.[\\w.-]+$" };

const distributionUs3 = typed('Distribution', [], {
  ...{ title: text, description: text, format: text, mediaType: text, byteSize: { type: 'string', pattern: '^\\d+$' } },
  ...{ accessURL: iri, downloadURL: iri },
  checksum: typed('Checksum', ['algorithm', 'checksumValue'], { algorithm: text, checksumValue: text }),
});
const document = typed('Document', ['title'], { title: text, accessURL: iri });

/** What DCAT-US 3.0 asks of what an export says. */
const dcatUs3 = typed('Catalog', ['dataset'], {
  ...{ title: text, description: text },
  conformsTo: typed('Standard', [], { title: text, identifier: text }),
  dataset: {
    type: 'array',
    items: typed('Dataset', ['description', 'title', 'contactPoint', 'identifier'], {
      ...{ title: text, description: text, identifier: text, license: text, accessRights: text },
      ...{ keyword: listOf(text), rights: listOf(text), issued: date, modified: date },
      publisher: typed('Organization', ['name'], { name: text }),
      creator: typed('Agent', ['name'], { name: text }),
      contactPoint: typed('Kind', ['fn', 'hasEmail'], { fn: text, hasEmail: mail }),
      accrualPeriodicity: { type: 'string', pattern: '^(irregular|R/P.+)$' },
      language: listOf({ type: 'string', maxLength: 2 }),
      spatial: typed('Location', [], { prefLabel: text, geometry: text }),
      temporal: listOf(typed('PeriodOfTime', [], { startDate: date, endDate: date })),
      theme: listOf(typed('Concept', [], { prefLabel: text })),
      conformsTo: listOf(typed('Standard', [], { '@id': iri, identifier: text })),
      inSeries: listOf(typed('DatasetSeries', [], { title: text, description: text, identifier: text })),
      page: listOf(document),
      landingPage: document,
      describedBy: distributionUs3,
      distribution: listOf(distributionUs3),
    }),
  },
});

const compiled = (schema: object): ValidateFunction => {
  const ajv = new Ajv({ allErrors: true, strict: false });
  addFormats.default(ajv);
  return ajv.compile(schema);
};

/** Checks a `datapackage.json`; what is wrong is in `errors`. */
export const isDataPackage = compiled(dataPackage);

/** Checks a `catalogue.json`. */
export const isCatalogue = compiled(catalogue);

export const isDcatUs3 = compiled(dcatUs3);

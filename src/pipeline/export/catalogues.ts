// An exported dataset as an entry of catalogues: by DCAT-US 1.1 and 3.0, and by DCAT-AP in JSON-LD.
import { fieldItems } from '../../dataset-api/fields.ts';
import { contentTypeOf, extensionOf } from '../../dataset-api/file-types.ts';
import type { DatasetMetadata } from '../../dataset-api/metadata.ts';
import { catalogueAccess, euAddress, frequencyCode, licenseAddress } from '../../dataset-api/values.ts';
import { defined, unlessEmpty } from '../../util/json.ts';
import { isLink } from './describe.ts';
import type { DatasetView, Entry, ExportedPortal, ResourceView } from './package.ts';
import { addressOf, listOf, momentOf, printable } from './package.ts';
import type { Finding } from './record.ts';

type Shown = Partial<DatasetMetadata>;

type PublicDataset = NonNullable<ReturnType<typeof publicDataset>>;

/** A dataset with its entry by DCAT-US 1.1, of which the other catalogues take what they share; null for one that is not public. */
export const publicDataset = ({ record, dataset, resources }: DatasetView, portal: ExportedPortal) => {
  if (dataset === null || record.removed !== null || !dataset.published) return null;
  const { node, title, shown } = dataset;
  const { tags = [], topics = [], themes = [], groups = [] } = shown;
  // A level that is not known is none that opens anything.
  const unsaid = fieldItems(node, 'field_public_access_level').length === 0 ? 'public' : 'non-public';
  const files = resources.flatMap((resource) => distributionOf(resource, portal) ?? []);
  const entry: Entry = defined({
    '@type': 'dcat:Dataset',
    identifier: node.uuid || node.nid,
    title,
    description: shown.description ?? title,
    keyword: listOf([...tags, ...topics, ...themes]) ?? ['data'],
    modified: (shown.modified ?? momentOf(node.changed) ?? '1970-01-01').replace(' ', 'T'),
    issued: momentOf(node.created),
    publisher: { '@type': 'org:Organization', name: groups.join(', ') || portal.name },
    // The schema of catalogues wants a name and an address, whatever the portal knows.
    contactPoint: {
      '@type': 'vcard:Contact',
      fn: shown.contact?.name ?? shown.author ?? portal.name,
      hasEmail: `mailto:${shown.contact?.email ?? 'unknown@example.org'}`,
    },
    accessLevel: shown.access ? catalogueAccess[shown.access] : unsaid,
    rights: shown.rights,
    license: shown.license && licenseAddress(shown.license),
    accrualPeriodicity: shown.frequency && frequencyCode(shown.frequency),
    spatial: shown.spatial?.wkt ?? shown.spatial?.label,
    temporal:
      shown.temporal && `${shown.temporal.from}/${shown.temporal.to ?? shown.temporal.from}`.replaceAll(' ', 'T'),
    language: shown.language,
    theme: listOf(shown.themes),
    conformsTo: addressOf(shown.conformsTo),
    isPartOf: shown.isPartOf,
    references: listOf(shown.relatedContent?.flatMap(({ url }) => addressOf(url) ?? [])),
    describedBy: addressOf(shown.dataDictionary),
    describedByType: mediaType.test(shown.dataDictionaryType ?? '') ? shown.dataDictionaryType : undefined,
    landingPage: addressOf(shown.landingPage) ?? addressOf(node.path),
    distribution: unlessEmpty(files.map(({ file }) => file)),
  });
  return { ...dataset, entry, files };
};

/** With size and checksum of a file that is here and is that of the portal. */
const distributionOf = ({ file, upload, link, described }: ResourceView, portal: ExportedPortal) => {
  const { title, shown, published } = described;
  const downloadURL = upload && portal.fileUrl(upload.uri);
  if (!published || (downloadURL === null && !isLink(link))) return null;
  const here = downloadURL !== null && file?.from === 'portal' ? file : undefined;
  const entry: Entry = defined({
    '@type': 'dcat:Distribution',
    title,
    description: shown.description,
    format: shown.format ?? (extensionOf(file?.name ?? '') || undefined),
    ...(downloadURL === null
      ? { accessURL: addressOf(link) }
      : { downloadURL, mediaType: contentTypeOf(upload?.name ?? '') }),
  });
  return { file: entry, bytes: here?.bytes, sha256: here?.sha256 };
};

const mediaType = /^[-\w]+\/[-\w]+(?:\.[-\w]+)*(?:[+][-\w]+)?$/;

/** A dataset by DCAT-US 3.0: what 1.1 has of it in the new classes, what 1.1 cannot hold, and of files size and checksum. */
const dcatUs3Entry = ({ entry, files, shown }: PublicDataset): Entry => {
  const { accessLevel, references: _urls, describedByType: type, isPartOf, distribution: _files, ...same } = entry;
  const { from, to = from ?? '' } = shown.temporal ?? {};
  const dictionary = addressOf(shown.dataDictionary);
  return defined({
    ...same,
    '@type': 'Dataset',
    keyword: listOf([...(shown.tags ?? []), ...(shown.topics ?? [])]),
    publisher: typed('Organization', entry.publisher),
    creator: shown.author && typed('Agent', { name: shown.author }),
    contactPoint: typed('Kind', entry.contactPoint),
    accessRights: accessLevel,
    rights: shown.rights && [shown.rights],
    license: shown.license && (licenseAddress(shown.license) ?? shown.license),
    spatial: shown.spatial && typed('Location', { prefLabel: shown.spatial.label, geometry: shown.spatial.wkt }),
    temporal: from && [typed('PeriodOfTime', { startDate: dateOf(from), endDate: dateOf(to) })],
    theme: listOf(shown.themes)?.map((prefLabel) => typed('Concept', { prefLabel })),
    conformsTo: entry.conformsTo && [typed('Standard', { '@id': entry.conformsTo, identifier: entry.conformsTo })],
    inSeries: isPartOf && [typed('DatasetSeries', { title: isPartOf, description: isPartOf, identifier: isPartOf })],
    page: documentsOf(shown)?.map(({ title, url }) => typed('Document', { title, accessURL: url })),
    landingPage: entry.landingPage && typed('Document', { title: entry.title, accessURL: entry.landingPage }),
    describedBy: dictionary && typed('Distribution', defined({ downloadURL: dictionary, mediaType: type })),
    distribution: unlessEmpty(files)?.map(({ file, bytes, sha256 }) =>
      typed('Distribution', {
        ...file,
        byteSize: bytes?.toString(),
        checksum: sha256 && typed('Checksum', { algorithm: 'sha256', checksumValue: sha256 }),
      }),
    ),
  });
};

const typed = (type: string, values: unknown): Entry => defined({ ...(values as Entry), '@type': type });

/** A day, or a moment with its seconds, as JSON Schema and XML Schema have them. */
const dateOf = (text: string): string => {
  const [day = '', time] = text.split(/[T ]/);
  if (time === undefined || /^00:00(?::00)?$/.test(time)) return day;
  return `${day}T${time.length === 5 ? `${time}:00` : time.replace(/Z$/, '')}Z`;
};

const documentsOf = ({ relatedContent = [] }: Shown) =>
  unlessEmpty(relatedContent.map(({ title, url }) => ({ title, url: addressOf(url) })).filter(({ url }) => url));

const nodeOf = (id: string | undefined): Entry | undefined => (id === undefined ? undefined : { '@id': id });

const literal = (value: string | undefined, type: string): Entry | undefined =>
  value === undefined ? undefined : { '@value': value, '@type': `xsd:${type}` };

const dated = (value: unknown): Entry | undefined => {
  const text = typeof value === 'string' ? dateOf(value) : undefined;
  return literal(text, text?.includes('T') ? 'dateTime' : 'date');
};

/** A dataset by DCAT-AP 2 and 3. */
const dcatApEntry = ({ entry, files, shown, node }: PublicDataset): Entry => {
  const { fn } = entry.contactPoint as Record<string, string>;
  const mail = shown.contact?.email && `mailto:${shown.contact.email}`;
  const frequency = shown.frequency && frequencyCode(shown.frequency);
  return defined({
    '@id': addressOf(node.path) ?? `urn:uuid:${entry.identifier}`,
    '@type': 'dcat:Dataset',
    'dct:identifier': entry.identifier,
    'dct:title': entry.title,
    'dct:description': entry.description,
    'dct:issued': dated(entry.issued),
    'dct:modified': dated(entry.modified),
    'dcat:keyword': listOf([...(shown.tags ?? []), ...(shown.topics ?? [])]),
    'dcat:theme': listOf(shown.themes)?.map((label) => ({ '@type': 'skos:Concept', 'skos:prefLabel': label })),
    'dct:publisher': { '@type': 'foaf:Agent', 'foaf:name': (entry.publisher as Entry).name },
    'dct:creator': shown.author && { '@type': 'foaf:Agent', 'foaf:name': shown.author },
    'dcat:contactPoint': defined({ '@type': 'vcard:Kind', 'vcard:fn': fn, 'vcard:hasEmail': nodeOf(mail) }),
    'dct:accessRights': nodeOf(euAddress('access-right', String(entry.accessLevel))),
    'dct:rights': shown.rights,
    'dct:license': nodeOf(shown.license && licenseAddress(shown.license)) ?? shown.license,
    'dct:accrualPeriodicity': frequency && (nodeOf(euAddress('frequency', frequency)) ?? frequency),
    'dct:spatial':
      shown.spatial &&
      defined({
        '@type': 'dct:Location',
        'skos:prefLabel': shown.spatial.label,
        'locn:geometry': shown.spatial.wkt,
      }),
    'dct:temporal': shown.temporal && {
      '@type': 'dct:PeriodOfTime',
      'dcat:startDate': dated(shown.temporal.from),
      'dcat:endDate': dated(shown.temporal.to ?? shown.temporal.from),
    },
    'dct:language': shown.language?.map((code) => nodeOf(euAddress('language', code)) ?? code),
    'dct:conformsTo': nodeOf(addressOf(shown.conformsTo)),
    'dct:isPartOf': shown.isPartOf,
    'foaf:page': documentsOf(shown)?.map(({ title, url }) => ({
      '@id': url,
      '@type': 'foaf:Document',
      'dct:title': title,
    })),
    'dcat:landingPage': nodeOf(entry.landingPage as string | undefined),
    'dcat:distribution': unlessEmpty(files)?.map(({ file, bytes, sha256 }) =>
      defined({
        '@type': 'dcat:Distribution',
        'dct:title': file.title,
        'dct:description': file.description,
        'dct:format': file.format,
        'dcat:mediaType': file.mediaType,
        'dcat:accessURL': nodeOf((file.accessURL ?? file.downloadURL) as string),
        'dcat:downloadURL': nodeOf(file.downloadURL as string | undefined),
        'dcat:byteSize': literal(bytes?.toString(), 'nonNegativeInteger'),
        'spdx:checksum': sha256 && {
          '@type': 'spdx:Checksum',
          'spdx:algorithm': nodeOf('http://spdx.org/rdf/terms#checksumAlgorithm_sha256'),
          'spdx:checksumValue': literal(sha256, 'hexBinary'),
        },
      }),
    ),
  });
};

interface Catalogue {
  file: string;
  /** What stands before the datasets, which are under `key`. */
  head: (portal: ExportedPortal) => object;
  key: string;
  entryOf: (dataset: PublicDataset) => Entry;
  /** What it cannot hold of a dataset: keys of a manifest, or parts of them. */
  lacks: (shown: Shown) => string[];
}

const titleOf = ({ name }: ExportedPortal) => ({ title: name, description: `Datasets of ${name}` });

export const catalogues: readonly Catalogue[] = [
  {
    file: 'catalogue.json',
    key: 'dataset',
    head: () => ({
      '@context': 'https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld',
      '@type': 'dcat:Catalog',
      conformsTo: 'https://project-open-data.cio.gov/v1.1/schema',
      describedBy: 'https://project-open-data.cio.gov/v1.1/schema/catalog.json',
    }),
    entryOf: ({ entry }) => entry,
    lacks: (shown) => [
      ...among(shown, 'summary', 'author', 'granularity', 'additionalInfo'),
      ...(shown.license && !licenseAddress(shown.license) ? ['license'] : []),
      ...(shown.spatial?.wkt && shown.spatial.label ? ['spatial.label'] : []),
      ...(shown.relatedContent ? ['titles of relatedContent'] : []),
      ...dictionaryOf(shown),
    ],
  },
  {
    file: 'dcat-us-3.json',
    key: 'dataset',
    head: (portal) => ({
      '@type': 'Catalog',
      conformsTo: { '@type': 'Standard', title: 'DCAT-US 3.0', identifier: 'https://resources.data.gov/dcat-us/3.0.0' },
      ...titleOf(portal),
    }),
    entryOf: dcatUs3Entry,
    lacks: (shown) => [...among(shown, 'summary', 'granularity', 'additionalInfo'), ...dictionaryOf(shown)],
  },
  {
    file: 'dcat-ap.jsonld',
    key: 'dcat:dataset',
    head: (portal) => ({
      '@context': {
        dcat: 'http://www.w3.org/ns/dcat#',
        dct: 'http://purl.org/dc/terms/',
        foaf: 'http://xmlns.com/foaf/0.1/',
        vcard: 'http://www.w3.org/2006/vcard/ns#',
        skos: 'http://www.w3.org/2004/02/skos/core#',
        locn: 'http://www.w3.org/ns/locn#',
        spdx: 'http://spdx.org/rdf/terms#',
        xsd: 'http://www.w3.org/2001/XMLSchema#',
      },
      '@type': 'dcat:Catalog',
      'dct:title': titleOf(portal).title,
      'dct:description': titleOf(portal).description,
    }),
    entryOf: dcatApEntry,
    lacks: (shown) => among(shown, 'summary', 'granularity', 'additionalInfo', 'dataDictionary', 'dataDictionaryType'),
  },
];

const among = (shown: Shown, ...keys: string[]): string[] => keys.filter((key) => key in shown);

const dictionaryOf = ({ dataDictionary }: Shown): string[] =>
  dataDictionary !== undefined && addressOf(dataDictionary) === undefined ? ['dataDictionary'] : [];

/** What the catalogues lack of a public dataset; none where they have everything. */
export const catalogueFindings = ({ shown, fields }: PublicDataset): (Finding & { resource: null })[] => {
  const parts = catalogues.flatMap(({ file, lacks }) => {
    const all = [...lacks(shown), ...Object.keys(fields)];
    return all.length > 0 ? [`${file} lacks ${all.join(', ')}`] : [];
  });
  return parts.length > 0 ? [{ code: 'catalogue-lacks', resource: null, message: printable(parts.join('; ')) }] : [];
};

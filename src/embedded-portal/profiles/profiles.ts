// The profiles by name: the specification to the letter, and three releases as recorded, including the faults that
// clients meet.
import { usualExtensions } from '../../dataset-api/file-types.ts';
import { escapeHtml } from '../../util/html.ts';
import { datasetFields, otherFields, resourceFields, specifiedDatasetFields } from '../content/fields.ts';
import { recordedDefaults, specDefaults } from '../media/formats.ts';
import { Refusal } from '../refusal.ts';
import { nodeColumns } from '../store/nodes.ts';
import { readEntityCore, readEntityFields } from './entity-input.ts';
import { readFormCore, readFormNode } from './form-input.ts';
import type { ListFault, Profile, ProfileName, ReadContext, RecordedRelease } from './profile.ts';
import { codelessFault, exceptionFault, recordedListFault } from './recorded-faults.ts';
import { readSpecCore, readSpecFields } from './spec-input.ts';

const listFaultWords = (fault: ListFault): string => {
  switch (fault.kind) {
    case 'column':
      return `there is no ${fault.clause === 'SELECT' ? 'field' : 'filter or order by'} ${fault.name.replace(/^t\./, '')}; there are ${nodeColumns.join(', ')}${fault.clause === 'SELECT' ? ', and the other fields that a read shows' : ''}`;
    case 'no-columns':
      return 'fields names no column';
    case 'not-text':
      return `${fault.parameter} must be one text`;
    case 'filter-list':
      return `the value of parameters[${fault.column}] must be one text; separate several values with commas`;
    case 'too-many-values':
      return `parameters[${fault.column}] has too many values`;
    case 'malformed':
      return `${fault.parameter} must be ${fault.wanted}`;
    case 'operator':
      return `only equality is supported, not ${fault.op}`;
    case 'negative':
      return 'page and pagesize may not be negative';
  }
};

const listFault = (fault: ListFault): Refusal =>
  new Refusal(
    406,
    `Invalid query provided, double check that the fields and parameters you defined are correct and exist. ${escapeHtml(listFaultWords(fault))}`,
  );

/** The `spec` profile. */
const specProfile: Profile = {
  name: 'spec',
  resources: ['node', 'user', 'datastore', 'file', 'taxonomy_term'],
  fields: { dataset: specifiedDatasetFields, resource: resourceFields, ...otherFields },
  readCore: readSpecCore,
  readFields: readSpecFields,
  uuidsAreUnique: true,
  fileItemExtras: { alt: '', title: '' },
  recordedDatastore: null,
  guardsOtherSides: true,
  renewsDatasets: false,
  mostGroupedAtOnce: Number.POSITIVE_INFINITY,
  races: false,
  hasLoginVersions: true,
  keepsDatastoreStatus: true,
  pathFirst: false,
  showsNewPages: false,
  attachAnswer: (file) => file,
  deleteAnswer: null,
  refuse: (message) => new Refusal(406, message),
  attachWithoutFile: false,
  extensions: usualExtensions,
  keepsAddresses: true,
  takesPrograms: false,
  mimeTypes: {},
  describesImages: false,
  formats: specDefaults,
  datastoresAreYaml: true,
  writeStyle: 'sound',
  refusedTypes: [],
  isUnread: () => false,
  malformedMime: (message) => new Refusal(406, message),
  explainsMalformed: true,
  listFault,
  pagesCatalogue: false,
  longestReason: 200,
  tendsCookies: false,
  strictLists: true,
  fullAccounts: true,
  tellsAccounts: false,
  operators: 'equality',
  guardsCaches: true,
  mergesSlashes: true,
  cookieAttributes: '; SameSite=Lax',
  bareFiles: false,
  pages: true,
  siteName: 'sluice portal',
};

/** True for the types that go past the editing form. */
const isBare = ({ type }: ReadContext): boolean => type === 'dataset' || type === 'resource';

/** The `dkan-7.18` profile. */
export const dkan718Profile: Profile & { recordedDatastore: RecordedRelease } = {
  name: 'dkan-7.18',
  resources: ['node', 'user', 'datastore'],
  fields: { dataset: datasetFields, resource: resourceFields, ...otherFields },
  readCore: (body, context) => (isBare(context) ? readEntityCore : readFormCore)(body, context),
  readFields: (body, context) => (isBare(context) ? readEntityFields : readFormNode)(body, context),
  uuidsAreUnique: false,
  fileItemExtras: {},
  recordedDatastore: {
    cronMs: null,
    defaultProperties: { delimiter: ',', quote: '"', escape: '\\', trailing_delimiter: false },
    searchFaults: 'sql',
  },
  guardsOtherSides: false,
  renewsDatasets: true,
  mostGroupedAtOnce: 20,
  races: true,
  hasLoginVersions: true,
  keepsDatastoreStatus: false,
  pathFirst: false,
  showsNewPages: true,
  attachAnswer: (file) => [file],
  deleteAnswer: true,
  refuse: codelessFault,
  attachWithoutFile: true,
  extensions: usualExtensions,
  keepsAddresses: false,
  takesPrograms: true,
  mimeTypes: { tab: 'application/octet-stream' },
  describesImages: true,
  formats: recordedDefaults,
  datastoresAreYaml: false,
  writeStyle: 'recorded',
  refusedTypes: ['application/vnd.php.serialized'],
  isUnread: (type, method) => type === 'application/x-yaml' || (type === 'multipart/form-data' && method === 'PUT'),
  malformedMime: () => exceptionFault('0', 'malformed mime type'),
  explainsMalformed: false,
  listFault: recordedListFault,
  pagesCatalogue: false,
  longestReason: 2000,
  tendsCookies: true,
  strictLists: false,
  fullAccounts: false,
  tellsAccounts: true,
  operators: 'any',
  guardsCaches: false,
  mergesSlashes: false,
  cookieAttributes: '',
  bareFiles: true,
  pages: false,
  siteName: 'DKAN',
};

const { recordedDatastore } = dkan718Profile;

/** The `dkan-7.18.16` profile. */
const dkan71816Profile: Profile = {
  ...dkan718Profile,
  name: 'dkan-7.18.16',
  recordedDatastore: {
    ...recordedDatastore,
    defaultProperties: { encoding: { PHP: 'UTF-8', MYSQL: 'utf8' }, ...recordedDatastore.defaultProperties },
    searchFaults: 'log',
  },
  writeStyle: 'keyless',
  takesPrograms: false,
  pagesCatalogue: true,
};

/** The `dkan-7.14` profile. */
const dkan714Profile: Profile = {
  ...dkan718Profile,
  name: 'dkan-7.14',
  resources: ['node', 'user'],
  readCore: readFormCore,
  readFields: readFormNode,
  extensions: usualExtensions.filter((extension) => !/^(?:kml|kmz|shp)$/.test(extension)),
  hasLoginVersions: false,
  renewsDatasets: false,
  operators: 'known',
  keepsDatastoreStatus: true,
  pathFirst: true,
  recordedDatastore: { ...dkan718Profile.recordedDatastore, cronMs: 60_000, searchFaults: 'fatal' },
};

/** Every profile. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  spec: specProfile,
  'dkan-7.18.16': dkan71816Profile,
  'dkan-7.18': dkan718Profile,
  'dkan-7.14': dkan714Profile,
};

// The profiles by name: the specification, and three releases as recorded, faults included where a client can meet them.
import { usualExtensions } from '../../dataset-api/file-types.ts';
import { datasetFields, otherFields, resourceFields } from '../content/fields.ts';
import { recordedDefaults } from '../media/negotiate.ts';
import { readEntityCore, readEntityFields } from './entity-input.ts';
import { readFormCore, readFormNode } from './form-input.ts';
import type { Profile, ProfileName, ReadContext, RecordedRelease } from './profile.ts';
import { codelessFault, exceptionFault, recordedListFault } from './recorded-faults.ts';
import { specProfile } from './spec.ts';

/** True for the types that go past the editing form. */
const isBare = ({ type }: ReadContext): boolean => type === 'dataset' || type === 'resource';

/** The `dkan-7.18` profile. */
export const dkan718Profile: Profile & { recordedDatastore: RecordedRelease } = {
  name: 'dkan-7.18',
  resources: { file: false, datastore: true, term: false },
  fields: { dataset: datasetFields, resource: resourceFields, ...otherFields },
  readCore: (body, context) => (isBare(context) ? readEntityCore : readFormCore)(body, context),
  readFields: (body, context) => (isBare(context) ? readEntityFields : readFormNode)(body, context),
  uuidsAreUnique: false,
  fileItemExtras: {},
  recordedDatastore: {
    cronMs: null,
    defaultProperties: { delimiter: ',', quote: '"', escape: '\\', trailing_delimiter: false },
    searchFaults: { tells: 'sql', database: 'dkan2' },
  },
  guardsOtherSides: false,
  renewsDatasets: true,
  races: true,
  hasLoginVersions: true,
  keepsDatastoreStatus: false,
  pathFirst: false,
  showsNewPages: true,
  attachAnswer: (file) => [file],
  deleteAnswer: true,
  managerFault: codelessFault,
  tooManyFiles: () => codelessFault('You cannot upload so many files.'),
  attachWithoutFile: true,
  extensions: usualExtensions,
  keepsAddresses: false,
  takesPrograms: true,
  mimeTypes: { tab: 'application/octet-stream' },
  describesImages: true,
  formats: { datastore: recordedDefaults, other: recordedDefaults },
  writeStyle: 'recorded',
  refusedTypes: ['application/vnd.php.serialized'],
  isUnread: (type, method) => type === 'application/x-yaml' || (type === 'multipart/form-data' && method === 'PUT'),
  malformedMime: () => exceptionFault('0', 'malformed mime type'),
  explainsMalformed: false,
  listFault: recordedListFault,
  pagesCatalogue: false,
  searchFaultStatus: 200,
  longestReason: 2000,
  tendsCookies: true,
  strictLists: false,
  fullAccounts: false,
  tellsAccounts: true,
  operators: 'any',
  guardsCaches: false,
  mergesSlashes: false,
  cookieAttributes: '',
  plainStaticFiles: true,
  filesArePublic: true,
  pages: false,
  siteName: 'DKAN',
};

const { recordedDatastore } = dkan718Profile;

/** The `dkan-7.18.16` profile. */
export const dkan71816Profile: Profile = {
  ...dkan718Profile,
  name: 'dkan-7.18.16',
  recordedDatastore: {
    ...recordedDatastore,
    defaultProperties: { encoding: { PHP: 'UTF-8', MYSQL: 'utf8' }, ...recordedDatastore.defaultProperties },
    searchFaults: { tells: 'log' },
  },
  writeStyle: 'keyless',
  takesPrograms: false,
  pagesCatalogue: true,
};

/** The `dkan-7.14` profile. */
export const dkan714Profile: Profile = {
  ...dkan718Profile,
  name: 'dkan-7.14',
  resources: { file: false, datastore: false, term: false },
  readCore: readFormCore,
  readFields: readFormNode,
  extensions: usualExtensions.filter((extension) => !/^(?:kml|kmz|shp)$/.test(extension)),
  hasLoginVersions: false,
  renewsDatasets: false,
  operators: 'known',
  keepsDatastoreStatus: true,
  pathFirst: true,
  recordedDatastore: { ...dkan718Profile.recordedDatastore, cronMs: 60_000, searchFaults: { tells: 'fatal' } },
};

/** Every profile. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  spec: specProfile,
  'dkan-7.18.16': dkan71816Profile,
  'dkan-7.18': dkan718Profile,
  'dkan-7.14': dkan714Profile,
};

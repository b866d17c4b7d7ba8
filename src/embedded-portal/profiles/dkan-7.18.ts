// Release B (7.x-1.18.2) as recorded, faults included where a client can meet them.
import { datasetFields, otherFields, resourceFields } from '../content/fields.ts';
import { recordedDefaults } from '../media/negotiate.ts';
import { readEntityCore, readEntityFields } from './entity-input.ts';
import { readFormCore, readFormNode } from './form-core.ts';
import type { Profile, ReadContext, RecordedRelease } from './profile.ts';
import { codelessFault, exceptionFault, recordedListFault } from './recorded-faults.ts';
import { extensions } from './spec.ts';

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
  extensions,
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

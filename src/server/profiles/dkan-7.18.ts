// Release B (7.x-1.18.2) as recorded, faults included where a client can meet them.
import { datasetFields, resourceFields } from '../content/fields.ts';
import { recordedDefaults } from '../media/negotiate.ts';
import { readEntityCore, readEntityFields } from './entity-input.ts';
import type { Profile, RecordedRelease } from './profile.ts';
import { codelessFault, exceptionFault, recordedListFault } from './recorded-faults.ts';
import { extensions } from './spec.ts';

/** The `dkan-7.18` profile. */
export const dkan718Profile: Profile & { recordedDatastore: RecordedRelease } = {
  name: 'dkan-7.18',
  resources: { file: false, datastore: true },
  fields: { dataset: datasetFields, resource: resourceFields },
  readCore: readEntityCore,
  readFields: readEntityFields,
  uuidsAreUnique: false,
  fileItemExtras: {},
  recordedDatastore: {
    cronMs: null,
    defaultProperties: { delimiter: ',', quote: '"', escape: '\\', trailing_delimiter: false },
    searchFaults: { tells: 'sql', database: 'dkan2' },
  },
  renewsDatasets: true,
  races: true,
  hasLoginVersions: true,
  keepsDatastoreStatus: false,
  pathFirst: false,
  attachAnswer: (file) => [file],
  deleteAnswer: true,
  tooManyFiles: () => codelessFault('You cannot upload so many files.'),
  attachWithoutFile: true,
  extensions: [...extensions, 'php'],
  formats: { datastore: recordedDefaults, other: recordedDefaults },
  writeStyle: 'recorded',
  refusedTypes: ['application/vnd.php.serialized'],
  isUnread: (type, method) => type === 'application/x-yaml' || (type === 'multipart/form-data' && method === 'PUT'),
  malformedMime: () => exceptionFault('0', 'malformed mime type'),
  explainsMalformed: false,
  listFault: recordedListFault,
  searchFaultStatus: 200,
  longestReason: 2000,
  tendsCookies: true,
  operators: 'any',
  mergesSlashes: false,
  cookieAttributes: '',
  plainStaticFiles: true,
  filesArePublic: true,
  pages: false,
  siteName: 'DKAN',
};

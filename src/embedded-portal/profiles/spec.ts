// The default profile: the specification to the letter, where it is silent as recorded for release B, its faults fixed.
import { usualExtensions } from '../../dataset-api/file-types.ts';
import { escapeHtml } from '../../util/html.ts';
import { otherFields, resourceFields, specifiedDatasetFields } from '../content/fields.ts';
import { specDatastoreDefaults, specDefaults } from '../media/negotiate.ts';
import { Refusal } from '../refusal.ts';
import { nodeColumns } from '../store/nodes.ts';
import type { ListFault, Profile } from './profile.ts';
import { readSpecCore, readSpecFields } from './spec-input.ts';

const listFaultWords = (fault: ListFault): string => {
  switch (fault.kind) {
    case 'column':
      return `there is no field ${fault.name.replace(/^t\./, '')} in a list; it has ${nodeColumns.join(', ')}, uri`;
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
export const specProfile: Profile = {
  name: 'spec',
  resources: { file: true, datastore: true, term: true },
  fields: { dataset: specifiedDatasetFields, resource: resourceFields, ...otherFields },
  readCore: readSpecCore,
  readFields: readSpecFields,
  uuidsAreUnique: true,
  fileItemExtras: { alt: '', title: '' },
  recordedDatastore: null,
  guardsOtherSides: true,
  renewsDatasets: false,
  races: false,
  hasLoginVersions: true,
  keepsDatastoreStatus: true,
  pathFirst: false,
  showsNewPages: false,
  attachAnswer: (file) => file,
  deleteAnswer: null,
  managerFault: (message) => new Refusal(406, message),
  tooManyFiles: () => new Refusal(406, 'You cannot upload so many files.'),
  attachWithoutFile: false,
  extensions: usualExtensions,
  keepsAddresses: true,
  takesPrograms: false,
  mimeTypes: {},
  describesImages: false,
  formats: { datastore: specDatastoreDefaults, other: specDefaults },
  writeStyle: 'sound',
  refusedTypes: [],
  isUnread: () => false,
  malformedMime: (message) => new Refusal(406, message),
  explainsMalformed: true,
  listFault,
  pagesCatalogue: false,
  searchFaultStatus: null,
  longestReason: 200,
  tendsCookies: false,
  strictLists: true,
  fullAccounts: true,
  tellsAccounts: false,
  operators: 'equality',
  guardsCaches: true,
  mergesSlashes: true,
  cookieAttributes: '; SameSite=Lax',
  plainStaticFiles: false,
  filesArePublic: false,
  pages: true,
  siteName: 'sluice portal',
};

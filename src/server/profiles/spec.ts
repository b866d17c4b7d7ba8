// The default profile: the specification to the letter, where it is silent as recorded for release B, faults mended.
import { resourceFields, specifiedDatasetFields } from '../content/fields.ts';
import { specDatastoreDefaults, specDefaults } from '../media/negotiate.ts';
import type { Profile } from './profile.ts';
import { readSpecCore, readSpecFields } from './spec-input.ts';

/** Extensions that may be attached (recorded behaviour 12). */
export const extensions: readonly string[] =
  'csv html xls json xlsx doc docx rdf txt jpg png gif tiff pdf odf ods odt tsv tab geojson xml zip kml kmz shp'.split(
    ' ',
  );

/** The `spec` profile. */
export const specProfile: Profile = {
  name: 'spec',
  resources: { file: true, datastore: true },
  fields: { dataset: specifiedDatasetFields, resource: resourceFields },
  readCore: readSpecCore,
  readFields: readSpecFields,
  uuidsAreUnique: true,
  fileItemExtras: { alt: '', title: '' },
  importsOnAttach: true,
  attachAnswer: (file) => file,
  deleteAnswer: null,
  tooManyFilesStatus: 406,
  attachWithoutFile: false,
  extensions,
  formats: { datastore: specDatastoreDefaults, other: specDefaults },
  writeStyle: 'sound',
  readsAllTypes: true,
  explainsMalformed: true,
  showsSql: false,
  cookieAttributes: '; SameSite=Lax',
  filesArePublic: false,
  siteName: 'sluice portal',
};

// Three deployed releases as recorded, including the faults that clients meet.
import { usualExtensions } from '../../../dataset-api/file-types.ts';
import { datasetFields, otherFields, resourceFields } from '../../content/fields.ts';
import { cleanFileName, freeName, mimeOf } from '../../content/public-names.ts';
import { type FileItem, fileFacts, unsetPreview } from '../../content/view.ts';
import type { Profile, Uploads } from '../../portal.ts';
import { catalogueHandler } from '../../resources/catalogue.ts';
import { systemHandlers } from '../../resources/system.ts';
import { autocompleteHandler } from './autocomplete.ts';
import { type DatastoreRelease, RecordedDatastore } from './datastore.ts';
import { readEntity } from './entity-input.ts';
import { readForm } from './form-input.ts';
import { keylessFormats } from './formats.ts';
import { formResources, recordedResources, renewDatasetsOf } from './operations.ts';
import { bareFiles, brokenSearches, discreetSearches, openSearches, pagedCatalogue } from './site.ts';
import { recordedWire } from './wire.ts';

/** The item of an image has its texts as fields, and a size, which is not measured here. */
const fileItem: FileItem = (file, settings) => {
  const size = file.type === 'image' ? { height: null, width: null } : null;
  return {
    ...fileFacts(file),
    ...(size === null ? {} : { field_file_image_alt_text: [], field_file_image_title_text: [] }),
    rdf_mapping: [],
    metadata: size ?? [],
    ...size,
    ...unsetPreview,
    ...settings,
  };
};

/** Programs, which are stored as text under `name.php.txt`. */
const programs = /\.(?:php|phar|pl|py|cgi|asp|js)$/i;

const uploadsOf = (extensions: readonly string[]): Uploads => ({
  nameOf: (sent) => {
    const name = cleanFileName(sent, extensions, programs);
    return name !== null && programs.test(name) ? `${name}.txt` : name;
  },
  mimeOf: (name) => (/\.tab$/i.test(name) ? 'application/octet-stream' : mimeOf(name)),
  publicName: (name, isTaken, freed) =>
    freeName(name, (candidate) => isTaken(candidate) || freed.some((file) => file.name === candidate)),
  item: fileItem,
});

export const datastoreRelease: DatastoreRelease = {
  cronMs: null,
  defaultProperties: { delimiter: ',', quote: '"', escape: '\\', trailing_delimiter: false },
};

const dkan718: Profile = {
  name: 'dkan-7.18',
  siteName: 'DKAN',
  resources: recordedResources,
  fields: { dataset: datasetFields, resource: resourceFields, ...otherFields },
  readNode: (body, context) =>
    (context.type === 'dataset' || context.type === 'resource' ? readEntity : readForm)(body, context),
  uploads: uploadsOf(usualExtensions),
  savedWith: renewDatasetsOf,
  mostGroupedAtOnce: 20,
  races: true,
  openDatastore: (parts) => new RecordedDatastore(parts, datastoreRelease),
  wire: recordedWire,
  site: [...systemHandlers, bareFiles, openSearches, autocompleteHandler, catalogueHandler],
};

const dkan71816: Profile = {
  ...dkan718,
  name: 'dkan-7.18.16',
  uploads: { ...dkan718.uploads, nameOf: (name) => cleanFileName(name, usualExtensions) },
  openDatastore: (parts) => {
    const encoding = { PHP: 'UTF-8', MYSQL: 'utf8' };
    const defaultProperties = { encoding, ...datastoreRelease.defaultProperties };
    return new RecordedDatastore(parts, { ...datastoreRelease, defaultProperties });
  },
  wire: { ...recordedWire, formats: keylessFormats },
  site: [...systemHandlers, bareFiles, discreetSearches, autocompleteHandler, pagedCatalogue],
};

const dkan714: Profile = {
  ...dkan718,
  name: 'dkan-7.14',
  resources: formResources,
  readNode: readForm,
  uploads: uploadsOf(usualExtensions.filter((extension) => !/^(?:kml|kmz|shp)$/.test(extension))),
  savedWith: () => undefined,
  openDatastore: (parts) => new RecordedDatastore(parts, { ...datastoreRelease, cronMs: 60_000 }),
  site: [...systemHandlers, bareFiles, brokenSearches, autocompleteHandler, catalogueHandler],
};

export const releases = { 'dkan-7.18.16': dkan71816, 'dkan-7.18': dkan718, 'dkan-7.14': dkan714 } as const;

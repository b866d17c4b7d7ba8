// Content types of files by their extension, as a portal derives them.

export const fileTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  tab: 'text/tab-separated-values',
  txt: 'text/plain',
  json: 'application/json',
  geojson: 'application/vnd.geo+json',
  xml: 'application/xml',
  html: 'text/html',
  pdf: 'application/pdf',
  zip: 'application/zip',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xlsm: 'application/vnd.ms-excel.sheet.macroEnabled.12',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  kml: 'application/vnd.google-earth.kml+xml',
  kmz: 'application/vnd.google-earth.kmz',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
};

/** Extensions that portals accept by default (recorded behaviour 12). */
export const usualExtensions: readonly string[] =
  'csv html xls json xlsx doc docx rdf txt jpg png gif tiff pdf odf ods odt tsv tab geojson xml zip kml kmz shp'.split(
    ' ',
  );

/** The extension of a name in lower case; empty without one. */
export const extensionOf = (name: string): string => /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';

/** Content type of a file by its extension; `application/octet-stream` for unknown ones. */
export const contentTypeOf = (name: string): string => fileTypes[extensionOf(name)] ?? 'application/octet-stream';

/** Extension (with its dot) for a content type; empty for an unknown one. */
export const endingOf = (contentType: string | null): string => {
  const found = Object.entries(fileTypes).find(([, type]) => type === contentType)?.[0];
  return found === undefined ? '' : `.${found}`;
};

const ending = /[^.]\.[a-z][a-z0-9]{1,9}$/i;
/** Extensions of scripts that serve files: they don't tell the type of what they serve. */
const programs = /\.(?:php|aspx?|jsp|do|cgi|action|ashx)$/i;

/** True for a name whose extension tells the type of the file: `budget.csv`, but neither `download` nor `export.php`. */
export const showsType = (name: string): boolean => ending.test(name) && !programs.test(name);

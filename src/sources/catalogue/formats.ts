// Formats of distributions: media types by the names that portals show, and which files portals take.

/** Common names of media types, for distributions that tell no format. */
const names: Record<string, string> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'text/plain': 'txt',
  'text/html': 'html',
  'application/json': 'json',
  'application/geo+json': 'geojson',
  'application/vnd.geo+json': 'geojson',
  'application/xml': 'xml',
  'text/xml': 'xml',
  'application/rdf+xml': 'rdf',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.google-earth.kml+xml': 'kml',
  'application/vnd.google-earth.kmz': 'kmz',
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/tiff': 'tiff',
};

/** Endings of the files that every portal takes (recorded-behaviour 12); a web page is better linked than copied. */
const taken = new Set(
  'csv xls json xlsx doc docx rdf txt jpg png gif tiff pdf odf ods odt tsv tab geojson xml zip'.split(' '),
);

/** The name of a format as portals show it: in lower case, media types by their common name; null where nothing is told. */
export const formatOf = (format: string | null, mediaType: string | null): string | null => {
  for (const text of [format, mediaType]) {
    if (text === null) continue;
    const plain = text
      .toLowerCase()
      .replace(/;.*$/, '')
      .trim()
      .replace(/^https?:\/\/www\.iana\.org\/assignments\/media-types\//, '');
    if (Object.hasOwn(names, plain)) return names[plain] ?? null;
    if (plain !== '' && plain !== 'application/octet-stream') return plain;
  }
  return null;
};

/** What is known of a file before it is fetched. */
export interface FileFacts {
  url: string;
  format: string | null;
  mediaType: string | null;
}

/**
 * The name that a fetched file gets on the portal; undefined where its address ends in one. Null for a file that portals
 * do not take, as far as address, media type and format tell.
 */
export const fileNameFor = ({ url, format, mediaType }: FileFacts): string | undefined | null => {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  const own = /[^.]\.([a-z0-9]{1,8})$/i.exec(last)?.[1]?.toLowerCase();
  if (own !== undefined && taken.has(own)) return undefined;
  const ending = [formatOf(null, mediaType), formatOf(format, null)].find((name) => name !== null && taken.has(name));
  if (ending === undefined) return null;
  const stem = last.replaceAll(/%[0-9a-f]{2}|[^a-z0-9_-]+/gi, '-').replaceAll(/^-+|-+$/g, '');
  return `${stem === '' ? 'data' : stem.slice(0, 100)}.${ending}`;
};

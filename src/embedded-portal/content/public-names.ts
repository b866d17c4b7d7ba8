// Public names: paths of nodes (recorded behaviour 7), and names and types of uploaded files (recorded behaviour 12).
import { extensionOf, fileTypes } from '../../dataset-api/file-types.ts';

/** As recorded, where portals differ from the usual types. */
const mimeTypes: Readonly<Record<string, string>> = {
  ...fileTypes,
  geojson: 'application/octet-stream',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  rdf: 'application/rdf+xml',
  tiff: 'image/tiff',
  odf: 'application/vnd.oasis.opendocument.formula',
  odt: 'application/vnd.oasis.opendocument.text',
  xml: 'text/xml',
  shp: 'application/octet-stream',
};

const documents = new Set('html zip txt doc xls pdf odt ods docx xlsx'.split(' ').map((name) => mimeTypes[name]));

/** MIME type by extension; what the client claims is ignored. */
export const mimeOf = (name: string): string => mimeTypes[extensionOf(name)] ?? 'application/octet-stream';

/** Media class of a MIME type: `image`, `document`, else `undefined`. */
export const fileTypeOf = (mime: string): string => {
  if (mime.startsWith('image/')) return 'image';
  return documents.has(mime) ? 'document' : 'undefined';
};

const longest = 240;

/** Defuses inner extensions that are not allowed: `evil.php.csv` becomes `evil.php_.csv`. */
const munge = (name: string, extensions: readonly string[]): string =>
  name.replace(/\.([a-z]{2,5}\d?)(?=\.)/gi, (part, inner) =>
    extensions.includes(String(inner).toLowerCase()) ? part : `${part}_`,
  );

/**
 * The name under which an upload is known: directory parts cut, control characters dropped, inner extensions munged,
 * device names made harmless (`con_.csv`). Null when it may not be attached: no allowed extension, nothing before it, or
 * too long. Names that match `also` may be attached as well.
 */
export const cleanFileName = (sent: string, extensions: readonly string[], also?: RegExp): string | null => {
  const base = sent.slice(Math.max(sent.lastIndexOf('/'), sent.lastIndexOf('\\')) + 1);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
  const plain = base.replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, '').trim();
  const name = /^\.+[^.]+\./.test(plain) ? plain.replace(/^\.+/, '') : plain;
  const extension = extensionOf(name);
  const isAllowed = extensions.includes(extension) || also?.test(name) === true;
  if (extension === '' || name.startsWith('.') || !isAllowed || [...name].length > longest) return null;
  // These mean a device on some systems, whatever their extension.
  return munge(name, extensions).replace(/^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.)/i, '$&_');
};

/** A name that is not taken: `name.csv`, `name_0.csv`, `name_1.csv` … */
export const freeName = (name: string, isTaken: (name: string) => boolean): string => {
  const dot = name.lastIndexOf('.');
  let free = name;
  for (let number = 0; isTaken(free); number++) free = `${name.slice(0, dot)}_${number}${name.slice(dot)}`;
  return free;
};

/** Words that leave the slug, unless nothing else is left (the default list of such portals). */
const stopWords = new Set(
  'a,an,as,at,before,but,by,for,from,is,in,into,like,of,off,on,onto,per,since,than,the,this,that,to,up,via,with'.split(
    ',',
  ),
);

const longestSlug = 100;

/** The slug of a title: without tags, punctuation and stop words, lower case, unicode kept; empty when nothing is left. */
export const slugOf = (title: string): string => {
  const text = title
    .replace(/<[^<>]*>/g, '')
    .replace(/["'`,:;|{[}\]+=*&%^$#@!~()?<>\\./_]/g, '')
    .replace(/\s+/g, '-')
    .toLowerCase();
  const words = text.split('-').filter((word) => word !== '');
  const kept = words.filter((word) => !stopWords.has(word));
  const slug = (kept.length === 0 ? words : kept).join('-');
  if (slug.length <= longestSlug) return slug;
  const cut = slug.slice(0, longestSlug);
  return cut.includes('-') && slug[longestSlug] !== '-' ? cut.slice(0, cut.lastIndexOf('-')) : cut;
};

/**
 * The alias of a dataset (`dataset/<slug>`, with `-0`, `-1` … when taken), a group (`group/<slug>`), a page (`<slug>`) or
 * a resource (`dataset/<slug of its dataset>/resource/<uuid>`); null where a title leaves no slug.
 */
export const aliasOf = (
  node: { type: string; title: string; uuid: string },
  { parentTitle, isTaken }: { parentTitle: string | null; isTaken: (alias: string) => boolean },
): string | null => {
  const slug = slugOf(node.type === 'resource' ? (parentTitle ?? '') : node.title);
  if (node.type === 'resource') {
    const alias = slug === '' ? `dataset/resource/${node.uuid}` : `dataset/${slug}/resource/${node.uuid}`;
    return isTaken(alias) ? null : alias;
  }
  if (slug === '') return null;
  const base = node.type === 'page' ? slug : `${node.type}/${slug}`;
  let alias = base;
  for (let number = 0; isTaken(alias); number++) alias = `${base}-${number}`;
  return alias;
};

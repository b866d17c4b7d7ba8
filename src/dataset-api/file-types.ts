// What files are: their content types by extension, as a portal derives them; and by their first bytes, with the name that fits
// these: where the name that a server gives disagrees, the bytes decide.
import { constants, gunzipSync } from 'node:zlib';

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

export const kindBytes = 16 * 1024;

const zip = 'PK\u0003\u0004';
/** True for an archive with an entry whose name, or what is at its place, begins so. */
const holds =
  (begin: string) =>
  (text: string): boolean =>
    text.startsWith(zip) && text.split(zip).some((entry) => entry.startsWith(begin, 26));

/** Kinds by how the bytes begin, one character a byte; of those that match, the first counts. */
const beginnings: readonly [kind: string, begins: (text: string) => boolean][] = [
  ['ods', holds('mimetypeapplication/vnd.oasis.opendocument.spreadsheet')],
  ['xlsx', holds('xl/')],
  ['docx', holds('word/')],
  ['zip', (text) => text.startsWith(zip)],
  ['xls', (text) => text.startsWith('\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1')],
  ['pdf', (text) => text.startsWith('%PDF-')],
  ['html', (text) => /^\s*(?:<!--.*-->\s*)?<(?:!doctype html|html|head|body|title|meta|table|div)[\s>]/i.test(text)],
  ['xml', (text) => /^\s*<(?:\?xml\s|[a-z][\w:.-]*(?:\s[^<>]*[^<>/\s])?>(?:\r?\n\s*)?<)/i.test(text)],
  ['json', (text) => /^\s*(?:\{\s*"[^"\n]{0,200}"\s*:|\[\s*[{[])/.test(text)],
];

/** The ending that fits bytes, such as `xlsx` or `csv.gz`; null where they do not tell. `head`: at least {@link kindBytes}, or all. */
export const kindOfBytes = (head: Buffer): string | null => {
  const start = head.subarray(0, kindBytes);
  if (start[0] === 0x1f && start[1] === 0x8b) return [unpackedKind(start), 'gz'].filter(Boolean).join('.');
  const wide = start[0] === 0xff && start[1] === 0xfe;
  const text = start.toString(wide ? 'utf16le' : 'latin1').replace(/^(?:\ufeff|\xef\xbb\xbf)/, '');
  return beginnings.find(([, begins]) => begins(text))?.[0] ?? kindOfText(text, head.length <= kindBytes);
};

const unpackedKind = (start: Buffer): string | null => {
  try {
    return kindOfBytes(gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 64 * kindBytes }));
  } catch {
    return null;
  }
};

/** Least share of lines that have as many delimiters as the first one, in text that is a table. */
const leastShare = 0.9;

const countOf = (mark: string, row: string): number => {
  let count = 0;
  for (let at = row.indexOf(mark); at >= 0; at = row.indexOf(mark, at + 1)) count += 1;
  return count;
};

const kindOfText = (text: string, isWhole: boolean): string | null => {
  if (text.includes('\0')) return null;
  const lines = text.replace(/"(?:[^"]|"")*"/g, '').split(/\r\n?|\n/);
  const [first = '', ...others] = (isWhole ? lines : lines.slice(0, -1)).filter((line) => line.trim() !== '');
  if (others.length === 0) return null;
  const divides = (mark: string): boolean => {
    const marks = countOf(mark, first);
    return marks > 0 && others.filter((row) => countOf(mark, row) === marks).length >= others.length * leastShare;
  };
  return divides('\t') ? 'tsv' : [',', ';', '|'].some(divides) ? 'csv' : null;
};

/** What endings claim; those of one family hold each other's bytes, or are told apart when they are read. */
const families = [['csv', 'tsv'], ['json', 'ndjson', 'jsonl', 'geojson'], ['zip', 'xlsx', 'xlsm'], ['xls']];
const familyOf = (ending: string) => families.find((endings) => endings.includes(ending.replace(/\.?gz$/, '')));

const claim = /\.((?:csv|tsv|json|ndjson|jsonl|geojson)(?:\.gz)?|zip|xls[xm]?)$/i;
const tables = new Set(['csv', 'tsv', 'csv.gz', 'tsv.gz', 'xlsx', 'zip']);

/** The name of a file that people named: one that claims no kind gets the ending of its bytes. A wrong claim is refused when it is read. */
export const namedWithEnding = (name: string, kind: string | null | undefined): string =>
  !kind || claim.test(name) || showsType(name) ? name : `${name}.${kind}`;

/**
 * The name of a file that a server named: one that claims another kind of table than the bytes hold gets the ending of
 * that. Pages, JSON and old workbooks in place of a table are mostly errors: they keep its name, and are refused.
 */
export const namedByBytes = (name: string, kind: string | null | undefined): string => {
  const claimed = claim.exec(name)?.[1]?.toLowerCase();
  if (!kind || claimed === undefined) return namedWithEnding(name, kind);
  const isPacked = (ending: string): boolean => ending.endsWith('.gz');
  const fits = familyOf(claimed) === familyOf(kind) && isPacked(claimed) === isPacked(kind);
  return fits || !tables.has(kind) ? name : name.replace(claim, `.${kind}`);
};

/** Endings of content types that servers give to anything. */
const vague = new Set(['', '.txt', '.html']);

/** The name of a fetched file: as given, else as its server names it, with the ending of its bytes or content type at least. */
export const nameOfFetched = (
  { name, isNamed }: { name: string; isNamed?: boolean },
  { fileName, contentType, kind }: Record<'fileName' | 'contentType' | 'kind', string | null>,
): string => {
  const told = !isNamed && fileName !== null && showsType(fileName) ? fileName : name;
  if (isNamed || showsType(told)) return namedByBytes(told, kind);
  const declared = endingOf(contentType);
  return namedByBytes(`${fileName ?? name}${kind !== null && vague.has(declared) ? '' : declared}`, kind);
};

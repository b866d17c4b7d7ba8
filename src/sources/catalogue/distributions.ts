// The distributions of a dataset as resources. Their ids come from identifiers or addresses, so that their order means nothing.
import { isLinkable } from '../../dataset-api/fields.ts';
import type { ResourceSource } from '../../model/wish.ts';
import { isObject } from '../../util/json.ts';
import { canonicalJson } from '../gather/dataset-wish.ts';
import type { ResourceSpec } from '../manifest/schema.ts';
import { urlSource } from '../manifest/url-schema.ts';
import {
  addressOf,
  addressText,
  idOfAddress,
  idOfIdentifier,
  isNothing,
  longestText,
  shortLine,
  textOf,
  textsOf,
} from './values.ts';

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
const formatOf = (format: string | null, mediaType: string | null): string | null => {
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
interface FileFacts {
  url: string;
  format: string | null;
  mediaType: string | null;
}

/**
 * The name that a fetched file gets on the portal; undefined where its address ends in one. Null for a file that portals
 * do not take, as far as address, media type and format tell.
 */
const fileNameFor = ({ url, format, mediaType }: FileFacts): string | undefined | null => {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  const own = /[^.]\.([a-z0-9]{1,8})$/i.exec(last)?.[1]?.toLowerCase();
  if (own !== undefined && taken.has(own)) return undefined;
  const ending = [formatOf(null, mediaType), formatOf(format, null)].find((name) => name !== null && taken.has(name));
  if (ending === undefined) return null;
  const stem = last.replaceAll(/%[0-9a-f]{2}|[^a-z0-9_-]+/gi, '-').replaceAll(/^-+|-+$/g, '');
  return `${stem === '' ? 'data' : stem.slice(0, 100)}.${ending}`;
};

/** What is told about a distribution. */
interface DistributionTools {
  files: 'link' | 'fetch';
  /** Details of every resource, from the manifest. */
  defaults: ResourceSpec['details'];
  /** Title where a distribution has none. */
  title: string;
  /** A part that is not published as it stands. */
  remark(part: string, what: string): void;
  /** Something that keeps the whole entry from being published. */
  fault(what: string): void;
}

/** One row of the mapping of distributions, for the documentation. */
interface DistributionRow {
  from: string;
  to: string;
  how: string;
}

/** The mapping of distributions as a table; {@link resourcesOf} does it. */
export const distributionRows: readonly DistributionRow[] = [
  {
    from: 'downloadURL',
    to: 'field_link_api or field_upload',
    how: 'With `files: link` a link; with `files: fetch` the file itself, where the portal takes files of its kind.',
  },
  { from: 'accessURL', to: 'field_link_api', how: 'A link, where there is no `downloadURL`.' },
  { from: 'title', to: 'title', how: "One line, cut at 255 characters; the dataset's title where it has none." },
  { from: 'description', to: 'body', how: 'Unchanged.' },
  { from: 'format', to: 'field_format', how: 'A term by name, in lower case.' },
  { from: 'mediaType', to: 'field_format', how: 'Where there is no `format`: its common name, such as `csv`.' },
  { from: 'identifier, @id', to: '`uuid`', how: 'Makes the identity; where there is none, the address does.' },
];

const knownKeys = new Set([
  'downloadURL',
  'accessURL',
  'title',
  'description',
  'format',
  'mediaType',
  'identifier',
  '@id',
  '@type',
]);

interface Found {
  seed: string;
  isIdentifier: boolean;
  item: Record<string, unknown>;
  spec: Omit<ResourceSpec, 'id'>;
}

/** The resources of an entry's `distribution`, sorted by id. */
export const resourcesOf = (value: unknown, tools: DistributionTools): ResourceSpec[] => {
  if (isNothing(value)) return [];
  const list = Array.isArray(value) ? value : [value];
  const found = list.flatMap((item, index) => distribution(item, index + 1, tools) ?? []);
  const bySeed = Map.groupBy(found, ({ seed }) => seed);
  return [...bySeed.values()].flatMap(numbered).sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** Several of one seed are told apart by what they hold, whatever their order. */
const numbered = (twins: Found[]): ResourceSpec[] => {
  const [only] = twins;
  const sorted = twins.length === 1 && only ? [{ ...only, order: '' }] : twins.map(ordered).sort(byOrder);
  return sorted.map(({ seed, isIdentifier, spec }, index) => {
    const unique = index === 0 ? seed : `${seed}#${index + 1}`;
    return { id: isIdentifier ? idOfIdentifier(unique) : idOfAddress(unique), ...spec };
  });
};

const ordered = (found: Found) => ({ ...found, order: canonicalJson(found.item) });
const byOrder = (a: { order: string }, b: { order: string }): number => (a.order < b.order ? -1 : 1);

const distribution = (item: unknown, position: number, tools: DistributionTools): Found | null => {
  if (!isObject(item)) {
    tools.fault(`distribution ${position} is no object`);
    return null;
  }
  for (const key of Object.keys(item)) {
    if (!knownKeys.has(key) && !isNothing(item[key])) tools.remark(`distribution.${key}`, 'has no field on the portal');
  }
  const target = targetOf(item, position, tools);
  if (target === null) return null;
  const identifier = addressText(item.identifier) ?? addressText(item['@id']);
  const isIdentifier = identifier !== null && !identifier.startsWith('_:');
  const format = formatOf(textOf(item.format), textOf(item.mediaType));
  const short = (text: string, key: string): string =>
    shortLine(text, longestText, (what) => tools.remark(`distribution.${key}`, what));
  const description = descriptionOf(textOf(item.description), target);
  return {
    seed: isIdentifier ? identifier : target.url,
    isIdentifier,
    item,
    spec: {
      title: short(textOf(item.title) ?? tools.title, 'title'),
      source: sourceOf(item, target, tools),
      details: {
        ...tools.defaults,
        ...(description === null ? {} : { description }),
        ...(format === null ? {} : { format: short(format, 'format') }),
      },
    },
  };
};

interface Target {
  url: string;
  isFile: boolean;
  /** False for an address that no portal takes into a link field, such as `hhttps://…`; it is told in words. */
  isLink: boolean;
}

/** Where a distribution points to; null, and said, where it points nowhere. */
const targetOf = (item: Record<string, unknown>, position: number, tools: DistributionTools): Target | null => {
  const keys = (['downloadURL', 'accessURL'] as const).filter((key) => !isNothing(item[key]));
  const [key, other] = keys;
  if (key === undefined) {
    tools.remark('distribution', 'left out: it has neither downloadURL nor accessURL');
    return null;
  }
  if (other !== undefined && addressText(item[other]) !== addressText(item[key]))
    tools.remark(`distribution.${other}`, 'not published in addition to a downloadURL');
  if (textsOf(item[key]).length > 1) tools.remark(`distribution.${key}`, 'only the first of several is published');
  const text = addressText(item[key]) ?? '';
  const address = addressOf(text);
  if (address.kind === 'web' && hasCredentials(address.url)) {
    tools.remark(
      `distribution.${key}`,
      'left out: the address holds a user name or password, which would be published',
    );
    return null;
  }
  if (address.kind !== 'none') {
    const url = address.kind === 'web' ? address.url : text;
    const isLink = isLinkable(url);
    const why = address.kind === 'web' ? 'addresses this long' : `${address.scheme}: addresses`;
    if (!isLink) tools.remark(`distribution.${key}`, `is told in the description: portals do not link to ${why}`);
    return { url, isFile: isLink && key === 'downloadURL', isLink };
  }
  tools.fault(`the ${key} of distribution ${position} is no address: ${JSON.stringify(text.slice(0, 80))}`);
  return null;
};

const descriptionOf = (text: string | null, { isLink, url }: Target): string | null =>
  isLink ? text : [text, `Address: ${url}`].filter((part) => part !== null).join('\n\n');

const sourceOf = (item: Record<string, unknown>, { url, isFile }: Target, tools: DistributionTools): ResourceSource => {
  if (!isFile) return { kind: 'api', url };
  if (tools.files === 'link') return { kind: 'link', url };
  const name = fileNameFor({ url, format: textOf(item.format), mediaType: textOf(item.mediaType) });
  if (name !== null) return urlSource(url, name);
  tools.remark('distribution.downloadURL', 'is linked, not fetched: portals take no files of its kind');
  return { kind: 'link', url };
};

const hasCredentials = (text: string): boolean => {
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
};

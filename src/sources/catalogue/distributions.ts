// The distributions of a dataset as resources, in their order. Their ids come from identifiers or addresses, never from the order.
import { isLinkable } from '../../dataset-api/fields.ts';
import { endingOf } from '../../dataset-api/file-types.ts';
import type { ResourceSource } from '../../model/wish.ts';
import { defined, isObject } from '../../util/json.ts';
import { canonicalJson } from '../gather/dataset-wish.ts';
import type { CatalogueSpec } from '../manifest/list-schemas.ts';
import { urlSource } from '../manifest/resource-keys.ts';
import type { ResourceSpec } from '../manifest/schema.ts';
import {
  addressOf,
  addressText,
  holdsPassword,
  identifierOf,
  idOfAddress,
  idOfIdentifier,
  isNothing,
  listOf,
  longestText,
  type Remark,
  referenceOf,
  shortLine,
  speller,
  textOf,
  textsOf,
} from './values.ts';

/** Names of media types beside those of `file-types.ts`, for distributions without a format. */
const names: Record<string, string> = {
  'application/csv': 'csv',
  'application/geo+json': 'geojson',
  'text/xml': 'xml',
  'application/rdf+xml': 'rdf',
  'application/x-zip-compressed': 'zip',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'image/jpeg': 'jpeg',
  'image/tiff': 'tiff',
};

/** Endings of the files that every portal takes (recorded-behaviour 12); a web page is better linked than copied. */
const taken = new Set(
  'csv xls json xlsx doc docx rdf txt jpg png gif tiff pdf odf ods odt tsv tab geojson xml zip'.split(' '),
);

/** The name of a format as portals show it: in lower case, media types by their common name; null where there is none. */
const formatOf = (format: string | null, mediaType: string | null): string | null => {
  for (const text of [format, mediaType]) {
    if (text === null) continue;
    const type = text.toLowerCase().replace(/;.*$/, '').trim();
    const plain = type.replace(/^https?:\/\/(?:www\.iana\.org\/assignments\/media-types\/|\S*[/#])|^\.(?=\w)/, '');
    const known = Object.hasOwn(names, plain) ? names[plain] : endingOf(plain).slice(1);
    if (known) return known;
    if (plain !== '' && plain !== 'application/octet-stream') return plain;
  }
  return null;
};

/** The name of a fetched file; undefined where its address ends in one, null for a file that portals do not take. */
const fileNameFor = (url: string, format: string | null, mediaType: string | null): string | undefined | null => {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  const own = /[^.]\.([a-z0-9]{1,8})$/i.exec(last)?.[1]?.toLowerCase();
  if (own !== undefined && taken.has(own)) return undefined;
  const ending = [formatOf(null, mediaType), formatOf(format, null)].find((name) => name !== null && taken.has(name));
  if (ending === undefined) return null;
  const stem = last.replaceAll(/%[0-9a-f]{2}|[^a-z0-9_-]+/gi, '-').replaceAll(/^-+|-+$/g, '');
  return `${stem === '' ? 'data' : stem.slice(0, 100)}.${ending}`;
};

interface DistributionTools {
  files: CatalogueSpec['files'];
  defaults: ResourceSpec['details'];
  title: string;
  remark: Remark;
}

/** Keys that {@link resourcesOf} reads; `docs/reference/catalogue-mapping.md` lists them. */
export const distributionKeys: ReadonlySet<string> = new Set(
  'downloadURL accessURL accessService title description format mediaType identifier @id'.split(' '),
);
const spelled = speller(distributionKeys);

/** A distribution that is left out, as it is faulty or, where the fault is '', has an empty address; what it published before stays. */
export interface LeftOut {
  /** Null where it is unknown which of the resources it is. */
  id: string | null;
  position: number;
  title: string | null;
  fault: string;
  /** True where it is only named: its id may be another one. */
  isGuessed: boolean;
}

/** A distribution that was read; without a `spec` it is faulty. */
interface Found extends Omit<LeftOut, 'id'> {
  /** What its id is made of: its identifier, else its address; null where it has neither. */
  seed: string | null;
  byAddress: boolean;
  item: unknown;
  spec: Omit<ResourceSpec, 'id'> | null;
}

/** The resources of an entry's `distribution` in their order, and those that are left out as faulty. */
export const resourcesOf = (value: unknown, tools: DistributionTools) => {
  // PHP writes a list with gaps as an object, and others one of what has names.
  const isKeyed = ([key, item]: [string, unknown]): boolean =>
    /^\d+$/.test(key) || (isObject(item) && /(?:access|download)url/i.test(Object.keys(item).join()));
  const isGapped = isObject(value) && !isNothing(value) && Object.entries(value).every(isKeyed);
  const isNone = value === null || (typeof value !== 'object' && isNothing(value));
  const list = isNone ? [] : isGapped ? Object.values(value) : [value].flat();
  const found = list.flatMap((item, index) => distribution(spelled(item), index + 1, tools) ?? []);
  const ids = idsOf(found);
  const resources: ResourceSpec[] = [];
  const leftOut: LeftOut[] = [];
  for (const each of found) {
    const { position, title, spec, fault, byAddress, isGuessed } = each;
    const id = ids.get(each) ?? null;
    if (spec === null || id === null) leftOut.push({ id, position, title, fault, isGuessed });
    else resources.push({ id, ...spec, ...(byAddress ? { byAddress } : {}) });
  }
  return { resources, leftOut };
};

/** Those with the same seed are distinguished by title and format, then by their whole content, whatever their order. */
const idsOf = (found: readonly Found[]): Map<Found, string> => {
  const ids = new Map<Found, string>();
  for (const [seed, twins] of Map.groupBy(found, (each) => each.seed)) {
    if (seed === null) continue;
    for (const [mark, same] of Map.groupBy(twins, (each) => (twins.length === 1 ? '' : markOf(each)))) {
      const sorted = same.toSorted((a, b) => (canonicalJson(a.item) < canonicalJson(b.item) ? -1 : 1));
      for (const [index, each] of sorted.entries()) {
        const unique = `${seed}${mark}${index === 0 ? '' : `#${index + 1}`}`;
        ids.set(each, each.byAddress ? idOfAddress(unique) : idOfIdentifier(unique));
      }
    }
  }
  return ids;
};

const markOf = ({ item }: Found): string => {
  const { title, format, mediaType } = isObject(item) ? item : {};
  return `#${JSON.stringify([textOf(title), formatOf(textOf(format), textOf(mediaType))])}`;
};

/** Null for one that points nowhere: there is nothing to publish. Its address may be missing for now only where it has a key, or nothing. */
const distribution = (item: unknown, position: number, tools: DistributionTools): Found | null => {
  const none = { position, title: null, seed: null, byAddress: false, item, spec: null, isGuessed: false };
  const reference = referenceOf(item);
  if (reference !== null) return { ...none, seed: reference, isGuessed: true, fault: 'it is named, but not described' };
  if (!isObject(item)) return { ...none, fault: isNothing(item) ? '' : 'it is not an object' };
  for (const key of Object.keys(item)) {
    if (key !== '@type' && !distributionKeys.has(key) && !isNothing(item[key]))
      tools.remark(`distribution.${key}`, 'has no field on the portal');
  }
  const target = targetOf(item, tools);
  const identifier = identifierOf(item);
  const title = textOf(item.title);
  const isEmpty = Object.keys(item).every((key) => key === '@type' || isNothing(item[key]));
  const isUnsaid = isEmpty || 'downloadURL' in item || 'accessURL' in item;
  if (target === null) return isUnsaid ? { ...none, title, seed: identifier, fault: '' } : null;
  const seed = identifier ?? ('url' in target ? target.url : null);
  const found = { ...none, title, seed, byAddress: identifier === null };
  if ('fault' in target) return { ...found, fault: target.fault };
  const format = formatOf(textOf(item.format), textOf(item.mediaType));
  const short = (text: string, key: string): string =>
    shortLine(text, longestText, (what) => tools.remark(`distribution.${key}`, what));
  const address = target.isLink ? null : `Address: ${target.url}`;
  const description = [textOf(item.description), address].filter((part) => part !== null).join('\n\n');
  const own = { description: description || undefined, format: format === null ? undefined : short(format, 'format') };
  const details = { ...tools.defaults, ...defined(own) };
  const source = sourceOf(item, target, tools);
  return { ...found, fault: '', spec: { title: short(title ?? tools.title, 'title'), source, details } };
};

/** Where a distribution points to, or why that cannot be published; null, with a remark, where it points nowhere. */
const targetOf = (item: Record<string, unknown>, tools: DistributionTools) => {
  const [key, other] = (['downloadURL', 'accessURL'] as const).filter((each) => !isNothing(item[each]));
  const [service] = listOf(item.accessService);
  const [endpoint] = key === undefined && isObject(service) ? textsOf(service.endpointURL) : [];
  if (key === undefined && endpoint === undefined) {
    tools.remark('distribution', 'left out: it has neither downloadURL nor accessURL');
    return null;
  }
  const from = key ?? 'accessService';
  if (other !== undefined && addressText(item[other]) !== addressText(item[from]))
    tools.remark(`distribution.${other}`, 'not published in addition to a downloadURL');
  const beside = `not published in addition to ${key === 'accessURL' ? 'an accessURL' : 'a downloadURL'}`;
  if (key !== undefined && !isNothing(item.accessService)) tools.remark('distribution.accessService', beside);
  if (textsOf(item[from]).length > 1) tools.remark(`distribution.${from}`, 'only the first of several is published');
  const text = endpoint ?? addressText(item[from]) ?? '';
  const address = addressOf(text);
  if (address.kind === 'none')
    return { fault: `its ${from} is not a valid address: ${JSON.stringify(text.slice(0, 80))}` };
  const url = address.kind === 'web' ? address.url : text;
  if (holdsPassword(url)) return { fault: `its ${from} holds a user name or password, which would be published` };
  const isLink = isLinkable(url); // not such as `hhttps://…`, which is in the description
  const why = address.kind === 'web' ? 'addresses this long' : `${address.scheme}: addresses`;
  if (!isLink) tools.remark(`distribution.${from}`, `is in the description: portals do not link to ${why}`);
  return { url, isFile: isLink && from === 'downloadURL', isLink };
};

const sourceOf = (
  item: Record<string, unknown>,
  { url, isFile }: { url: string; isFile: boolean },
  tools: DistributionTools,
): ResourceSource => {
  if (!isFile) return { kind: 'api', url };
  if (tools.files === 'link') return { kind: 'link', url };
  const name = fileNameFor(url, textOf(item.format), textOf(item.mediaType));
  if (name !== null) return urlSource(url, name);
  tools.remark('distribution.downloadURL', 'is linked, not fetched: portals take no files of its kind');
  return { kind: 'link', url };
};

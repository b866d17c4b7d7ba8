// Readers of composed values of catalogues: organizations, contacts, dates, periods, links, places.
import { titleSchema } from '../../dataset-api/metadata.ts';
import { frequencyCode } from '../../dataset-api/values.ts';
import { parseWkt, plainWkt } from '../../dataset-api/wkt.ts';
import { defined, isObject } from '../../util/json.ts';
import { addressText, type Draft, keptText, listOf, textOf, webAddressOf } from './values.ts';

/**
 * `2016`, `2016-11`, `20161115`, `2016-11-15`, `2016-11-15T14:30:48.000Z`, `11/15/2016` as `2016-11-15` or
 * `2016-11-15T14:30:48` (UTC where the text has a zone); null for anything else.
 */
export const dayOf = (text: string, edge: 'begin' | 'end' = 'begin'): string | null => {
  const plain = text.trim();
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(plain);
  if (american) return realDay(american[3], american[1], american[2]);
  const [, year, month, day, rest = ''] = /^([12]\d{3})(?:-?(\d{2})(?:-?(\d{2})(.*))?)?$/s.exec(plain) ?? [];
  if (year === undefined) return null;
  if (month === undefined) return edge === 'begin' ? `${year}-01-01` : `${year}-12-31`;
  if (day === undefined) return edge === 'begin' ? realDay(year, month, '01') : lastDay(year, month);
  const date = realDay(year, month, day);
  return date === null || rest === '' ? date : timed(date, rest);
};

const realDay = (year = '', month = '', day = ''): string | null => {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : null;
};

const lastDay = (year: string, month: string): string | null => {
  if (realDay(year, month, '01') === null) return null;
  return new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10);
};

const timed = (date: string, rest: string): string | null => {
  const [, time, zone = ''] =
    /^[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(Z|[+-]\d{2}:?\d{2}|[+-]\d{2})?$/i.exec(rest) ?? [];
  if (time === undefined) return null;
  const full = time.length === 5 ? `${time}:00` : time;
  // `+02` and `+0200` as `+02:00`.
  const offset = zone.replace(/^([+-]\d{2}):?(\d{2})?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  const parsed = new Date(`${date}T${full}${offset.toUpperCase() || 'Z'}`);
  return Number.isNaN(parsed.getTime()) ? null : parsed.toISOString().slice(0, 19);
};

/** `2014-01-01/2015-01-01`, `2014/P1Y` or `2014` as a span; null for anything else, such as a period without an end. */
export const spanOf = (text: string): { from: string; to?: string } | null => {
  const parts = text.split('/');
  const [begin = '', end = ''] = parts;
  if (parts.length > 2) return null;
  const from = dayOf(begin);
  if (from === null) return null;
  if (parts.length === 1) {
    const last = dayOf(begin, 'end');
    return last === null || last === from ? { from } : { from, to: last };
  }
  const to = end.startsWith('P') ? after(from, end) : dayOf(end, 'end');
  if (to === null) return null;
  return to.slice(0, 10) < from.slice(0, 10) ? null : { from, to };
};

/** The day a duration of years, months, weeks and days after another. */
const after = (from: string, duration: string): string | null => {
  const [match, years, months, weeks, days] = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?$/.exec(duration) ?? [];
  if (match === undefined || match === 'P') return null;
  const date = new Date(`${from.slice(0, 10)}T00:00:00Z`);
  date.setUTCFullYear(date.getUTCFullYear() + Number(years ?? 0), date.getUTCMonth() + Number(months ?? 0));
  date.setUTCDate(date.getUTCDate() + Number(weeks ?? 0) * 7 + Number(days ?? 0));
  return Number.isNaN(date.getTime()) ? null : date.toISOString().slice(0, 10);
};

const onlyFirst = 'only the first of several is published';

/** The first publisher, and the organizations above it. */
export function takePublisher(value: unknown, draft: Draft): void {
  const [publisher, ...more] = listOf(value);
  const name = textOf(isObject(publisher) ? (publisher.name ?? publisher.prefLabel) : publisher);
  if (name !== null) draft.metadata.author = draft.short('publisher', name);
  else draft.remark('publisher', 'has no name');
  if (more.length > 0) draft.keep('publisher', 'Further publishers', more.map(keptText), onlyFirst);
  const above: string[] = [];
  for (
    let next = isObject(publisher) ? publisher.subOrganizationOf : undefined;
    isObject(next) && above.length < 10;
  ) {
    const organization = textOf(next.name ?? next.prefLabel);
    if (organization !== null) above.push(organization);
    next = next.subOrganizationOf;
  }
  if (above.length > 0) draft.addInfo('publisher.subOrganizationOf', 'Part of', above.join(', '));
}

export function takeContact(value: unknown, draft: Draft): void {
  const [contact, ...more] = listOf(value);
  const name = textOf(isObject(contact) ? (contact.fn ?? contact.name ?? contact['organization-name']) : contact);
  const email = isObject(contact) ? addressText(contact.hasEmail)?.replace(/^mailto:/i, '') : undefined;
  draft.metadata.contact = defined({
    name: name === null ? undefined : draft.short('contactPoint.fn', name),
    email: email && draft.short('contactPoint.hasEmail', email),
  });
  if (more.length > 0) draft.keep('contactPoint', 'Further contacts', more.map(keptText), onlyFirst);
}

/** A day or time into a field; any other text becomes a further fact of that name. */
export function takeDate(
  value: unknown,
  draft: Draft,
  { from, field, name }: Record<'from' | 'field' | 'name', string>,
): void {
  const text = textOf(value) ?? '';
  const day = dayOf(text);
  const [date, time = '00:00:00'] = day?.split('T') ?? [];
  if (day === null) draft.keep(from, name, [text || keptText(value)], 'is no date');
  else draft.fields[field] = { und: [{ value: `${date} ${time}` }] };
}

/** A day or time, or a rule of repetition, which says how often the data is renewed. */
export function takeModified(value: unknown, draft: Draft): void {
  const text = textOf(value) ?? '';
  const code = frequencyCode(text);
  const isRule = /^R\//.test(text);
  if (!isRule) takeDate(value, draft, { from: 'modified', field: 'field_harvest_source_modified', name: 'Modified' });
  else if (code === undefined || draft.metadata.frequency !== undefined)
    draft.keep('modified', 'Modified', [text], 'is a repetition, not a date');
  else draft.metadata.frequency = code as NonNullable<typeof draft.metadata.frequency>; // its codes are these
}

/** The first period that has both ends: portals store no other. */
export function takeTemporal(value: unknown, draft: Draft): void {
  const periods = listOf(value).map((each) => ({ text: periodText(each), span: spanOf(periodText(each)) }));
  const first = periods.find(({ span }) => span !== null);
  if (first?.span) draft.metadata.temporal = first.span;
  const others = periods.filter((each) => each !== first).map(({ text }) => text);
  if (others.length > 0)
    draft.keep('temporal', 'Temporal', others, first ? onlyFirst : 'has no begin and end that portals can store');
}

/** A period in the form of ISO 8601, with `..` for an open end; what it is otherwise where it has neither date. */
const periodText = (value: unknown): string => {
  const { startDate, endDate, ...other } = isObject(value) ? value : {};
  const [begin, end] = [textOf(startDate ?? other['dcat:startDate']), textOf(endDate ?? other['dcat:endDate'])];
  return begin === null && end === null ? keptText(value) : `${begin ?? '..'}/${end ?? '..'}`;
};

export function takeReferences(value: unknown, draft: Draft): void {
  const texts = typeof value === 'string' ? value.split(/[,\s]+(?=https?:)/) : listOf(value);
  const links = texts.flatMap((item) => {
    const url = webAddressOf(item);
    return url === null ? [] : [{ title: titleOf(item, url, draft), url }];
  });
  const others = texts.filter((item) => webAddressOf(item) === null).map(keptText);
  if (others.length > 0) draft.keep('references', 'References', others, 'not an address that portals link to');
  if (links.length > 0) draft.metadata.relatedContent = links;
}

const titleOf = (item: unknown, url: string, draft: Draft): string => {
  const title = isObject(item) ? textOf(item.title) : null;
  if (title !== null) return draft.short('references', title);
  return titleSchema.safeParse(url).success ? url : new URL(url).hostname;
};

type Area = { wkt?: string; label?: string };

/** The area of a `spatial` value; empty where nothing is understood. */
export const areaOf = (value: unknown): Area => {
  if (Array.isArray(value)) return Object.assign({}, ...value.slice(0, 100).map(areaOf).toReversed());
  if (isObject(value)) return areaOfObject(value);
  const text = textOf(value);
  return text === null ? {} : areaOfText(text);
};

const areaOfText = (text: string): Area => {
  const wkt = wktOf(text) ?? boxOf(text.split(/[,\s]+/));
  if (wkt !== null) return { wkt };
  if (!text.startsWith('{')) return { label: text };
  try {
    return areaOf(JSON.parse(text));
  } catch {
    return { label: text };
  }
};

/** GeoJSON, or the Location of DCAT-US 3.0 and JSON-LD. */
const areaOfObject = (value: Record<string, unknown>): Area => {
  const wkt = geoJsonWkt(value) ?? geometryWkt(value.geometry, value.bbox, value.centroid);
  const label = textOf(value.prefLabel ?? value.name ?? value.title ?? value.geographicIdentifier);
  return { ...(wkt === null ? {} : { wkt }), ...(label === null ? {} : { label }) };
};

/** The first of the values that is an area: one may be in a notation that is not read, such as GML. */
const geometryWkt = (...values: unknown[]): string | null => {
  for (const value of values) {
    const isBox = Array.isArray(value) && value.length === 4 && value.every((each) => typeof each === 'number');
    const wkt = isBox ? boxOf(value.map(String)) : (areaOf(value).wkt ?? wktOf(textOf(value) ?? ''));
    if (wkt !== null) return wkt;
  }
  return null;
};

/** The well-known text of a geometry without its reference system; null for any other text. */
const wktOf = (text: string): string | null => {
  const { type = 'GEOMETRYCOLLECTION' } = parseWkt(text) ?? {};
  return type === 'GEOMETRYCOLLECTION' ? null : plainWkt(text);
};

/** `west, south, east, north` as a polygon. */
const boxOf = (parts: readonly string[]): string | null => {
  const numbers = parts
    .filter((part) => part !== '')
    .map((part) => (/^[-+]?\d+(?:\.\d+)?$/.test(part) ? Number(part) : Number.NaN));
  const [west, south, east, north] = numbers;
  if (numbers.length !== 4 || west === undefined || south === undefined || east === undefined || north === undefined)
    return null;
  if (!numbers.every((number) => Number.isFinite(number))) return null;
  if (!isPosition(west, south) || !isPosition(east, north) || south > north) return null;
  if (west === east && south === north) return `POINT (${west} ${south})`;
  return `POLYGON ((${west} ${south}, ${east} ${south}, ${east} ${north}, ${west} ${north}, ${west} ${south}))`;
};

const isPosition = (longitude: number, latitude: number): boolean =>
  Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90;

/** Brackets around the positions of each GeoJSON type. */
const depths: Record<string, number> = {
  Point: 0,
  MultiPoint: 1,
  LineString: 1,
  MultiLineString: 2,
  Polygon: 2,
  MultiPolygon: 3,
};

const geoJsonWkt = (value: Record<string, unknown>): string | null => {
  const type = typeof value.type === 'string' ? value.type : '';
  if (type === 'Feature' && isObject(value.geometry)) return geoJsonWkt(value.geometry);
  if (type.toLowerCase() === 'envelope' && Array.isArray(value.coordinates)) {
    const [northWest, southEast] = value.coordinates as unknown[][]; // read as numbers below
    return boxOf([northWest?.[0], southEast?.[1], southEast?.[0], northWest?.[1]].map(String));
  }
  const depth = depths[type];
  const written = depth === undefined ? null : positions(value.coordinates, depth);
  return written === null ? null : `${type.toUpperCase()} ${depth === 0 ? `(${written})` : written}`;
};

const positions = (value: unknown, depth: number): string | null => {
  if (!Array.isArray(value)) return null;
  if (depth === 0) {
    const [longitude, latitude] = value;
    const isSound = typeof longitude === 'number' && typeof latitude === 'number' && isPosition(longitude, latitude);
    return isSound ? `${longitude} ${latitude}` : null;
  }
  const inner = value.map((item) => positions(item, depth - 1));
  return inner.length === 0 || inner.includes(null) ? null : `(${inner.join(', ')})`;
};

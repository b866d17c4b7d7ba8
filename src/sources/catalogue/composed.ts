// Dates, periods and places as catalogues write them.
import { boxWkt, isPosition, parseWkt, plainWkt } from '../../dataset-api/wkt.ts';
import { isObject } from '../../util/json.ts';
import { textOf } from './values.ts';

/** `2016`, `20161115`, `2016-11-15T14:30:48.000Z`, `11/15/2016` … as `2016-11-15` or `2016-11-15T14:30:48` (UTC). */
export const dayOf = (text: string, edge: 'begin' | 'end' = 'begin'): string | null => {
  const plain = text.trim();
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(plain);
  if (american) return realDay(american[3], american[1], american[2]);
  const [, year, month, day, rest = ''] = /^([12]\d{3})(?:-?(\d{2})(?:-?(\d{2})(.*))?)?$/s.exec(plain) ?? [];
  if (year === undefined) return null;
  if (month === undefined) return edge === 'begin' ? `${year}-01-01` : `${year}-12-31`;
  const date = realDay(year, month, day ?? '01');
  if (date === null) return null;
  if (day !== undefined) return /^(?:Z|[+-]\d{2}:?\d{2})?$/i.test(rest) ? date : timed(date, rest);
  return edge === 'begin' ? date : new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10);
};

const realDay = (year = '', month = '', day = ''): string | null => {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : null;
};

const timed = (date: string, rest: string): string | null => {
  const [, hour, minute, second = '00', zone = ''] =
    /^[T ](\d{2}):?(\d{2})(?::?(\d{2}))?(?:[.,]\d+)?\s*(Z|[+-]\d{2}:?\d{2}|[+-]\d{2})?$/i.exec(rest) ?? [];
  // `+02` and `+0200` as `+02:00`.
  const offset = zone.replace(/^([+-]\d{2}):?(\d{2})?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  const parsed = new Date(`${date}T${hour}:${minute}:${second}${offset.toUpperCase() || 'Z'}`);
  return Number.isNaN(parsed.getTime()) ? null : parsed.toISOString().slice(0, 19);
};

/** `2014-01-01/2015-01-01`, `2014/P1Y` or `2014` as a span; null for anything else, such as a period without an end. */
export const spanOf = (text: string): { from: string; to?: string } | null => {
  const [begin = '', end, ...more] = text.split('/');
  const from = dayOf(begin);
  if (from === null || more.length > 0) return null;
  const to = end?.startsWith('P') ? after(from, end) : dayOf(end ?? begin, 'end');
  if (end === undefined) return to === null || to === from ? { from } : { from, to };
  return to === null || to.slice(0, 10) < from.slice(0, 10) ? null : { from, to };
};

const after = (from: string, duration: string): string | null => {
  const [match, ...parts] = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?$/.exec(duration) ?? [];
  if (match === undefined || match === 'P') return null;
  const [years = 0, months = 0, weeks = 0, days = 0] = parts.map((part) => Number(part ?? 0));
  const date = new Date(`${from.slice(0, 10)}T00:00:00Z`);
  date.setUTCFullYear(date.getUTCFullYear() + years, date.getUTCMonth() + months);
  date.setUTCDate(date.getUTCDate() + weeks * 7 + days);
  return Number.isNaN(date.getTime()) ? null : date.toISOString().slice(0, 10);
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

const boxOf = (parts: readonly string[]): string | null => {
  const numbers = parts
    .filter((part) => part !== '')
    .map((part) => (/^[-+]?\d+(?:\.\d+)?$/.test(part) ? Number(part) : Number.NaN));
  return numbers.length === 4 ? boxWkt(numbers) : null;
};

const geoJsonWkt = ({ type, geometry, coordinates }: Record<string, unknown>): string | null => {
  if (type === 'Feature' && isObject(geometry)) return geoJsonWkt(geometry);
  if (typeof type !== 'string' || !Array.isArray(coordinates)) return null;
  if (type.toLowerCase() === 'envelope') {
    const [northWest, southEast] = coordinates as unknown[][]; // read as numbers below
    return boxOf([northWest?.[0], southEast?.[1], southEast?.[0], northWest?.[1]].map(String));
  }
  if (!/^(?:Multi)?(?:Point|LineString|Polygon)$/.test(type)) return null;
  const written = positions(coordinates);
  const wkt = `${type.toUpperCase()} ${type === 'Point' ? `(${written})` : written}`;
  return parseWkt(wkt)?.parts.flat().every(isPosition) ? wkt : null;
};

const positions = (value: unknown): string => {
  if (!Array.isArray(value)) return '';
  const position = value.slice(0, 2);
  return position.every(Number.isFinite) ? position.join(' ') : `(${value.map(positions).join(', ')})`;
};

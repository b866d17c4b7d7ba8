// Maps places of catalogues (names, boxes, GeoJSON, well-known text) to the portal's two fields.
import { isObject } from '../../util/json.ts';
import { textOf } from './values.ts';

/** An area as the friendly key `spatial` takes it. */
interface Area {
  wkt?: string;
  label?: string;
}

/** The area of a `spatial` value; an empty one where nothing is understood. */
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

/** Brackets around the positions of each kind of geometry; those of several points may have their own. */
const brackets: Record<string, readonly number[]> = {
  POINT: [1],
  LINESTRING: [1],
  POLYGON: [2],
  MULTIPOINT: [1, 2],
  MULTILINESTRING: [2],
  MULTIPOLYGON: [3],
};

/** GeoSPARQL and PostGIS put the reference system in front. */
const referenceSystem = /^(?:SRID=\d+;|<[^>]*>)\s*/i;
const number = String.raw`[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?`;
const position = new RegExp(String.raw`\s*${number}(?:\s+${number}){1,2}\s*`, 'y');
const opening = /\s*\(/y;
const closing = /\s*\)/y;
const comma = /\s*,/y;

/** The well-known text of a geometry of any size without its reference system; null for any other text. */
const wktOf = (text: string): string | null => {
  const wkt = text.trim().replace(referenceSystem, '');
  const kind = /^[a-z]+/i.exec(wkt)?.[0].toUpperCase() ?? '';
  if (kind === 'POINT' && wkt.includes(',')) return null;
  return (brackets[kind] ?? []).some((depth) => endOf(wkt, kind.length, depth) === wkt.length) ? wkt : null;
};

/** Where positions end that begin at an offset, as lists of that depth in brackets; -1 where there are none. */
const endOf = (text: string, from: number, depth: number): number => {
  if (depth === 0) return after(position, text, from);
  let at = after(opening, text, from);
  while (at !== -1) {
    at = endOf(text, at, depth - 1);
    const next = at === -1 ? -1 : after(comma, text, at);
    if (next === -1) return at === -1 ? -1 : after(closing, text, at);
    at = next;
  }
  return -1;
};

const after = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : -1;
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

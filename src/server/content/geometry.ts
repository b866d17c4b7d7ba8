// Well-known text: what kind of geometry it is, its centroid and its bounds.

/** A point as WKT writes it: x is the longitude. */
type Point = readonly [x: number, y: number];

/** What a `field_spatial` item says beside the text (recorded behaviour 8). Numbers have six significant digits. */
export interface GeometryFacts {
  geo_type: string;
  lat: string;
  lon: string;
  left: string;
  top: string;
  right: string;
  bottom: string;
}

interface Geometry {
  type: string;
  /** Rings or lines or single points. */
  parts: Point[][];
}

const types = ['POINT', 'LINESTRING', 'POLYGON', 'MULTIPOINT', 'MULTILINESTRING', 'MULTIPOLYGON', 'GEOMETRYCOLLECTION'];

const wktPattern = /^\s*(?:SRID=\d+;)?\s*([A-Z]+)\s*(\(.*\))\s*$/is;

const readPoints = (text: string): Point[] | null => {
  const points: Point[] = [];
  for (const pair of text.split(',')) {
    const numbers = pair.trim().split(/\s+/).map(Number);
    const [x, y] = numbers;
    if (x === undefined || y === undefined || numbers.length > 4 || !numbers.every(Number.isFinite)) return null;
    points.push([x, y]);
  }
  return points;
};

const isBalanced = (text: string): boolean => {
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
};

const splitCollection = (body: string): string[] => {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [index, char] of [...body].entries()) {
    if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    else if (char === ',' && depth === 0) {
      parts.push(body.slice(start, index));
      start = index + 1;
    }
  }
  return [...parts, body.slice(start)];
};

const readGeometry = (text: string, depth: number): Geometry | null => {
  const match = wktPattern.exec(text);
  const type = match?.[1]?.toUpperCase();
  const body = match?.[2];
  if (type === undefined || body === undefined || !types.includes(type) || !isBalanced(body) || depth > 8) return null;
  if (type === 'GEOMETRYCOLLECTION') {
    const members = splitCollection(body.slice(1, -1)).map((one) => readGeometry(one, depth + 1));
    if (members.some((one) => one === null)) return null;
    return { type, parts: members.flatMap((one) => one?.parts ?? []) };
  }
  const parts: Point[][] = [];
  for (const inner of body.match(/[^()]+/g) ?? []) {
    if (/^[\s,]*$/.test(inner)) continue;
    const points = readPoints(inner);
    if (points === null) return null;
    parts.push(points);
  }
  return parts.length === 0 ? null : { type, parts };
};

/** Area (signed, doubled) and first moments of a ring. */
const ringMoments = (ring: Point[]): { area: number; x: number; y: number } => {
  let area = 0;
  let x = 0;
  let y = 0;
  for (const [index, [x1, y1]] of ring.entries()) {
    const [x2, y2] = ring[(index + 1) % ring.length] ?? [x1, y1];
    const cross = x1 * y2 - x2 * y1;
    area += cross;
    x += (x1 + x2) * cross;
    y += (y1 + y2) * cross;
  }
  return { area, x, y };
};

const mean = (points: Point[]): Point => [
  points.reduce((sum, [x]) => sum + x, 0) / points.length,
  points.reduce((sum, [, y]) => sum + y, 0) / points.length,
];

const lineCentroid = (lines: Point[][]): Point => {
  let length = 0;
  let x = 0;
  let y = 0;
  for (const line of lines) {
    for (const [index, [x1, y1]] of line.entries()) {
      const next = line[index + 1];
      if (next === undefined) break;
      const [x2, y2] = next;
      const piece = Math.hypot(x2 - x1, y2 - y1);
      length += piece;
      x += ((x1 + x2) / 2) * piece;
      y += ((y1 + y2) / 2) * piece;
    }
  }
  return length === 0 ? mean(lines.flat()) : [x / length, y / length];
};

const areaCentroid = (rings: Point[][]): Point => {
  let area = 0;
  let x = 0;
  let y = 0;
  for (const ring of rings) {
    const moments = ringMoments(ring);
    area += moments.area;
    x += moments.x;
    y += moments.y;
  }
  return area === 0 ? mean(rings.flat()) : [x / (3 * area), y / (3 * area)];
};

const centroidOf = ({ type, parts }: Geometry): Point => {
  if (type === 'POLYGON' || type === 'MULTIPOLYGON') return areaCentroid(parts);
  if (type === 'LINESTRING' || type === 'MULTILINESTRING') return lineCentroid(parts);
  return mean(parts.flat());
};

const six = (value: number): string => String(Number(value.toPrecision(6)));

/** The facts of a WKT geometry (longitude first), or null when the text is none. */
export const readWkt = (text: string): GeometryFacts | null => {
  const geometry = readGeometry(text, 0);
  if (geometry === null) return null;
  const points = geometry.parts.flat();
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const least = (values: number[]): number => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values: number[]): number => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const [lon, lat] = centroidOf(geometry);
  return {
    geo_type: geometry.type.toLowerCase(),
    lat: six(lat),
    lon: six(lon),
    left: six(least(xs)),
    top: six(most(ys)),
    right: six(most(xs)),
    bottom: six(least(ys)),
  };
};

// The centroid and the bounds of a geometry in well-known text.
import { type Geometry, type Point, parseWkt } from '../../dataset-api/wkt.ts';

/** Longest text that is read, in characters. */
const longestWkt = 1_000_000;

/** What a `field_spatial` item says beside the text (recorded behaviour 8). Numbers have six significant digits. */
interface GeometryFacts {
  geo_type: string;
  lat: string;
  lon: string;
  left: string;
  top: string;
  right: string;
  bottom: string;
}

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

/** The facts of a WKT geometry (longitude first), or null when the text is none or longer than a million characters. */
export const readWkt = (text: string): GeometryFacts | null => {
  const geometry = text.length > longestWkt ? null : parseWkt(text);
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

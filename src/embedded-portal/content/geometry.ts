// The centroid and the bounds of a geometry in well-known text.
import { type Point, parseWkt } from '../../dataset-api/wkt.ts';

const longestWkt = 1_000_000;

/** A piece of a line or ring: its weight, and how far the sum of its ends is from its centre. */
type Weigh = (a: Point, b: Point) => number;

/** The centre of pieces by their weights; the mean of all points where these come to nothing. */
const centre = (lines: Point[][], { weigh, share }: { weigh: Weigh; share: number }): Point => {
  let [total, x, y] = [0, 0, 0];
  for (const line of lines) {
    for (const [index, a] of line.entries()) {
      const b = line[index + 1] ?? a;
      const weight = weigh(a, b);
      total += weight;
      x += (a[0] + b[0]) * weight * share;
      y += (a[1] + b[1]) * weight * share;
    }
  }
  return total === 0 ? mean(lines.flat()) : [x / total, y / total];
};

const mean = (points: Point[]): Point => [
  points.reduce((sum, [x]) => sum + x, 0) / points.length,
  points.reduce((sum, [, y]) => sum + y, 0) / points.length,
];

const length: Weigh = ([x1, y1], [x2, y2]) => Math.hypot(x2 - x1, y2 - y1);
const area: Weigh = ([x1, y1], [x2, y2]) => x1 * y2 - x2 * y1;

const centroidOf = (type: string, parts: Point[][]): Point => {
  if (type.endsWith('POLYGON')) {
    const rings = parts.map((ring) => [...ring, ...ring.slice(0, 1)]);
    return centre(rings, { weigh: area, share: 1 / 3 });
  }
  return type.endsWith('LINESTRING') ? centre(parts, { weigh: length, share: 1 / 2 }) : mean(parts.flat());
};

const six = (value: number): string => String(Number(value.toPrecision(6)));

/** What a `field_spatial` item shows beside its text, to six digits (recorded behaviour 8); null: no WKT, or too long. */
export const readWkt = (text: string) => {
  const geometry = text.length > longestWkt ? null : parseWkt(text);
  if (geometry === null) return null;
  const { type, parts } = geometry;
  const [xs, ys] = [0, 1].map((axis) => parts.flat().map((point) => point[axis] ?? 0)) as [number[], number[]]; // two axes
  const least = (values: number[]): string => six(values.reduce((a, b) => Math.min(a, b)));
  const most = (values: number[]): string => six(values.reduce((a, b) => Math.max(a, b)));
  const [lon, lat] = centroidOf(type, parts);
  const bounds = { left: least(xs), top: most(ys), right: most(xs), bottom: least(ys) };
  return { geo_type: type.toLowerCase(), lat: six(lat), lon: six(lon), ...bounds };
};

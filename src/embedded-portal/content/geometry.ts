// Well-known text, parsed in one pass: the kind of geometry, its centroid and its bounds.

/** A point as WKT writes it: x is the longitude. */
type Point = readonly [x: number, y: number];

/** A geometry; `parts` are its rings, lines or single points. */
interface Geometry {
  type: string;
  parts: Point[][];
}

/** Longest text that is read, in characters. */
const longestWkt = 1_000_000;

const deepest = 8;

const types = new Set([
  'POINT',
  'LINESTRING',
  'POLYGON',
  'MULTIPOINT',
  'MULTILINESTRING',
  'MULTIPOLYGON',
  'GEOMETRYCOLLECTION',
]);

// Sticky, and no two neighbouring parts can match the same character: no text makes them backtrack.
const blanks = /\s*/y;
const word = /[A-Za-z]{1,20}/y;
const srid = /SRID=\d{1,9};/iy;
const decimal = /[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?(?![\w.+-])/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    this.take(blanks);
    return this.#at === this.#text.length;
  }

  /** The text that the pattern matches here, or null; moves behind it. */
  take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  /** True when the character is here, blanks before it aside; moves behind it. */
  takeMark(mark: '(' | ')' | ','): boolean {
    this.take(blanks);
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }
}

/** `x y`, with up to two further numbers that are not used. */
const readPoint = (reader: Reader): Point | null => {
  const numbers: number[] = [];
  for (;;) {
    reader.take(blanks);
    const text = reader.take(decimal);
    if (text === null) break;
    numbers.push(Number(text));
  }
  const [x, y] = numbers;
  if (x === undefined || y === undefined || numbers.length > 4 || !numbers.every(Number.isFinite)) return null;
  return [x, y];
};

/** Repeats `one` over a list in brackets parted by commas; false when the list is not sound. */
const readList = (reader: Reader, one: () => boolean): boolean => {
  do {
    if (!one()) return false;
  } while (reader.takeMark(','));
  return reader.takeMark(')');
};

/** What is behind an opening bracket: points, or further brackets. */
const readParts = (reader: Reader, parts: Point[][], depth: number): boolean => {
  if (depth > deepest) return false;
  const line: Point[] = [];
  const isSound = readList(reader, () => {
    if (reader.takeMark('(')) return readParts(reader, parts, depth + 1);
    const point = readPoint(reader);
    if (point !== null) line.push(point);
    return point !== null;
  });
  if (line.length > 0) parts.push(line);
  return isSound;
};

const readGeometry = (reader: Reader, parts: Point[][], depth: number): string | null => {
  reader.take(blanks);
  const type = reader.take(word)?.toUpperCase() ?? '';
  if (!types.has(type) || depth > deepest || !reader.takeMark('(')) return null;
  const isSound =
    type === 'GEOMETRYCOLLECTION'
      ? readList(reader, () => readGeometry(reader, parts, depth + 1) !== null)
      : readParts(reader, parts, 0);
  return isSound ? type : null;
};

/** The geometry in a text such as `POINT (10 20)` or `SRID=4326;POLYGON ((…))`; null when it holds none, or is too long. */
const parseWkt = (text: string): Geometry | null => {
  if (text.length > longestWkt) return null;
  const reader = new Reader(text);
  reader.take(blanks);
  reader.take(srid);
  const parts: Point[][] = [];
  const type = readGeometry(reader, parts, 0);
  return type !== null && reader.atEnd ? { type, parts } : null;
};

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
  const geometry = parseWkt(text);
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

// Well-known text of geometries, parsed in one pass.

/** A point as WKT writes it: x is the longitude. */
export type Point = readonly [x: number, y: number];

/** A geometry, its type in capitals; `parts` are its rings, lines or lists of points, `text` is all of it in one notation. */
type Geometry = { type: string; parts: Point[][]; text: string };

/** Brackets around the points of each kind of geometry. */
const brackets = new Map(
  Object.entries({ POINT: 1, LINESTRING: 1, POLYGON: 2, MULTIPOINT: 1, MULTILINESTRING: 2, MULTIPOLYGON: 3 }),
);

/** Collections inside each other. */
const deepest = 8;

/** A mark, a word or a number. Sticky, and no two neighbouring parts match the same character: nothing backtracks. */
const token =
  /\s*([(),]|[A-Za-z]{1,20}|[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?(?![\w.+-])|$)/y;

/** The text of a geometry without its reference system, which GeoSPARQL and PostGIS put in front. */
export const plainWkt = (text: string): string => text.replace(/^\s*(?:SRID=\d{1,9};|<[^>]*>)\s*/i, '').trim();

/** The geometry in a text such as `POINT (10 20)` or `SRID=4326;POLYGON ((…))`; null when it holds none. */
export const parseWkt = (text: string): Geometry | null => {
  const plain = plainWkt(text);
  const parts: Point[][] = [];
  const tokens: (string | number)[] = [];
  /** The next token; '' at the end, null for what is none. */
  let next = null as string | null;
  let end = 0;

  /** Moves on; returns the token that was the next one. */
  const advance = (): string | null => {
    const before = next;
    if (before) tokens.push(/[\d.]/.test(before) ? Number(before) : before.toUpperCase());
    token.lastIndex = end;
    next = token.exec(plain)?.[1] ?? null;
    end = token.lastIndex;
    return before;
  };
  const take = (mark: string): boolean => next === mark && advance() !== null;

  /** Repeats `one` over a list in brackets, separated by commas; false when the list is not sound. */
  const list = (one: () => boolean): boolean => {
    if (!take('(')) return false;
    do if (!one()) return false;
    while (take(','));
    return take(')');
  };

  /** `x y`, with up to two further numbers that are not used. */
  const point = (part: Point[]): boolean => {
    const numbers: number[] = [];
    while (next && /[\d.]/.test(next)) numbers.push(Number(advance()));
    const [x, y] = numbers;
    if (x === undefined || y === undefined || numbers.length > 4 || !numbers.every(Number.isFinite)) return false;
    part.push([x, y]);
    return true;
  };
  const points = (type: string, levels: number): boolean => {
    if (levels > 1) return list(() => points(type, levels - 1));
    const part: Point[] = [];
    parts.push(part);
    const isSound = list(() => {
      const isBracketed = type === 'MULTIPOINT' && take('(');
      if (isBracketed) tokens.pop(); // it may be left out
      if (!point(part) || (isBracketed && !take(')'))) return false;
      if (isBracketed) tokens.pop();
      return true;
    });
    return isSound && (type !== 'POINT' || part.length === 1);
  };

  /** The kind of the geometry that begins here; null for none. */
  const geometry = (depth: number): string | null => {
    const type = advance()?.toUpperCase() ?? '';
    if (type === 'GEOMETRYCOLLECTION' && depth < deepest) return list(() => geometry(depth + 1) !== null) ? type : null;
    const levels = brackets.get(type);
    return levels !== undefined && points(type, levels) ? type : null;
  };

  advance();
  const type = geometry(0);
  return type !== null && next === '' ? { type, parts, text: tokens.join(' ') } : null;
};

/** True for a longitude and latitude, degrees. */
export const isPosition = ([longitude, latitude]: readonly [number, number]): boolean =>
  Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90;

/** The box between two corners (degrees), or the point where they are the same; null where they are none. */
export const boxWkt = ([west = NaN, south = NaN, east = NaN, north = NaN]: readonly number[]): string | null => {
  if (!isPosition([west, south]) || !isPosition([east, north]) || south > north) return null;
  if (west === east && south === north) return `POINT (${west} ${south})`;
  return `POLYGON ((${west} ${south}, ${east} ${south}, ${east} ${north}, ${west} ${north}, ${west} ${south}))`;
};

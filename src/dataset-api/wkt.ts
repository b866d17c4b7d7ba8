// Well-known text of geometries, parsed in one pass.

/** A point as WKT writes it: x is the longitude. */
export type Point = readonly [x: number, y: number];

/** A geometry, its type in capitals; `parts` are its rings, lines or lists of points, `text` is all of it in one notation. */
type Geometry = { type: string; parts: Point[][]; text: string };

/** Brackets around the points of each kind of geometry. */
const brackets: Record<string, number> = {
  POINT: 1,
  LINESTRING: 1,
  POLYGON: 2,
  MULTIPOINT: 1,
  MULTILINESTRING: 2,
  MULTIPOLYGON: 3,
};

/** Collections inside each other. */
const deepest = 8;

/** GeoSPARQL and PostGIS put the reference system in front. */
const referenceSystem = /^\s*(?:SRID=\d{1,9};|<[^>]*>)\s*/i;

/** A mark, a word or a number. Sticky, and no two neighbouring parts match the same character: nothing backtracks. */
const token =
  /\s*([(),]|[A-Za-z]{1,20}|[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?(?![\w.+-])|$)/y;

/** The text of a geometry without its reference system. */
export const plainWkt = (text: string): string => text.replace(referenceSystem, '').trim();

/** The geometry in a text such as `POINT (10 20)` or `SRID=4326;POLYGON ((…))`; null when it holds none. */
export const parseWkt = (text: string): Geometry | null => {
  const reader = new Reader(plainWkt(text));
  const type = reader.geometry(0);
  return type !== null && reader.isAtEnd ? { type, parts: reader.parts, text: reader.tokens.join(' ') } : null;
};

class Reader {
  readonly parts: Point[][] = [];
  readonly tokens: (string | number)[] = [];
  readonly #text: string;
  #at = 0;
  /** The next token; '' at the end, null for what is none. */
  #next: string | null = null;

  constructor(text: string) {
    this.#text = text;
    this.#advance();
  }

  get isAtEnd(): boolean {
    return this.#next === '';
  }

  /** The kind of the geometry that begins here; null for none. */
  geometry(depth: number): string | null {
    const type = this.#advance()?.toUpperCase() ?? '';
    if (type === 'GEOMETRYCOLLECTION' && depth < deepest)
      return this.#list(() => this.geometry(depth + 1) !== null) ? type : null;
    const levels = Object.hasOwn(brackets, type) ? brackets[type] : undefined;
    return levels !== undefined && this.#points(type, levels) ? type : null;
  }

  #points(type: string, levels: number): boolean {
    if (levels > 1) return this.#list(() => this.#points(type, levels - 1));
    const part: Point[] = [];
    const isSound = this.#list(() => {
      const isBracketed = type === 'MULTIPOINT' && this.#take('(');
      if (isBracketed) this.tokens.pop(); // it may be left out
      const point = this.#point();
      if (point !== null) part.push(point);
      const isClosed = !isBracketed || this.#take(')');
      if (isBracketed) this.tokens.pop();
      return point !== null && isClosed;
    });
    this.parts.push(part);
    return isSound && (type !== 'POINT' || part.length === 1);
  }

  /** `x y`, with up to two further numbers that are not used. */
  #point(): Point | null {
    const numbers: number[] = [];
    while (this.#next && /[\d.]/.test(this.#next)) numbers.push(Number(this.#advance()));
    const [x, y] = numbers;
    if (x === undefined || y === undefined || numbers.length > 4 || !numbers.every(Number.isFinite)) return null;
    return [x, y];
  }

  /** Repeats `one` over a list in brackets, separated by commas; false when the list is not sound. */
  #list(one: () => boolean): boolean {
    if (!this.#take('(')) return false;
    do if (!one()) return false;
    while (this.#take(','));
    return this.#take(')');
  }

  #take(mark: string): boolean {
    if (this.#next !== mark) return false;
    this.#advance();
    return true;
  }

  /** Moves on; returns the token that was the next one. */
  #advance(): string | null {
    const before = this.#next;
    if (before) this.tokens.push(/[\d.]/.test(before) ? Number(before) : before.toUpperCase());
    token.lastIndex = this.#at;
    this.#next = token.exec(this.#text)?.[1] ?? null;
    this.#at = token.lastIndex;
    return before;
  }
}

// How a table is written down, told from the first bytes of its file: delimiter, quotes, and where the header stands.
import { has, quoteFaults } from './byte-class.ts';
import { CellScanner } from './cell-scanner.ts';
import { type Delimiter, delimiters, rfc4180, type TableDialect } from './dialect.ts';
import { kindNumber, kindOf } from './value-kind.ts';

/** What was found. */
export interface Layout {
  dialect: TableDialect & { delimiter: Delimiter };
  /** Rows above the header, blank lines not counted. */
  titleRows: number;
}

/** What is looked at in one row of the head. */
interface HeadRow {
  line: number;
  cells: number;
  filled: number;
  /** True when a quote stands where none may. */
  faulty: boolean;
  /** True when every cell stands in quotes. */
  quoted: boolean;
  /** True when the first cell has text with a space, or begins with `#`. */
  prose: boolean;
  /** True when every cell that is filled is text; not looked at below the rows that may be the header. */
  textual: boolean;
}

const mostTitleRows = 20;

const textKind = kindNumber('text');
const sharp = 0x23;

const headRow = (scanner: CellScanner, row: number, mayBeHeader: boolean): HeadRow => {
  const { bytes, starts, ends, marks, rowCells, rowLines } = scanner;
  const [first, end] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
  const firstMark = marks[first] ?? 0;
  const firstBegins = bytes[starts[first] ?? 0];
  const facts: HeadRow = {
    line: rowLines[row] ?? 1,
    cells: end - first,
    filled: 0,
    faulty: false,
    quoted: true,
    prose: ((firstMark & has.space) !== 0 && (firstMark & (has.text | has.high)) !== 0) || firstBegins === sharp,
    textual: true,
  };
  for (let cell = first; cell < end; cell++) {
    const [start, stop, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
    if ((mark & quoteFaults) !== 0) facts.faulty = true;
    if ((mark & has.quotes) === 0) facts.quoted = false;
    if (start === stop) continue;
    facts.filled += 1;
    if (mayBeHeader && kindOf(bytes, start, stop, mark) !== textKind) facts.textual = false;
  }
  return facts;
};

const headRows = (head: Buffer, dialect: TableDialect, whole: boolean): HeadRow[] => {
  const scanner = new CellScanner(dialect, head.length + 1);
  const rows: HeadRow[] = [];
  const take = (): void => {
    for (let row = 0; row < scanner.rows; row++) rows.push(headRow(scanner, row, rows.length <= mostTitleRows));
  };
  scanner.feed(head);
  take();
  if (whole || rows.length === 0) {
    scanner.finish();
    take();
  }
  scanner.release();
  return rows;
};

/**
 * How well a reading explains the rows from `skip` on: the share with as many cells as the first of them, 0 for one cell.
 * Faults of quoting tell readings apart where the table begins at once, not where titles are looked for.
 */
interface Fit {
  dialect: TableDialect & { delimiter: Delimiter };
  rows: HeadRow[];
  share: number;
  width: number;
}

const oneRowShare = 0.5;

const fitOf = (dialect: Fit['dialect'], rows: HeadRow[], skip: number): Fit => {
  const width = rows[skip]?.cells ?? 0;
  const equal = rows.slice(skip).filter(({ cells, faulty }) => cells === width && (!faulty || skip > 0)).length;
  // One row agrees with itself, which says nothing.
  const share = rows.length - skip === 1 ? oneRowShare : equal / (rows.length - skip);
  return { dialect, rows, share: width < 2 ? 0 : share, width };
};

const better = (best: Fit, fit: Fit): Fit => {
  if (fit.share !== best.share) return fit.share > best.share ? fit : best;
  return fit.width > best.width ? fit : best;
};

const isQuotedThroughout = ({ rows }: Fit): boolean => rows.length > 0 && rows.every(({ quoted }) => quoted);

/** Another way of quoting must explain more than the usual one, or every cell. */
const betterQuoting = (usual: Fit, other: Fit): Fit => {
  if (other.share !== usual.share) return other.share > usual.share ? other : usual;
  return isQuotedThroughout(other) && !isQuotedThroughout(usual) ? other : usual;
};

/** From this share on, the rows are taken for the table although titles may stand above. */
const [goodShare, titledShare] = [0.5, 0.6];

/** True when the rows before `skip` look like titles above a table of this width. */
const areTitles = ({ rows, width }: Fit, skip: number): boolean => {
  const [above, header] = [rows.slice(0, skip), rows[skip]];
  if (header === undefined || header.filled < Math.max(2, width / 2) || rows.length - skip < 2) return false;
  if (above.some(({ cells, filled }) => cells >= width || filled > Math.max(1, width / 2))) return false;
  const apart = header.line > (above.at(-1)?.line ?? 0) + 1;
  return width > 2 || apart || above.every(({ prose }) => prose && skip > 1);
};

/** Rows with one text and otherwise empty cells above a full row of text. */
const paddedTitles = (rows: HeadRow[]): number => {
  const width = rows[0]?.cells ?? 0;
  if (width < 3) return 0;
  const header = rows.findIndex(({ cells, filled }) => cells === width && filled >= width * 0.7);
  if (header < 1 || header > mostTitleRows || rows[header]?.textual !== true) return 0;
  return rows.slice(0, header).every(({ filled, prose, cells }) => filled === 1 && prose && cells === width)
    ? header
    : 0;
};

const withTitles = (readings: Fit[]): { fit: Fit; titleRows: number } | null => {
  for (let skip = 1; skip <= mostTitleRows; skip++) {
    const fits = readings.map(({ dialect, rows }) => fitOf(dialect, rows, skip));
    const fit = fits
      .filter((one) => one.share >= titledShare && areTitles(one, skip))
      .reduce<Fit | null>((best, one) => (best === null ? one : better(best, one)), null);
    if (fit !== null) return { fit, titleRows: skip };
  }
  return null;
};

const nothing = (): Fit => ({ dialect: { ...rfc4180, delimiter: ',' }, rows: [], share: 0, width: 0 });

/** Other ways of quoting, looked at only where the bytes hold a sign of them. */
const quotings = (head: Buffer): Pick<TableDialect, 'quote' | 'escape'>[] => [
  { quote: '"', escape: '"' },
  ...(head.includes('\\"') ? [{ quote: '"', escape: '\\' }] : []),
  ...(head.includes("'") ? [{ quote: "'", escape: "'" }] : []),
  ...(head.includes("\\'") ? [{ quote: "'", escape: '\\' }] : []),
];

/** `sep=;`, the line by which Excel is told the delimiter. */
const separatorLine = /^sep=([,;\t|])\r?\n/i;

/**
 * Looks at the first bytes of a table without a byte order mark; `whole` when they are all of it. The reading that gives
 * most rows as many cells as the header wins; of equals the one with more cells, then comma, semicolon, tab,
 * vertical bar. Quotes are double ones, written twice inside, unless another way explains more rows or quotes every cell. A table of one column counts as comma. Titles above the header are seen where the rows below
 * agree on a larger number of cells.
 */
export const findLayout = (head: Buffer, whole: boolean, given?: Delimiter): Layout => {
  const separator = separatorLine.exec(head.toString('latin1', 0, 8))?.[1];
  if (separator !== undefined && given === undefined) {
    const below = findLayout(head.subarray(head.indexOf(0x0a) + 1), whole, separator as Delimiter); // one of the pattern's
    return { ...below, titleRows: below.titleRows + 1 };
  }
  // A separator that stands nowhere explains nothing.
  const candidates = given === undefined ? delimiters.filter((delimiter) => head.includes(delimiter)) : [given];
  const read = ({ quote, escape: by }: Pick<TableDialect, 'quote' | 'escape'>): Fit[] =>
    candidates.map((delimiter) => {
      const dialect = { ...rfc4180, quote, escape: by, delimiter };
      return fitOf(dialect, headRows(head, dialect, whole), 0);
    });
  const [plain = [], ...others] = quotings(head).map(read);
  const best = [plain, ...others].map((fits) => fits.reduce(better, nothing())).reduce(betterQuoting);
  if (best.share >= goodShare) return { dialect: best.dialect, titleRows: paddedTitles(best.rows) };
  const titled = withTitles([plain, ...others].flat());
  if (titled !== null) return { dialect: titled.fit.dialect, titleRows: titled.titleRows };
  return { dialect: best.share > 0 ? best.dialect : { ...rfc4180, delimiter: given ?? ',' }, titleRows: 0 };
};

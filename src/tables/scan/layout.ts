// Detects the layout of a table from the first bytes of its file: delimiter, quotes, and the line of the header.
import { delimiters, type LayoutCandidate, rfc4180, type TableDialect } from './dialect.ts';
import { type Division, divisionOf } from './division.ts';
import {
  cellBegin,
  type HeadRow,
  headRows,
  isBelowBlank,
  isNamed,
  isRecord,
  mayBeHeader,
  mayBeTitle,
} from './head-rows.ts';

export interface Layout {
  dialect: TableDialect;
  titleRows: number;
  /** Where the bytes are ambiguous: the ways to read the table, this one included. */
  candidates?: LayoutCandidate[];
  /** True when the first row is a record like all others: there is no header. */
  headerless?: boolean;
  /** Of a file that no delimiter divides into cells: what its lines look divided by all the same. */
  division?: Division;
}

interface KnownLayout {
  delimiter?: string | undefined;
  isHeader?: boolean;
}

const mostTitleRows = 20;

interface Reading {
  dialect: TableDialect;
  rows: HeadRow[];
}

/** How well a reading explains the rows from `skip` on: the share that has as many cells as the first of them, 0 for one cell. */
interface Fit extends Reading {
  skip: number;
  share: number;
  width: number;
  /** True where the rows below agree among themselves on another number of cells than the header has. */
  isApart: boolean;
}

/** What a single row, a row with faults of quoting, and a header that is at odds with all rows below count for a reading. */
const [oneRowShare, faultyShare, apartShare] = [0.5, 0.8, 0.6];

/** True for a row with as many cells as the header, surplus delimiters at the end of either not counted. */
const isWhole = ({ cells, tail }: HeadRow, header: HeadRow): boolean =>
  cells > header.cells ? cells - tail <= header.cells : cells >= header.cells - (header.filled < 2 ? 0 : header.tail);

const fitOf = ({ dialect, rows }: Reading, skip: number): Fit => {
  const [header, ...below] = rows.slice(skip);
  if (header === undefined || header.cells < 2)
    return { dialect, rows, skip, share: 0, width: header?.cells ?? 0, isApart: false };
  const worth = ({ faulty }: HeadRow): number => (faulty ? faultyShare : 1);
  const equal = [header, ...below.filter((row) => isWhole(row, header))].reduce((sum, row) => sum + worth(row), 0);
  // One row agrees with itself, which says nothing.
  const share = below.length === 0 ? Math.min(oneRowShare, equal) : equal / (below.length + 1);
  const isApart = header.filled > 1 && agree(below) && !below.every((row) => isWhole(row, header));
  return { dialect, rows, skip, share: isApart ? Math.max(share, apartShare) : share, width: header.cells, isApart };
};

/** True for rows that have several cells, and nearly all of them the same number. */
const agree = (rows: HeadRow[]): boolean => {
  const cells = rows[0]?.cells ?? 0;
  return rows.length > 1 && cells > 1 && rows.filter((row) => row.cells === cells).length > rows.length * clearShare;
};

const better = (best: Fit, fit: Fit): Fit => {
  if (fit.share !== best.share) return fit.share > best.share ? fit : best;
  return fit.width > best.width ? fit : best;
};

/** The rows of the table itself: those below that have as many cells as the header, and are no title or note among them. */
const bodyOf = ({ rows, skip, width }: Fit): HeadRow[] =>
  rows.slice(skip).filter(({ cells, filled, quoted }) => cells === width && (filled > 1 || quoted === cells));

const isQuotedThroughout = (fit: Fit): boolean => {
  const body = bodyOf(fit);
  return body.length > 0 && body.every(({ quoted, cells }) => quoted === cells);
};

/** Another way of quoting must explain more rows than the usual one, or quote every cell, without faults of its own. */
const betterQuoting = (usual: Fit, other: Fit): Fit => {
  if (isLiteral(other)) return isBetterLiteral(usual, other) ? other : usual;
  if (other.dialect.quote === "'" && !isPaired(other)) return usual;
  if (other.share !== usual.share) return other.share > usual.share ? other : usual;
  return isQuotedThroughout(other) && !isQuotedThroughout(usual) ? other : usual;
};

const isLiteral = ({ dialect }: Reading): boolean => dialect.quote === '';

/** Apostrophes are quotes where they pair up wherever they are at the start of a cell. */
const isPaired = (fit: Fit): boolean =>
  bodyOf(fit).some(({ quoted }) => quoted > 0) && fit.rows.every(({ faulty }) => !faulty);

/** Quotes are text where they are at fault as quotes, every row is whole without them, and most of them enclose no cell. */
const isBetterLiteral = (usual: Fit, other: Fit): boolean => {
  if (other.share < 1 || !usual.rows.some(({ faulty }) => faulty)) return false;
  const enclosed = usual.rows.filter(({ quoted, faulty }) => quoted > 0 && !faulty).length;
  return enclosed < usual.rows.filter(({ faulty }) => faulty).length;
};

/** Shares from which on the rows are the table: from the first row on, and below titles. */
const [goodShare, titledShare] = [0.5, 0.6];

/** True when the rows before the header may be titles above a table of this width. */
const mayBeTitles = ({ rows, width, skip }: Fit): boolean => {
  const [above, header] = [rows.slice(0, skip), rows[skip]];
  if (header === undefined || header.filled < Math.max(2, width / 2) || rows.length - skip < 2) return false;
  return above.every(({ cells, filled, sharp }) => sharp || (cells < width && filled <= Math.max(1, width / 2)));
};

/** True when such rows are certainly titles, and no table of one column begins above. */
const areTitles = (fit: Fit): boolean => {
  const { rows, skip } = fit;
  const above = rows.slice(0, skip);
  const areSingle = above.every(({ filled }) => filled < 2);
  if ((areSingle && (rows[skip]?.filled ?? 0) > 2) || above.every(({ sharp }) => sharp)) return true;
  return isBelowBlank(rows, skip) || isNamed(rows, skip);
};

/** Rows above the header that have as many cells as the table: how many, and whether that is certain. */
const paddedTitles = ({ rows, width }: Fit): { titleRows: number; isSure: boolean } => {
  const none = { titleRows: 0, isSure: true };
  const at = rows.findIndex(({ cells, filled }) => cells === width && filled > width / 2);
  const [header, above] = [rows[at], rows.slice(0, at)];
  if (header === undefined || at < 1 || at > mostTitleRows || !mayBeHeader(header)) return none;
  if (!above.every(({ filled, cells }) => filled < 2 && cells <= width)) return none;
  const isSure =
    isNamed(rows, at) || (width > 2 && (above.some(({ filled }) => filled === 0) || above.every(({ prose }) => prose)));
  return { titleRows: at, isSure };
};

/** Lines of comment above the header, which may be the last of them. */
const commentRows = ({ rows }: Fit): { titleRows: number; isSure: boolean } => {
  const at = rows.findIndex(({ sharp }) => !sharp);
  if (at < 1 || at > mostTitleRows) return { titleRows: 0, isSure: true };
  if (rows[at - 1]?.cells !== rows[at]?.cells || isNamed(rows, at)) return { titleRows: at, isSure: true };
  return { titleRows: at - 1, isSure: isRecord(rows, at, 3) };
};

/** The rows from number `fit.skip` on as a table below titles. */
interface Titled {
  fit: Fit;
  isSure: boolean;
  rival: Fit | undefined;
}

const withTitles = (byQuoting: Reading[][]): Titled | null => {
  for (let skip = 1; skip <= mostTitleRows; skip++) {
    const best = byQuoting.flatMap((readings) => {
      const fits = readings.map((reading) => fitOf(reading, skip));
      const [first, ...others] = fits.filter((fit) => fit.share >= titledShare && mayBeTitles(fit));
      return first === undefined ? [] : [others.reduce(better, first)];
    });
    const [usual, ...others] = best;
    if (usual === undefined) continue;
    const fit = others.reduce(betterQuoting, usual);
    const usualFits = (byQuoting[0] ?? []).map((reading) => fitOf(reading, skip));
    return { fit, isSure: areTitles(fit), rival: rivalOf(fit, usualFits) ?? laterRival(fit, byQuoting[0] ?? []) };
  }
  return null;
};

const nothing: Fit = { dialect: rfc4180, rows: [], skip: 0, share: 0, width: 0, isApart: false };

/** The ways of quoting to try: the usual one, and others of which the bytes hold a sign. */
const quotings = (head: Buffer): Pick<TableDialect, 'quote' | 'escape'>[] => [
  { quote: '"', escape: '"' },
  ...(head.includes('\\"') ? [{ quote: '"', escape: '\\' }] : []),
  ...(head.includes("'") ? [{ quote: "'", escape: "'" }] : []),
  ...(head.includes("\\'") ? [{ quote: "'", escape: '\\' }] : []),
  ...(head.includes('\t') && head.includes('"') ? [{ quote: '', escape: '' }] : []),
];

/** `sep=;`, the line that names the delimiter for Excel. */
const separatorLine = /^sep=([,;\t|])\r?\n/i;

const candidateOf = ({ dialect, rows }: Reading, at: number): LayoutCandidate => {
  const row = rows[at];
  const header = row?.kinds.map((_, column) => cellBegin(row, column)) ?? [];
  return { delimiter: dialect.delimiter, skipRows: (row?.line ?? 1) - 1, header };
};

/** A reading by another delimiter that explains the rows as well, or all but the header; no text contains tabs. */
const rivalOf = (best: Fit, fits: Fit[]): Fit | undefined => {
  if (best.dialect.delimiter === '\t' || best.rows.length < 2) return undefined;
  return fits.find(
    ({ dialect, share, isApart }) => dialect.delimiter !== best.dialect.delimiter && (share > clearShare || isApart),
  );
};

const clearShare = 0.95;

/**
 * A reading by another delimiter that divides all rows but the first ones: by a tab, or where the header of `best` is
 * written like a text; or below a blank line or with a proven header, unless that of `best` is proven.
 */
const laterRival = (best: Fit, readings: Reading[]): Fit | undefined => {
  if (best.dialect.delimiter === '\t') return undefined;
  const header = best.rows[best.skip];
  const isText = header?.kinds.slice(1).every((_, at) => cellBegin(header, at + 1).startsWith(' ')) ?? false;
  const isProven = isNamed(best.rows, best.skip);
  return readings.map(titledFit).find((fit): fit is Fit => {
    if (fit === undefined || fit.skip <= best.skip) return false;
    if (fit.dialect.delimiter === best.dialect.delimiter || fit.share <= clearShare) return false;
    if (fit.dialect.delimiter === '\t' || isText) return true;
    if (isProven) return false;
    return isBelowBlank(fit.rows, fit.skip) || isNamed(fit.rows, fit.skip);
  });
};

/** How well a reading explains the rows from the first one on that it divides; undefined where that is the first of all. */
const titledFit = (reading: Reading): Fit | undefined => {
  const skip = reading.rows.findIndex(({ cells }) => cells > 1);
  return skip < 1 || skip > mostTitleRows || reading.rows.length < skip + 2 ? undefined : fitOf(reading, skip);
};

/**
 * Detects the layout from the first bytes of a table, without a byte order mark; `whole` when they are all of it. The
 * reading that gives most rows as many cells as the header wins; of equals the one with more cells, then tab, comma,
 * semicolon, vertical bar. A table of one column counts as comma. An ambiguous layout comes with candidates.
 */
export const findLayout = (
  head: Buffer,
  whole: boolean,
  { delimiter: given, isHeader = false }: KnownLayout = {},
): Layout => {
  const separator = separatorLine.exec(head.toString('latin1', 0, 8))?.[1];
  if (separator !== undefined && given === undefined && !isHeader) {
    const below = findLayout(head.subarray(head.indexOf(0x0a) + 1), whole, { delimiter: separator });
    return { ...below, titleRows: below.titleRows + 1 };
  }
  // A delimiter that does not occur explains nothing.
  const candidates: string[] =
    given === undefined ? delimiters.filter((delimiter) => head.includes(delimiter)) : [given];
  const read = ({ quote, escape: by }: Pick<TableDialect, 'quote' | 'escape'>): Reading[] =>
    candidates
      .filter((delimiter) => quote !== '' || delimiter === '\t')
      .map((delimiter) => {
        const dialect = { ...rfc4180, quote, escape: by, delimiter };
        return { dialect, rows: headRows(head, dialect, whole) };
      });
  const [plain = [], ...others] = quotings(head).map(read);
  const fits = [plain, ...others].map((readings) => readings.map((reading) => fitOf(reading, 0)));
  const best = fits.map((some) => some.reduce(better, nothing)).reduce(betterQuoting);
  const single: Layout = { dialect: { ...rfc4180, delimiter: given ?? ',' }, titleRows: 0 };
  if (isHeader) {
    const rival = rivalOf(best, fits[0] ?? []);
    const ways = rival ? [best, rival].map((fit) => ({ ...candidateOf(fit, 0), skipRows: 0 })) : null;
    return best.share === 0 ? single : layoutAt(best, 0, ways, 2);
  }
  if (best.share >= goodShare) return layoutFrom(best, fits[0] ?? [], plain);
  const titled = withTitles([plain, ...others]);
  if (titled !== null) return titledLayout(titled, best) ?? { ...single, candidates: oneColumnOr(titled.fit, head) };
  if (best.share > 0) return { dialect: best.dialect, titleRows: 0 };
  const division = given === undefined ? divisionOf(head, whole) : null;
  if (division === null) return single;
  return { ...single, dialect: { ...rfc4180, delimiter: division.isRead ? division.by : ',' }, division };
};

const layoutAt = (
  { dialect, rows }: Reading,
  titleRows: number,
  candidates: LayoutCandidate[] | null,
  fewestCounted = 3,
): Layout => ({
  dialect,
  titleRows,
  ...(candidates && { candidates }),
  ...(isRecord(rows, titleRows, fewestCounted) && { headerless: true }),
});

/** The layout of a reading whose first row belongs to the table, or is a title with as many cells. */
const layoutFrom = (best: Fit, fits: Fit[], plain: Reading[]): Layout => {
  const isCommented = best.rows[0]?.sharp === true;
  const { titleRows, isSure } = isCommented ? commentRows(best) : paddedTitles(best);
  const rowsFrom = (...places: number[]) => places.map((at) => candidateOf(best, at));
  const rival = rivalOf(best, fits);
  if (rival) return layoutAt(best, titleRows, [...rowsFrom(titleRows), candidateOf(rival, 0)]);
  if (!isSure) return layoutAt(best, titleRows, rowsFrom(titleRows, isCommented ? titleRows + 1 : 0));
  if (mayBeTitle(best.rows, titleRows)) return layoutAt(best, titleRows, rowsFrom(titleRows, titleRows + 1));
  const later = laterRival(best, plain);
  return layoutAt(best, titleRows, later ? [...rowsFrom(titleRows), candidateOf(later, later.skip)] : null);
};

/** The layout of a table below titles, `best` being the reading from the first row on; null where it may have one column. */
const titledLayout = ({ fit, isSure, rival }: Titled, best: Fit): Layout | null => {
  if (fit.rows[0]?.sharp === true) return layoutFrom(fit, [], []);
  const own = candidateOf(fit, fit.skip);
  if (isSure) return layoutAt(fit, fit.skip, rival ? [own, candidateOf(rival, rival.skip)] : null);
  return best.share > 0 ? layoutAt(fit, fit.skip, [own, candidateOf(best, 0)]) : null;
};

const oneColumnOr = (fit: Fit, head: Buffer): LayoutCandidate[] => [
  candidateOf(fit, fit.skip),
  { delimiter: ',', skipRows: 0, header: [head.toString('latin1', 0, head.indexOf(0x0a))] },
];

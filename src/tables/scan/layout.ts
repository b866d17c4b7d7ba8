// Detects the layout of a table from the first bytes of its file: delimiter, quotes, and the line of the header.
import { type Candidate, delimiters, rfc4180, type TableDialect } from './dialect.ts';
import { type Division, divisionOf, frameOf } from './division.ts';
import { type HeadRow, headRows, isBelowBlank, isNamed, isRecord, laterHeader, mayBeHeader } from './head-rows.ts';

export interface Layout {
  dialect: TableDialect;
  titleRows: number;
  /** Where the bytes are ambiguous: the ways to read the table, this one included. */
  candidates?: Candidate[];
  /** True when the first row is a record like all others: there is no header. */
  headerless?: boolean;
  /** Of a file that no delimiter divides into cells: what its lines look divided by all the same. */
  division?: Division;
}

const mostTitleRows = 20;

/**
 * The rows of a table by one dialect, and how well that explains those from `skip` on: the share that has as many cells
 * as the first of them, 0 for one cell.
 */
interface Fit {
  dialect: TableDialect;
  rows: HeadRow[];
  skip: number;
  share: number;
  width: number;
  /** True where the rows below agree among themselves on another number of cells than the header has. */
  isApart: boolean;
}

const nothing: Fit = { dialect: rfc4180, rows: [], skip: 0, share: 0, width: 0, isApart: false };

/** What a single row, a row with faults of quoting, and a header that is at odds with all rows below count for a reading. */
const [oneRowShare, faultyShare, apartShare] = [0.5, 0.8, 0.6];

/** True for a row with as many cells as the header, surplus delimiters at the end of either not counted. */
const isWhole = ({ cells, tail }: HeadRow, header: HeadRow): boolean =>
  cells > header.cells ? cells - tail <= header.cells : cells >= header.cells - (header.filled < 2 ? 0 : header.tail);

const fitOf = ({ dialect, rows }: Pick<Fit, 'dialect' | 'rows'>, skip: number): Fit => {
  const [header, ...below] = rows.slice(skip);
  if (header === undefined || header.cells < 2) return { ...nothing, dialect, rows, skip, width: header?.cells ?? 0 };
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
  if (other.dialect.quote === '') return isBetterLiteral(usual, other) ? other : usual;
  if (other.dialect.quote === "'" && !isPaired(other)) return usual;
  if (other.share !== usual.share) return other.share > usual.share ? other : usual;
  return isQuotedThroughout(other) && !isQuotedThroughout(usual) ? other : usual;
};

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
  return above.every(({ cells, filled, sharp }) => sharp || (cells <= width && filled <= Math.max(1, width / 2)));
};

/** True when such rows are certainly titles, and no table of one column begins above. */
const areTitles = (fit: Fit): boolean => {
  const { rows, skip } = fit;
  const above = rows.slice(0, skip);
  const areSingle = above.every(({ filled }) => filled < 2);
  if ((areSingle && (rows[skip]?.filled ?? 0) > 2) || above.every(({ sharp }) => sharp)) return true;
  return isBelowBlank(rows, skip) || isNamed(rows, skip);
};

/** The rows that may be the header below titles as wide as the table, the likeliest first; one where it is certain. */
const belowPadded = ({ rows, width }: Fit): number[] => {
  const at = rows.findIndex(({ cells, filled }) => cells === width && filled > width / 2);
  const [header, above] = [rows[at], rows.slice(0, at)];
  if (header === undefined || at < 1 || at > mostTitleRows || !mayBeHeader(header)) return [0];
  if (!above.every(({ filled, cells }) => filled < 2 && cells <= width)) return [0];
  const isSure =
    isNamed(rows, at) || (width > 2 && (above.some(({ filled }) => filled === 0) || above.every(({ prose }) => prose)));
  return isSure ? [at] : [at, 0];
};

/** The same below lines of comment, of which the last may be the header. */
const belowComments = ({ rows }: Fit): number[] => {
  const at = rows.findIndex(({ sharp }) => !sharp);
  if (at < 1 || at > mostTitleRows) return [0];
  if (rows[at - 1]?.cells !== rows[at]?.cells || isNamed(rows, at)) return [at];
  return isRecord(rows, at, 3) ? [at - 1] : [at - 1, at];
};

/** The first rows that are a table below titles; null where there are none. */
const titledFit = (fits: Fit[][]): Fit | null => {
  for (let skip = 1; skip <= mostTitleRows; skip++) {
    const found = fits
      .map((some) => some.map((fit) => fitOf(fit, skip)))
      .map((some) => some.filter((fit) => fit.share >= titledShare && mayBeTitles(fit)).reduce(better, nothing))
      .filter((fit) => fit !== nothing);
    if (found.length > 0) return found.reduce(betterQuoting);
  }
  return null;
};

/** The ways of quoting to try: the usual one, and others of which the bytes hold a sign. */
const quotings = (head: Buffer): Pick<TableDialect, 'quote' | 'escape'>[] => [
  { quote: '"', escape: '"' },
  ...(head.includes('\\"') ? [{ quote: '"', escape: '\\' }] : []),
  ...(head.includes("'") ? [{ quote: "'", escape: "'" }] : []),
  ...(head.includes("\\'") ? [{ quote: "'", escape: '\\' }] : []),
  ...(head.includes('\t') && head.includes('"') ? [{ quote: '', escape: '' }] : []),
];

const lineOf = ({ rows, skip }: Fit): number => rows[skip]?.line ?? 1;

const candidateOf = (fit: Fit, isByLine: boolean): Candidate => {
  const { delimiter } = fit.dialect;
  const names = fit.rows[fit.skip]?.begins.map((cell) => Buffer.from(cell, 'latin1').toString()) ?? [];
  const key = isByLine
    ? `skipRows: ${lineOf(fit) - 1}`
    : `delimiter: ${delimiter === '\t' ? 'tab' : JSON.stringify(delimiter)}`;
  return { key, reads: names.join(' | ') };
};

/** A reading by another delimiter that explains the rows as well, or all but the header; no text contains tabs. */
const rivalOf = ({ dialect, rows, skip }: Fit, plain: Fit[]): Fit | undefined => {
  if (dialect.delimiter === '\t' || rows.length < 2) return undefined;
  return plain
    .filter((fit) => fit.dialect.delimiter !== dialect.delimiter)
    .map((fit) => fitOf(fit, skip))
    .find(({ share, isApart }) => share > clearShare || isApart);
};

const clearShare = 0.95;

/**
 * A reading by another delimiter that divides all rows but the first ones: by a tab, or where the header of `best` is
 * written like a text; or below a blank line or with a proven header, unless that of `best` is proven.
 */
const laterRival = (best: Fit, plain: Fit[]): Fit | undefined => {
  if (best.dialect.delimiter === '\t') return undefined;
  const isText = best.rows[best.skip]?.begins.slice(1).every((cell) => cell.startsWith(' ')) ?? false;
  const isProven = isNamed(best.rows, best.skip);
  return (
    plain.map(dividedFit).find((fit) => {
      if (fit === null || fit.skip <= best.skip || fit.share <= clearShare) return false;
      if (fit.dialect.delimiter === best.dialect.delimiter) return false;
      if (fit.dialect.delimiter === '\t' || isText) return true;
      return !isProven && (isBelowBlank(fit.rows, fit.skip) || isNamed(fit.rows, fit.skip));
    }) ?? undefined
  );
};

/** How well a dialect explains the rows from the first one on that it divides; null where that is the first of all. */
const dividedFit = (fit: Fit): Fit | null => {
  const skip = fit.rows.findIndex(({ cells }) => cells > 1);
  return skip < 1 || skip > mostTitleRows || fit.rows.length < skip + 2 ? null : fitOf(fit, skip);
};

/**
 * Detects the layout from the first bytes of a table, without a byte order mark; `whole` when they are all of it. The
 * reading that gives most rows as many cells as the header wins; of equals the one with more cells, then tab, comma,
 * semicolon, vertical bar. A table of one column counts as comma. An ambiguous layout comes with candidates.
 */
export const findLayout = (
  head: Buffer,
  whole: boolean,
  { delimiter: given, isHeader = false }: { delimiter?: string | undefined; isHeader?: boolean } = {},
): Layout => {
  const separator = /^sep=([,;\t|])\r?\n/i.exec(head.toString('latin1', 0, 8))?.[1];
  if (separator !== undefined && given === undefined && !isHeader) {
    // From the line feed on, so that lines are counted as they are in the file.
    const below = findLayout(head.subarray(head.indexOf(0x0a)), whole, { delimiter: separator });
    return { ...below, titleRows: below.titleRows + 1 };
  }
  // A delimiter that does not occur explains nothing.
  const candidates: string[] =
    given === undefined ? delimiters.filter((delimiter) => head.includes(delimiter)) : [given];
  const fits = quotings(head).map((quoting) =>
    candidates
      .filter((delimiter) => quoting.quote !== '' || delimiter === '\t')
      .map((delimiter) => {
        const dialect = { ...rfc4180, ...quoting, delimiter };
        return fitOf({ dialect, rows: headRows(head, dialect, whole) }, 0);
      }),
  );
  const [plain = []] = fits;
  const best = fits.map((some) => some.reduce(better, nothing)).reduce(betterQuoting);
  const single: Layout = { dialect: { ...rfc4180, delimiter: given ?? ',' }, titleRows: 0 };
  if (isHeader) return best.share === 0 ? single : layoutOf(best, rivalOf(best, plain), 2);
  if (best.share >= goodShare) return framed(fromFirstRow(best, plain), best, given);
  const titled = titledFit(fits);
  if (titled?.rows[0]?.sharp === true) return fromFirstRow(titled, []);
  if (titled !== null && areTitles(titled))
    return framed(layoutOf(titled, rivalOf(titled, plain) ?? laterRival(titled, plain)), titled, given);
  if (best.share > 0) return titled === null ? { dialect: best.dialect, titleRows: 0 } : layoutOf(titled, best);
  if (titled !== null) {
    const key = `skipRows: ${lineOf({ ...titled, skip: 0 }) - 1}`;
    const oneColumn = { key, reads: /[^\r\n]+/.exec(head.toString())?.[0] ?? '' };
    return { ...single, candidates: [candidateOf(titled, true), oneColumn] };
  }
  const division = divisionOf(head, whole, given !== undefined);
  if (division === null) return single;
  return { ...single, dialect: { ...rfc4180, delimiter: division.isRead ? division.by : ',' }, division };
};

/** Adds what stands around all cells of a table whose delimiter was detected. */
const framed = (layout: Layout, { dialect, rows, skip }: Fit, given: string | undefined): Layout => {
  const isUsual = given === undefined && dialect.quote === '"' && layout.candidates === undefined;
  return { ...layout, ...(isUsual && frameOf(rows.slice(skip), dialect.delimiter)) };
};

/** The layout of a fit whose rows begin with the header; `rival` is another that may be right. */
const layoutOf = (fit: Fit, rival: Fit | undefined, fewestCounted = 3): Layout => ({
  dialect: fit.dialect,
  titleRows: fit.skip,
  ...(rival && { candidates: [fit, rival].map((one) => candidateOf(one, lineOf(fit) !== lineOf(rival))) }),
  ...(isRecord(fit.rows, fit.skip, fewestCounted) && { headerless: true }),
});

/** The layout of a table to which the first row belongs, or above which are comments, or titles with as many cells. */
const fromFirstRow = (best: Fit, plain: Fit[]): Layout => {
  const [at = 0, other] = best.rows[0]?.sharp === true ? belowComments(best) : belowPadded(best);
  const or = other ?? laterHeader(best.rows, at);
  const rival = or === undefined ? laterRival(best, plain) : { ...best, skip: or };
  return layoutOf({ ...best, skip: at }, rivalOf(best, plain) ?? rival);
};

// What the lines of a file look divided by that no usual delimiter divides into cells: one column has to be earned.
import { delimiters } from './dialect.ts';
import { type HeadRow, longestBegin } from './head-rows.ts';

export interface Division {
  kind: 'character' | 'blanks' | 'fixed width' | 'quoted lines' | 'frame' | 'brackets';
  /** What divides; of quoted lines the delimiter in them, of a frame that with what stands around it. */
  by: string;
  /** True where all evidence agrees, so that the file is read so. */
  isRead: boolean;
}

/** Characters that are hardly in a text, so that the same number of them in each line divides it. */
const isRare = (character: string): boolean =>
  '^~'.includes(character) || (character < ' ' && !'\0\t\r\n'.includes(character));

/** Rare characters that programs are known to write between cells. */
const written = '^~\u0001\u001f';

/** Signs beyond ASCII but dashes and quotes, and letters that programs write between cells: `§`, `，`, `¦`, `Ç`. */
const isForeign = (sign: string): boolean => /[Çþ]|[^\0-\x7f\p{L}\p{M}\p{N}\p{Pd}\p{Pi}\p{Pf}\ufffd]/u.test(sign);

/** Characters that times, ratios and the like hold as well. */
const common = [':', '!', '#', '*', '=', '&', '$', '/', '\\', '@', '+', '>', '<', '%', '?', '-'];

/** What the lines of the head look divided by, `whole` when they are all of the file; null for a list of single values. */
export const divisionOf = (head: Buffer, whole: boolean, isGiven = false): Division | null => {
  const all = head.toString().split(/\r\n|\n|\r/);
  if (!whole) all.pop();
  const lines = all.filter((line) => line.trim() !== '' && !/^sep=.$/.test(line)).slice(0, 500);
  if (lines.length < 2) return null;
  const quoted = quotedLines(lines);
  return isGiven ? quoted : (quoted ?? character(lines) ?? fixedWidth(lines) ?? blanks(lines));
};

/** The sign at the end of all cells but the last, or before all but the first, empty ones aside; no letter, digit or space. */
const commonSign = (rows: HeadRow[], at: 0 | -1): string => {
  const cells = rows.flatMap(({ begins }) => (at < 0 ? begins.slice(0, -1) : begins.slice(1)));
  const filled = cells.filter((text) => text !== '').map((text) => Buffer.from(text, 'latin1').toString().trim());
  const [sign = '', ...others] = new Set(filled.map((text) => [...text].at(at) ?? ''));
  return others.length === 0 && /^[^\p{L}\p{N}\ufffd]$/u.test(sign) ? sign : '';
};

/**
 * What stands between all cells of all rows, the header too, beside their delimiter: `~|~`, which is one delimiter of several
 * characters, or the quotes of another program. A closing bracket or the like belongs to the values;
 * a sign on one side only may, unless it is a delimiter.
 */
export const frameOf = (rows: HeadRow[], delimiter: string): { division: Division } | null => {
  const known = rows.filter(({ begins, cells }) => begins.length === cells);
  if (known.length < 2 || known.some(({ cells }) => cells < 2)) return null;
  if (known.every(({ begins }) => begins.some(isCut)))
    return { division: { kind: 'brackets', by: delimiter, isRead: false } };
  const [close, open] = [commonSign(known, -1), commonSign(known, 0)];
  if (known.some(({ quoted }) => quoted > 0) && close + open !== '""') return null;
  if (close === '' || ')]}>/*'.includes(close) || (open === '' && !delimiters.includes(close))) return null;
  return { division: { kind: 'frame', by: close + delimiter + open, isRead: false } };
};

/** True where a bracket opens and none closes, in text that is not longer than what is known of a cell. */
const isCut = (cell: string): boolean => cell.length < longestBegin && /[([{][^)\]}]*$/.test(cell);

const partsOf = (lines: string[], by: string | RegExp): string[][] => lines.map((line) => line.split(by));

const areEven = ([header = [], ...rows]: string[][]): boolean =>
  header.length > 1 && rows.every((row) => row.length === header.length);

const isNamed = ([header = []]: string[][]): boolean => {
  const names = header.map((name) => name.trim());
  return names.every((name) => name !== '') && new Set(names).size === names.length;
};

const value = /^\s*[+-]?\d[\d.,:/-]*\s*$/;

/** True where a part has a name in the first line and values in all others. */
const hasValues = ([header = [], ...rows]: string[][]): boolean =>
  header.some((name, at) => !value.test(name) && rows.every((row) => value.test(row[at] ?? '')));

/** True for columns with names, of which one holds values, or which are three at least. */
const isTable = (parts: string[][]): boolean =>
  areEven(parts) && isNamed(parts) && (hasValues(parts) || (parts[0]?.length ?? 0) > 2);

/** Lines that are one quoted cell each, which holds cells, as programs leave them that were not told to divide. */
const quotedLines = (lines: string[]): Division | null => {
  const inner = lines.map((line) => /^"((?:[^"]|"")*)"\s*$/.exec(line)?.[1]);
  if (!inner.every((text) => text !== undefined)) return null;
  const by = delimiters.find((delimiter) => isTable(partsOf(inner, delimiter)));
  return by === undefined ? null : { kind: 'quoted lines', by, isRead: false };
};

const character = (lines: string[]): Division | null => {
  const found = new Set([...(lines[0] ?? '')].filter((sign) => isRare(sign) || isForeign(sign)));
  for (const by of [...found, ...common].flatMap((sign) => [sign, sign + sign])) {
    const parts = partsOf(lines, by);
    if (!areEven(parts)) continue;
    if (isRare(by)) return { kind: 'character', by, isRead: written.includes(by) && isNamed(parts) };
    if (isTable(parts)) return { kind: 'character', by, isRead: false };
  }
  return null;
};

/** Columns that runs of blanks divide, or that begin at the same place in every line. */
const fixedWidth = (lines: string[]): Division | null => {
  if (lines.filter((line) => /\S {2,}\S/.test(line)).length < lines.length * 0.6) return null;
  const places = [...Array(Math.max(...lines.map((line) => line.length))).keys()];
  const isDivided = places.some(
    (at) =>
      lines.every((line) => (line[at] ?? ' ') === ' ' && line.slice(0, at).trim() !== '') &&
      lines.filter((line) => line.slice(at).trim() !== '').length > lines.length / 2,
  );
  return isDivided || areEven(trimmedParts(lines, / {2,}/)) ? { kind: 'fixed width', by: ' ', isRead: false } : null;
};

const trimmedParts = (lines: string[], by: string | RegExp): string[][] => lines.map((line) => line.trim().split(by));

const blanks = (lines: string[]): Division | null => {
  const parts = trimmedParts(lines, ' ');
  return areEven(parts) && isNamed(parts) && hasValues(parts) ? { kind: 'blanks', by: ' ', isRead: false } : null;
};

/** Line ends that no table has: of other systems, written out, or of other formats. */
const lineEnds: [string, string][] = [
  ['NEL (U+0085)', '\u0085'],
  ['the line separator U+2028', '\u2028'],
  ['the characters \\n', '\\n'],
  ['the record separator 0x1E', '\u001e'],
  ['vertical tabs', '\u000b'],
  ['form feeds', '\u000c'],
];

/** What divides the only line of a file into lines; null where nothing does. */
export const foreignLineEnds = (line: string): string | null =>
  lineEnds.find(([, end]) => line.split(end).length > 2)?.[0] ?? null;

/** True for a text such as an error message instead of names: a sentence, or one cell of several words, or longer than a name. */
export const isSentence = (cells: string[]): boolean =>
  cells.some((cell) => cell.trim().split(/\s+/).length > 3 || /\w[.!?]\s*$|[a-z]{3}: \w/i.test(cell)) ||
  (cells.length === 1 && /\S\s+\S|.{65}/.test(cells[0] ?? ''));

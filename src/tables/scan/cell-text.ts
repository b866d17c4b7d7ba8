// The values of scanned cells, and the text around a place in a file as reports show it.
import { isUtf8 } from 'node:buffer';
import { has } from './byte-class.ts';
import type { CellScanner } from './cell-scanner.ts';
import type { TableDialect } from './dialect.ts';

/** Makes the function that turns the text between quotes into the value it stands for. */
const unescapeOf = (dialect: TableDialect): ((text: string) => string) => {
  const { quote, escape: protector } = dialect;
  if (protector === quote) return (text) => text.replaceAll(quote + quote, quote);
  const taken = new RegExp(`\\x${protector.charCodeAt(0).toString(16).padStart(2, '0')}([^]?)`, 'g');
  return (text) => text.replaceAll(taken, '$1');
};

export const cellText = (scanner: CellScanner, cell: number, dialect: TableDialect): string => {
  const text = scanner.bytes.toString('utf8', scanner.starts[cell], scanner.ends[cell]);
  return ((scanner.marks[cell] ?? 0) & has.escapes) === 0 ? text : unescapeOf(dialect)(text);
};

/** Makes the function that decodes the cells of a complete row; valid until the scanner's next call. */
export const cellsReader = (
  { bytes, starts, ends, marks, rows, rowCells, rowStarts }: CellScanner,
  dialect: TableDialect,
): ((row: number) => string[]) => {
  const unescaped = unescapeOf(dialect);
  // In Latin-1 one byte is one character, so offsets hold; cells with bytes beyond ASCII are decoded one by one.
  const text = bytes.toString('latin1', 0, rowStarts[rows] ?? 0);
  return (row) => {
    const [first, last] = [rowCells[row] ?? 0, rowCells[row + 1] ?? 0];
    const cells = new Array<string>(last - first); // an array that grows would take twice the memory
    for (let cell = first; cell < last; cell++) {
      const [start, end, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
      const value = (mark & has.high) === 0 ? text.substring(start, end) : bytes.toString('utf8', start, end);
      cells[cell - first] = (mark & has.escapes) === 0 ? value : unescaped(value);
    }
    return cells;
  };
};

/** How many bytes of a line are shown before and behind the place. */
const [before, behind] = [60, 100];

const named: Record<number, string> = { 9: '\\t', 10: '\\n', 13: '\\r', 92: '\\\\' };

const escaped = (byte: number): string => named[byte] ?? `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`;

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

const isLineEnd = (byte: number | undefined): boolean => byte === 10 || byte === 13;

/** The line around offset `at` of `bytes`, of which those before `end` are valid; `…` where it is cut. */
export const contextAt = (bytes: Buffer, at: number, end: number): string => {
  let from = at;
  while (from > 0 && at - from < before && !isLineEnd(bytes[from - 1])) from -= 1;
  const isCut = from > 0 && !isLineEnd(bytes[from - 1]);
  while (from < at && isContinuation(bytes[from])) from += 1;
  let to = at;
  while (to < end && to - at < behind && !isLineEnd(bytes[to])) to += 1;
  return `${isCut ? '…' : ''}${escapedText(bytes, from, to)}${to < end && !isLineEnd(bytes[to]) ? '…' : ''}`;
};

/** In Latin-1: characters of UTF-8 beyond ASCII, and single bytes that are escaped. */
const special = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[^ -[\]-~]/g;

/** The text of bytes as it is shown: control characters and bytes that are no UTF-8 are escaped. */
export const escapedText = (bytes: Buffer, from: number, to: number): string => {
  let end = to;
  while (end < to + 3 && isContinuation(bytes[end])) end += 1; // no character is cut
  return bytes.toString('latin1', from, end).replaceAll(special, (found) => {
    const own = Buffer.from(found, 'latin1');
    if (own.length === 1 || !isUtf8(own)) return Array.from(own, escaped).join('');
    const text = own.toString('utf8');
    return /[\p{C}\p{Z}]/u.test(text) ? `\\u${text.codePointAt(0)?.toString(16).toUpperCase()}` : text;
  });
};

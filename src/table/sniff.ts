// What the first bytes of a table tell: byte order mark, encoding, delimiter.
import { type Delimiter, delimiters } from './dialect.ts';
import { wideEncoding } from './faults.ts';

/** How many bytes from the start of a file are looked at. */
export const sniffBytes = 64 * 1024;

/** What the head of a file tells. */
export interface Sniffed {
  /** True when the file begins with a UTF-8 byte order mark (three bytes that are no data). */
  bom: boolean;
  delimiter: Delimiter;
}

const startsWith = (head: Uint8Array, ...bytes: number[]): boolean => bytes.every((byte, i) => head[i] === byte);

/** True when every second byte from `from` on is 0 in the first 64 bytes: ASCII text written as UTF-16. */
const everySecondIsNul = (head: Uint8Array, from: 0 | 1): boolean => {
  const end = Math.min(head.length & ~1, 64);
  for (let at = 0; at < end; at += 2) {
    if (head[at + from] !== 0 || head[at + 1 - from] === 0) return false;
  }
  return end >= 4;
};

/** Throws a TableFaultError (`table-encoding`) when a file that begins with `head` is UTF-16 or UTF-32. */
export const refuseWide = (head: Uint8Array): void => {
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff)) throw wideEncoding('UTF-32');
  if (startsWith(head, 0xff, 0xfe) || startsWith(head, 0xfe, 0xff)) throw wideEncoding('UTF-16');
  if (everySecondIsNul(head, 1) || everySecondIsNul(head, 0)) throw wideEncoding('UTF-16');
};

/** True when `head` begins with a UTF-8 byte order mark. */
export const hasBom = (head: Uint8Array): boolean => startsWith(head, 0xef, 0xbb, 0xbf);

/** The text outside double quotes, by rows that are not blank; the last row is left out when it may be cut. */
const bareRows = (text: string, whole: boolean): string[] => {
  const bare = text
    .split('"')
    .filter((_, i) => i % 2 === 0)
    .join('');
  const rows = bare.split(/\r\n|\n|\r/);
  if (!whole && rows.length > 1) rows.pop();
  return rows.filter((row) => row !== '');
};

/** How well a delimiter explains the rows: rows with as many of it as the first row, which must have some. */
const agreement = (rows: string[], delimiter: string): { equal: number; cells: number } => {
  const counts = rows.map((row) => row.split(delimiter).length - 1);
  const first = counts[0] ?? 0;
  return { equal: first === 0 ? 0 : counts.filter((count) => count === first).length, cells: first };
};

const findDelimiter = (rows: string[]): Delimiter => {
  let best: { delimiter: Delimiter; equal: number; cells: number } = { delimiter: ',', equal: 0, cells: 0 };
  for (const delimiter of delimiters) {
    const found = { delimiter, ...agreement(rows, delimiter) };
    if (found.equal > best.equal || (found.equal === best.equal && found.cells > best.cells)) best = found;
  }
  return best.delimiter;
};

/**
 * Looks at the first bytes of a file (up to {@link sniffBytes}; `whole` when they are all of it). The delimiter is the
 * one of comma, semicolon, tab and vertical bar that stands equally often, outside quotes, in the most rows; a table of
 * one column counts as comma. Throws a TableFaultError for UTF-16 and UTF-32.
 */
export const sniffTable = (head: Buffer, whole: boolean): Sniffed => {
  refuseWide(head);
  const bom = hasBom(head);
  // Every delimiter, quote and line end is ASCII, so Latin-1 shows them whatever the encoding is.
  const text = head.subarray(bom ? 3 : 0, sniffBytes).toString('latin1');
  return { bom, delimiter: findDelimiter(bareRows(text, whole && head.length <= sniffBytes)) };
};

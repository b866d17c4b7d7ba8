// How a file begins: byte order marks, encodings, and files that are no tables whatever their name says.
import type { Delimiter } from './dialect.ts';
import { wideEncoding } from './faults.ts';
import { findLayout } from './layout.ts';

const magics: [string, string][] = [
  ['a ZIP archive or an Excel workbook (.xlsx)', '504b0304'],
  ['an old Excel workbook (.xls)', 'd0cf11e0a1b11ae1'],
  ['a gzip archive', '1f8b08'],
  ['a PDF document', '255044462d'],
];

const texts: [string, RegExp][] = [
  ['a web page', /^\s*<(?:!doctype html|html|head|body)[\s>]/i],
  ['an XML document', /^\s*<\?xml\s/i],
  ['JSON', /^\s*(?:\{\s*"[^"\n]{0,200}"\s*:|\[\s*[{[])/],
];

/** What a file is that begins with these bytes; null when it may be a table. */
export const signatureOf = (head: Buffer): string | null => {
  const hex = head.toString('hex', 0, 8);
  const magic = magics.find(([, begin]) => hex.startsWith(begin));
  if (magic !== undefined) return magic[0];
  const start = head.toString('latin1', head[0] === 0xef && head[1] === 0xbb ? 3 : 0, 512);
  return texts.find(([, pattern]) => pattern.test(start))?.[0] ?? null;
};

/** How many bytes from the start of a file are looked at. */
export const sniffBytes = 64 * 1024;

/** What the head of a file tells. */
interface Sniffed {
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

/** An encoding of two or four bytes a character, as a file begins with it; `marked` when by a byte order mark. */
export const wideOf = (head: Uint8Array): { encoding: 'UTF-16LE' | 'UTF-16BE' | 'UTF-32'; marked: boolean } | null => {
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff))
    return { encoding: 'UTF-32', marked: true };
  if (startsWith(head, 0xff, 0xfe)) return { encoding: 'UTF-16LE', marked: true };
  if (startsWith(head, 0xfe, 0xff)) return { encoding: 'UTF-16BE', marked: true };
  if (everySecondIsNul(head, 1)) return { encoding: 'UTF-16LE', marked: false };
  return everySecondIsNul(head, 0) ? { encoding: 'UTF-16BE', marked: false } : null;
};

/** Throws a TableFaultError (`table-encoding`) when a file that begins with `head` is UTF-16 or UTF-32. */
export const refuseWide = (head: Uint8Array): void => {
  const wide = wideOf(head);
  if (wide !== null) throw wideEncoding(wide.encoding === 'UTF-32' ? 'UTF-32' : 'UTF-16');
};

/** True when `head` begins with a UTF-8 byte order mark. */
export const hasBom = (head: Uint8Array): boolean => startsWith(head, 0xef, 0xbb, 0xbf);

/**
 * Looks at the first bytes of a file (up to {@link sniffBytes}; `whole` when they are all of it). The delimiter is the
 * one that {@link findLayout} finds. Throws a TableFaultError for UTF-16 and UTF-32.
 */
export const sniffTable = (head: Buffer, whole: boolean): Sniffed => {
  refuseWide(head);
  const bom = hasBom(head);
  const { dialect } = findLayout(head.subarray(bom ? 3 : 0, sniffBytes), whole && head.length <= sniffBytes);
  return { bom, delimiter: dialect.delimiter };
};

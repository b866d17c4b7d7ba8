// Signatures of files: byte order marks, encodings, and files that are not tables whatever their name.
import { wideEncoding } from './faults.ts';

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

/** How many bytes from the start of a file are checked. */
export const sniffBytes = 64 * 1024;

const startsWith = (head: Uint8Array, ...bytes: number[]): boolean => bytes.every((byte, i) => head[i] === byte);

const lineFeed = 0x0a;

/**
 * True when text is written in pairs of bytes of which one is 0 for ASCII, the byte at `zero`: every second byte is 0 in
 * the first 64, or every line ends with such a pair and zeros stand nowhere else.
 */
const isPaired = (head: Uint8Array, zero: 0 | 1): boolean => {
  if (!head.includes(0)) return false;
  const end = head.length & ~1;
  let [zeros, others, lines, plainLines] = [0, 0, 0, 0];
  for (let at = 0; at < end; at += 2) {
    const [half, letter] = [head[at + zero], head[at + 1 - zero]];
    if (half === 0) zeros += 1;
    if (letter === 0) others += 1;
    if (letter === lineFeed && half === 0) lines += 1;
    else if (letter === lineFeed || half === lineFeed) plainLines += 1;
    if (at === 62 && zeros === 32 && others === 0) return true;
  }
  if (end >= 4 && end < 64 && zeros === end / 2 && others === 0) return true;
  return lines > 0 && zeros > end / 40 && others < lines / 10 && plainLines < lines / 10;
};

/** An encoding of two or four bytes a character, as a file begins with it; `marked` when by a byte order mark. */
export const wideOf = (head: Uint8Array): { encoding: 'UTF-16LE' | 'UTF-16BE' | 'UTF-32'; marked: boolean } | null => {
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff))
    return { encoding: 'UTF-32', marked: true };
  if (startsWith(head, 0xff, 0xfe)) return { encoding: 'UTF-16LE', marked: true };
  if (startsWith(head, 0xfe, 0xff)) return { encoding: 'UTF-16BE', marked: true };
  if (isPaired(head.subarray(0, sniffBytes), 1)) return { encoding: 'UTF-16LE', marked: false };
  return isPaired(head.subarray(0, sniffBytes), 0) ? { encoding: 'UTF-16BE', marked: false } : null;
};

/** Throws a TableFaultError (`table-encoding`) when a file that begins with `head` is UTF-16 or UTF-32. */
export const refuseWide = (head: Uint8Array): void => {
  const wide = wideOf(head);
  if (wide !== null) throw wideEncoding(wide.encoding === 'UTF-32' ? 'UTF-32' : 'UTF-16');
};

/** True when `head` begins with a UTF-8 byte order mark. */
export const hasBom = (head: Uint8Array): boolean => startsWith(head, 0xef, 0xbb, 0xbf);

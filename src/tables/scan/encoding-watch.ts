// Follows the bytes of a table: finds those that are not UTF-8, and collects evidence of the encoding.
import { isAscii, isUtf8 } from 'node:buffer';
import type { Candidate } from './dialect.ts';
import { isPlainly, type Reading, readingsOf } from './encoding-evidence.ts';
import { encodingTitle } from './encodings.ts';

/** An encoding by its title, such as `Windows-1250`; `mixed`: UTF-8 and another one; `unknown`: no evidence for one. */
export interface EncodingVerdict {
  encoding: string;
  /** Of an unknown one: which it may be, the likeliest first. */
  candidates: Candidate[];
}

/** How much text is kept as evidence: pieces per byte beyond ASCII, bytes in all, bytes of a piece. */
const [mostPieces, mostBytes, longestPiece] = [6, 12 * 1024, 2048];

/** Tab, line ends, quote, comma, semicolon: what ends a piece of text, and no character of several bytes holds. */
const ends = new Set([0x09, 0x0a, 0x0d, 0x22, 0x2c, 0x3b]);

const escapeByte = 0x1b;

/** What follows an escape in encodings that switch between character sets; all their bytes are ASCII. */
const shifts: [RegExp, string][] = [
  [/^\$\)C/, 'ISO-2022-KR'],
  [/^\$\)A/, 'ISO-2022-CN'],
  [/^(?:\$[^@B]|\([^BIJ]|[-./)])/, 'ISO-2022'],
  [/^(?:\$[@B]|\([IJ])/, 'ISO-2022-JP'],
];

/** Text of another such encoding, between its signs. */
const tildes = /~\{(?:[!-}][!-~]){1,200}~\}/;

/** Follows a stream of bytes chunk by chunk; characters may span chunks. */
export class EncodingWatch {
  #held: Uint8Array = new Uint8Array(0);
  bad = 0;
  /** The name of an encoding that switches between character sets. */
  shifted: string | null = null;
  #windowsOnly = false;
  #begun = false;
  readonly #seen = new Uint8Array(256);
  readonly #pieces = { utf8: new Set<string>(), other: new Set<string>() };
  #bytes = 0;

  /** Returns offsets in a chunk of the first bytes that are no UTF-8; 0 for a character that began before. */
  feed(chunk: Buffer): number[] {
    if (this.shifted === null && (chunk.includes(escapeByte) || chunk.includes('~{'))) this.#findShift(chunk);
    const offsets = this.#held.length === 0 && isAscii(chunk) ? [] : this.#badIn(chunk);
    this.#begun = true;
    return offsets;
  }

  #badIn(chunk: Buffer): number[] {
    const held = this.#held.length;
    const bytes = held === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const whole = bytes.subarray(0, bytes.length - unfinished(bytes));
    this.#held = Buffer.from(bytes.subarray(whole.length));
    if (!isUtf8(whole)) return this.#walk(whole).map((at) => Math.max(0, at - held));
    if (this.#pieces.utf8.size === 0) this.#sample(whole);
    return [];
  }

  /** How many bytes of a character were cut off by the end of the stream: those that are there; 0 when none was. */
  end(): number {
    return this.#held.length;
  }

  verdict(): EncodingVerdict {
    if (this.shifted !== null) return { encoding: this.shifted, candidates: [] };
    if (this.bad === 0) return { encoding: 'UTF-8', candidates: [] };
    const { utf8, other } = this.#pieces;
    const readings = readingsOf(textOf([...utf8, ...other]));
    const [best, next] = readings;
    if (best !== undefined && isPlainly(best, next)) return { encoding: this.#titleOf(best), candidates: [] };
    if (utf8.size > 0 && other.size > 0) {
      const [reading, rival] = readingsOf(textOf([...utf8]), { utf8: true });
      if (reading?.encoding === 'utf-8' && isPlainly(reading, rival)) return { encoding: 'mixed', candidates: [] };
    }
    const candidates = readings.slice(0, 3).map((reading) => {
      return { key: `encoding: ${this.#titleOf(reading).toLowerCase()}`, reads: sampleOf(reading) };
    });
    return { encoding: 'unknown', candidates };
  }

  /** ISO-8859-1 where nothing distinguishes it from Windows-1252. */
  #titleOf({ encoding }: Reading): string {
    return encoding === 'windows-1252' && !this.#windowsOnly ? 'ISO-8859-1' : encodingTitle(encoding);
  }

  #findShift(chunk: Buffer): void {
    const [before = '', ...behind] = chunk.toString('latin1').split(String.fromCharCode(escapeByte));
    const found = shifts.find(([sign]) => behind.some((text) => sign.test(text)))?.[1];
    this.shifted = found ?? ([before, ...behind].some((text) => tildes.test(text)) ? 'HZ-GB-2312' : null);
  }

  #sample(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#pieces.utf8.size < mostPieces; at++)
      if ((bytes[at] ?? 0) >= 0x80) at = this.#keep(bytes, at);
  }

  #walk(bytes: Uint8Array): number[] {
    const offsets: number[] = [];
    let [at, kept] = [0, 0];
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      const length = lengthOf(byte);
      if (length === 1) {
        at += 1;
        continue;
      }
      const isCharacter = length > 1 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length));
      if (at >= kept && (this.#seen[byte] ?? 0) < mostPieces) kept = this.#keep(bytes, at);
      if (!isCharacter) {
        if (offsets.length < 10) offsets.push(at);
        this.bad += 1;
        if (byte < 0xa0) this.#windowsOnly = true;
      }
      at += isCharacter ? length : 1;
    }
    return offsets;
  }

  /** Keeps the piece of text around a byte as evidence; returns where it ends. */
  #keep(bytes: Uint8Array, at: number): number {
    const [from, to] = pieceAround(bytes, at);
    const isWhole = (from > 0 || !this.#begun) && (to < bytes.length || bytes.length < 0x10000);
    const isNew = (this.#seen[bytes[at] ?? 0] ?? 0) === 0;
    if (!isWhole || (!isNew && this.#bytes >= mostBytes)) return to;
    const piece = bytes.subarray(from, to);
    this.#pieces[isUtf8(piece) ? 'utf8' : 'other'].add(Buffer.from(piece).toString('latin1'));
    this.#bytes += piece.length;
    for (const byte of new Set(piece)) if (byte >= 0x80) this.#seen[byte] = (this.#seen[byte] ?? 0) + 1;
    return to;
  }
}

/** Bytes that a character starting with `lead` has; 0 when no character can start with it (RFC 3629). */
const lengthOf = (lead: number): number => {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
};

const unfinished = (bytes: Uint8Array): number => {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) !== 0x80) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
};

const pieceAround = (bytes: Uint8Array, at: number): [from: number, to: number] => {
  let [from, to] = [at, at];
  while (from > 0 && !ends.has(bytes[from - 1] ?? 0) && at - from < longestPiece) from -= 1;
  while (to < bytes.length && !ends.has(bytes[to] ?? 0) && to - at < longestPiece) to += 1;
  return [from, to];
};

const textOf = (pieces: string[]): Buffer => Buffer.from(`${pieces.join('\n')}\n`, 'latin1');

const longestSample = 60;

const sampleOf = ({ text }: Reading): string => {
  const line = text.split('\n').find((piece) => /[^\0-\x7f]/.test(piece)) ?? '';
  return line.length > longestSample ? `${line.slice(0, longestSample - 1)}…` : line;
};

/** What to do about text that is not UTF-8; `read` says how a known encoding is read. */
export const hintOf = ({ encoding, candidates }: EncodingVerdict, read: (encoding: string) => string): string => {
  if (encoding === 'mixed')
    return 'the file has characters in UTF-8 and others in another encoding: parts of several files were joined; save each as UTF-8 first';
  if (encoding !== 'unknown') return `judging by its words, the file is ${encoding}${read(encoding)}`;
  const [first] = candidates;
  if (first === undefined) return 'unknown encoding; save the file again as UTF-8 in the program that created it';
  const names = candidates.map(({ key }) => key.slice('encoding: '.length));
  const listed = new Intl.ListFormat('en', { type: 'disjunction' }).format(names).replace(', or ', ' or ');
  return `the encoding cannot be determined for certain; it may be ${listed}: set the right one with \`${first.key}\` or \`sluice check --encoding\`, or save the file again as UTF-8`;
};

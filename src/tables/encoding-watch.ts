// Watches the bytes of a table for its encoding: UTF-8 or not, and by what evidence it is another one.
import { isAscii, isUtf8 } from 'node:buffer';
import { lengthOf, unfinished } from './utf8.ts';

/** The encodings of a table by name; `mixed`: UTF-8 and another one; `unknown`: not UTF-8 and no evidence for another. */
export type Encoding = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | 'Windows-1252' | 'ISO-8859-1' | 'mixed' | 'unknown';

const isLetter = (byte: number): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

/** Letters of Windows-1252 and ISO-8859-1 outside ASCII. */
const isHighLetter = (byte: number): boolean =>
  (byte >= 0xc0 && byte !== 0xd7 && byte !== 0xf7) || [0x8a, 0x8c, 0x8e, 0x9a, 0x9c, 0x9e, 0x9f].includes(byte);

/** Bytes that Windows-1252 does not use. */
const unused = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);

/** Marks that may stand between two letters: apostrophe, dashes, middle dot, soft hyphen, no-break space. */
const innerMarks = new Set([0x92, 0x96, 0x97, 0xa0, 0xad, 0xb7]);

/** True when a byte makes sense in Windows-1252 where it stands. */
const isPlausible = (bytes: Uint8Array, at: number): boolean => {
  const [last, byte, next] = [bytes[at - 1] ?? 0, bytes[at] ?? 0, bytes[at + 1] ?? 0];
  if (unused.has(byte)) return false;
  const between = (isLetter(last) || isHighLetter(last)) && (isLetter(next) || isHighLetter(next));
  if (!isHighLetter(byte)) return !between || innerMarks.has(byte);
  // Words of Latin script have ASCII letters among the others; a capital does not follow a small letter.
  if (isHighLetter(last) && isHighLetter(next)) return false;
  return byte >= 0xdf || byte < 0xc0 || last < 0x61 || last > 0x7a;
};

/** Of bytes that are no UTF-8, the share that must make sense in Windows-1252 to take the file for it. */
const enough = 0.9;

/** How many offsets of bad bytes are kept of one chunk. */
const mostOffsets = 10;

/** Follows a stream of bytes chunk by chunk; characters may span chunks. */
export class EncodingWatch {
  #held: Uint8Array = new Uint8Array(0);
  /** Bytes that belong to no UTF-8 character. */
  bad = 0;
  #plausible = 0;
  #windowsOnly = 0;
  /** Chunks or characters with valid UTF-8 beyond ASCII. */
  #multibyte = 0;

  /**
   * Takes the next chunk; returns offsets in it of the first bytes that are no UTF-8. A character that began in the
   * chunk before is told at 0.
   */
  feed(chunk: Uint8Array): number[] {
    if (this.#held.length === 0 && isAscii(chunk)) return [];
    const held = this.#held.length;
    const bytes = held === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const whole = bytes.subarray(0, bytes.length - unfinished(bytes));
    this.#held = Buffer.from(bytes.subarray(whole.length));
    if (isUtf8(whole)) {
      if (!isAscii(whole)) this.#multibyte += 1;
      return [];
    }
    return this.#walk(whole).map((at) => Math.max(0, at - held));
  }

  /** How many bytes of a character were cut off by the end of the stream: those that are there; 0 when none was. */
  end(): number {
    return this.#held.length;
  }

  /** The encoding by all that was seen. */
  verdict(): Exclude<Encoding, 'UTF-16LE' | 'UTF-16BE'> {
    if (this.bad === 0) return 'UTF-8';
    // By chance two letters of Windows-1252 look like one of UTF-8 now and then.
    if (this.#multibyte > this.bad / 20) return 'mixed';
    if (this.#plausible < this.bad * enough) return 'unknown';
    return this.#windowsOnly > 0 ? 'Windows-1252' : 'ISO-8859-1';
  }

  #walk(bytes: Uint8Array): number[] {
    const offsets: number[] = [];
    let at = 0;
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      const length = lengthOf(byte);
      if (length === 1) at += 1;
      else if (length > 1 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) {
        this.#multibyte += 1;
        at += length;
      } else {
        if (offsets.length < mostOffsets) offsets.push(at);
        this.#judge(bytes, at);
        at += 1;
      }
    }
    return offsets;
  }

  #judge(bytes: Uint8Array, at: number): void {
    this.bad += 1;
    if (isPlausible(bytes, at)) this.#plausible += 1;
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80 && byte < 0xa0) this.#windowsOnly += 1;
  }
}

// Which encoding the bytes of a table are in, told by evidence, and what is found where it is not UTF-8.
import { isAscii, isUtf8 } from 'node:buffer';
import { notUtf8 } from '../scan/faults.ts';
import { lengthOf, unfinished } from '../scan/utf8.ts';
import { type Findings, toldOf } from './finding.ts';

/** Reads the bytes of a cell in an encoding; null for UTF-8 and those that are decoded before they are scanned. */
export const decoderOf = (encoding: string): ((bytes: Buffer) => string) | null => {
  if (encoding !== 'Windows-1252' && encoding !== 'ISO-8859-1') return null;
  const decoder = new TextDecoder('windows-1252'); // the two agree in all that ISO-8859-1 prints
  return (bytes) => decoder.decode(bytes);
};

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

/** A byte that belongs to no UTF-8 character, and where it stands. */
interface BadByte {
  line: number;
  column: number;
  byte: number;
  offset: number;
  context: string;
}

/** What is known of the encoding. */
interface EncodingFacts {
  encoding: string;
  /** Bytes that belong to no UTF-8 character. */
  count: number;
  /** The first of them. */
  places: BadByte[];
  bom: boolean;
}

const wideHint = 'save the file again as UTF-8 (in Excel: "CSV UTF-8 (Comma delimited)") and publish it again';

/** What evidence there is, and what a mend does. */
const evidence: Partial<Record<string, { hint: string; mend: string | null }>> = {
  'Windows-1252': {
    hint: 'by the places of these bytes the file is Windows-1252; save it as UTF-8, or let `sluice check --fix` do it',
    mend: 'the file is read as Windows-1252 and written as UTF-8',
  },
  'ISO-8859-1': {
    hint: 'by the places of these bytes the file is ISO-8859-1 (Latin-1); save it as UTF-8, or let `sluice check --fix` do it',
    mend: 'the file is read as ISO-8859-1 and written as UTF-8',
  },
  mixed: {
    hint: 'the file has characters in UTF-8 and others in another encoding: parts of several files were joined; save each as UTF-8 first',
    mend: null,
  },
  unknown: {
    hint: 'there is no evidence for one other encoding; save the file again as UTF-8 in the program it comes from, or name its encoding: `sluice check --encoding NAME --fix`',
    mend: null,
  },
};

/** Adds what is to be said of the encoding. */
export const encodingFinding = (findings: Findings, { encoding, count, places, bom }: EncodingFacts): void => {
  if (bom) {
    const message = 'the file begins with a byte order mark, which some programs take for a part of the first name';
    findings.add('bom', { line: 1, offset: 0, message, mend: 'the byte order mark is removed' });
  }
  if (encoding === 'UTF-16LE' || encoding === 'UTF-16BE') {
    const message = `the file is ${encoding} ("Unicode Text" in Excel), not UTF-8`;
    const mend = `the file is read as ${encoding} and written as UTF-8`;
    findings.add('wide-encoding', { code: 'table-encoding', line: 1, message, hint: wideHint, mend });
  }
  const known = evidence[encoding];
  if (known === undefined) {
    if (!encoding.startsWith('UTF-')) toldEncoding(findings, encoding);
    return;
  }
  const kind = encoding === 'mixed' ? 'mixed-encoding' : 'other-encoding';
  places.forEach(({ line, column, byte, offset, context }, at) => {
    const told = toldOf(notUtf8({ line, column }, byte, offset));
    const rest = at === places.length - 1 ? count - at : 1;
    findings.add(kind, { ...told, ...known, offset, context, count: rest });
  });
};

/** A file that is read in an encoding that somebody told. */
const toldEncoding = (findings: Findings, encoding: string): void => {
  findings.add('other-encoding', {
    code: 'table-encoding',
    line: 1,
    message: `the file is read as ${encoding}, as it was told; portals read UTF-8`,
    hint: 'look whether its letters are right, then let `sluice check --fix` write it as UTF-8',
    mend: `the file is read as ${encoding} and written as UTF-8`,
  });
};

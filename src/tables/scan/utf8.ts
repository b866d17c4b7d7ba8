// Incremental UTF-8 validation that reports where the first bad byte stands.
import { isUtf8 } from 'node:buffer';

/** Bytes that a character starting with `lead` has; 0 when no character can start with it (RFC 3629). */
export const lengthOf = (lead: number): number => {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
};

/** Length of the unfinished character that `bytes` may end with; 0 when it ends with a whole one. */
export const unfinished = (bytes: Uint8Array): number => {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) !== 0x80) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
};

/** Offset of the first byte that does not belong to a whole character; only asked when there is one. */
const firstBad = (bytes: Uint8Array): number => {
  let at = 0;
  while (at < bytes.length) {
    const length = lengthOf(bytes[at] ?? 0);
    if (length === 0 || !isUtf8(bytes.subarray(at, at + length)) || at + length > bytes.length) return at;
    at += length;
  }
  return at;
};

/** Validates a stream of bytes chunk by chunk; characters may span chunks. */
export class Utf8Check {
  #held: Uint8Array = new Uint8Array(0);
  #seen = 0;

  /** Takes the next chunk; returns the offset (from the start of the stream) of the first bad byte, or -1. */
  feed(chunk: Uint8Array): number {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const whole = bytes.subarray(0, bytes.length - unfinished(bytes));
    if (!isUtf8(whole)) return this.#seen + firstBad(whole);
    this.#seen += whole.length;
    this.#held = Buffer.from(bytes.subarray(whole.length)); // the chunk's memory may be used again
    return -1;
  }

  /** Ends the stream; returns the offset of a character that was cut off, or -1. */
  end(): number {
    return this.#held.length === 0 ? -1 : this.#seen;
  }
}

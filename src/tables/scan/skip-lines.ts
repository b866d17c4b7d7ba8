// Leaves lines at the top of a text out, whatever stands in them.

const lf = 10;
const cr = 13;

/** How much of the lines is kept for reports. */
const mostKept = 64 * 1024;

/** Takes a text piece by piece and leaves its first lines out. */
export class LineSkipper {
  /** Bytes that were left out, and the first of them. */
  bytes = 0;
  kept: Buffer = Buffer.alloc(0);
  #left: number;
  /** A line ended with CR at the end of a piece; an LF at the start of the next one belongs to it. */
  #afterReturn = false;

  constructor(count: number) {
    this.#left = count;
  }

  /** What is left of the next piece. */
  rest(piece: Buffer): Buffer {
    let at = this.#afterReturn && piece[0] === lf ? 1 : 0;
    this.#afterReturn = false;
    for (; this.#left > 0 && at < piece.length; at++) {
      const byte = piece[at];
      if (byte !== lf && byte !== cr) continue;
      this.#left--;
      if (byte === cr && piece[at + 1] === lf) at++;
      this.#afterReturn = byte === cr && at + 1 === piece.length;
    }
    this.bytes += at;
    if (at > 0 && this.kept.length < mostKept) this.kept = Buffer.concat([this.kept, piece.subarray(0, at)]);
    return piece.subarray(at);
  }
}

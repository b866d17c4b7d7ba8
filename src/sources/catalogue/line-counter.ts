// Turns byte offsets of a stream into lines and columns, looking at each chunk once.
const newline = 10;

/** A place in a text; both count from 1, columns in characters. */
export interface Place {
  line: number;
  column: number;
}

/** Counts lines while chunks go by. Offsets that are asked for must not go back behind the line of the last one. */
export class LineCounter {
  #chunk: Uint8Array = new Uint8Array();
  /** Offset of the chunk in the stream. */
  #base = 0;
  /** Line and its start at the cursor, which only goes forward. */
  #line = 1;
  #lineStart = 0;
  #cursor = 0;
  /** Characters of the present line in earlier chunks. */
  #before = 0;

  /** Takes the next chunk; the rest of the last one is counted. */
  take(chunk: Uint8Array): void {
    this.#forward(this.#base + this.#chunk.length);
    const begun = this.#lineStart - this.#base;
    this.#before = (begun < 0 ? this.#before : 0) + length(this.#chunk.subarray(Math.max(0, begun)));
    this.#base += this.#chunk.length;
    this.#chunk = chunk;
  }

  /** The place of a byte of the present chunk; of a byte before it, the beginning of the chunk. */
  at(offset: number): Place {
    this.#forward(offset);
    const from = Math.max(0, this.#lineStart - this.#base);
    const inChunk = length(this.#chunk.subarray(from, Math.max(from, offset - this.#base)));
    return { line: this.#line, column: (this.#lineStart < this.#base ? this.#before : 0) + inChunk + 1 };
  }

  #forward(to: number): void {
    const end = Math.min(to, this.#base + this.#chunk.length);
    while (this.#cursor < end) {
      const found = this.#chunk.indexOf(newline, this.#cursor - this.#base);
      const at = found === -1 ? Number.POSITIVE_INFINITY : found + this.#base;
      if (at >= end) {
        this.#cursor = end;
        return;
      }
      this.#line += 1;
      this.#lineStart = at + 1;
      this.#cursor = at + 1;
    }
  }
}

const length = (bytes: Uint8Array): number => new TextDecoder().decode(bytes).length;

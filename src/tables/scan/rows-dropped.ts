// Rows that the simple importer of entity portals drops: it reads blocks of 32 bytes, writes after every 1,000th row, and
// forgets what else ended in that block (recorded behaviour 13a).
import { createReadStream } from 'node:fs';

const blockBytes = 32;
const rowsAtOnce = 1000;

const [quote, backslash, lineFeed, carriageReturn] = [0x22, 0x5c, 0x0a, 0x0d];

/** Lines (from 1) of the rows that such an importer drops of a CSV file with a header and `rows` rows. */
export const rowsDropped = async (path: string, rows: number, signal: AbortSignal): Promise<number[]> => {
  if (rows <= rowsAtOnce) return [];
  const scan = new Scan();
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    for (const byte of chunk) scan.take(byte);
  }
  return scan.dropped;
};

class Scan {
  readonly dropped: number[] = [];
  #offset = 0;
  #line = 1;
  #begunAt = 1;
  #records = 0;
  /** The block in which the last 1,000th row ended. */
  #fullBlock = -1;
  #isQuoted = false;
  #isEscaped = false;
  #isEmpty = true;

  take(byte: number): void {
    const isEnd = (byte === lineFeed || byte === carriageReturn) && !this.#isQuoted;
    if (!isEnd) {
      if (this.#isEmpty) this.#begunAt = this.#line;
      this.#isEmpty = false;
      if (byte === quote && !this.#isEscaped) this.#isQuoted = !this.#isQuoted;
    } else if (!this.#isEmpty) this.#endRecord();
    this.#isEscaped = byte === backslash && !this.#isEscaped;
    if (byte === lineFeed) this.#line += 1;
    this.#offset += 1;
  }

  #endRecord(): void {
    const block = Math.floor(this.#offset / blockBytes);
    // The header is record 0.
    if (block === this.#fullBlock) this.dropped.push(this.#begunAt);
    else if (this.#records > 0 && this.#records % rowsAtOnce === 0) this.#fullBlock = block;
    this.#records += 1;
    this.#isEmpty = true;
  }
}

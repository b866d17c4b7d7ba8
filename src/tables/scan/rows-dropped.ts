// Rows that the simple importer of entity portals drops: it reads blocks of 32 bytes, writes after every 1,000th row, and
// forgets what else ended in that block (recorded behaviour 13a).
import { createReadStream } from 'node:fs';

const blockBytes = 32;
const rowsAtOnce = 1000;

const [quote, backslash, lineFeed, carriageReturn] = [0x22, 0x5c, 0x0a, 0x0d];

/** Lines (from 1) of the rows that such an importer drops of a CSV file with a header and `rows` rows. */
export const rowsDropped = async (path: string, rows: number, signal: AbortSignal): Promise<number[]> => {
  const dropped: number[] = [];
  if (rows <= rowsAtOnce) return dropped;
  let [offset, line, begunAt, records] = [0, 1, 1, 0];
  /** The block in which the last 1,000th row ended. */
  let fullBlock = -1;
  let [isQuoted, isEscaped, isEmpty] = [false, false, true];
  const endRecord = (): void => {
    const block = Math.floor(offset / blockBytes);
    // The header is record 0.
    if (block === fullBlock) dropped.push(begunAt);
    else if (records > 0 && records % rowsAtOnce === 0) fullBlock = block;
    records += 1;
    isEmpty = true;
  };
  const take = (byte: number): void => {
    const isEnd = (byte === lineFeed || byte === carriageReturn) && !isQuoted;
    if (!isEnd) {
      if (isEmpty) begunAt = line;
      isEmpty = false;
      if (byte === quote && !isEscaped) isQuoted = !isQuoted;
    } else if (!isEmpty) endRecord();
    isEscaped = byte === backslash && !isEscaped;
    if (byte === lineFeed) line += 1;
    offset += 1;
  };
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    for (const byte of chunk) take(byte);
  }
  return dropped;
};

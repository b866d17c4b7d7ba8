// The memory of a scanner, kept for the next one: that of a small table takes longer to get than to fill.

/** The arrays of a scanner; see `CellScanner` for what they hold. */
export interface CellMemory {
  bytes: Buffer;
  starts: Int32Array;
  ends: Int32Array;
  marks: Int32Array;
  rowCells: Int32Array;
  rowStarts: Int32Array;
  rowLines: Float64Array;
  rowOver: Uint8Array;
}

/** How many are kept, and how large they may be: bytes of the table, cells and rows. */
const [mostKept, mostBytes, mostEntries] = [2, 128 * 1024, 32 * 1024];

const kept: CellMemory[] = [];

const newMemory = (): CellMemory => ({
  bytes: Buffer.alloc(64),
  starts: new Int32Array(64),
  ends: new Int32Array(64),
  marks: new Int32Array(64),
  rowCells: new Int32Array(64),
  rowStarts: new Int32Array(64),
  rowLines: new Float64Array(64),
  rowOver: new Uint8Array(64),
});

/** Memory that holds anything. */
export const takeMemory = (): CellMemory => kept.pop() ?? newMemory();

/** Keeps the memory for another; nobody may use it any more. */
export const giveMemory = (memory: CellMemory): void => {
  const { bytes, starts, ends, marks, rowCells, rowStarts, rowLines, rowOver } = memory;
  const entries = Math.max(starts.length, rowCells.length);
  if (kept.length >= mostKept || bytes.length > mostBytes || entries > mostEntries) return;
  kept.push({ bytes, starts, ends, marks, rowCells, rowStarts, rowLines, rowOver });
};

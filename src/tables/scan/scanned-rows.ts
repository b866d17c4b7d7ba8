// Rows as they lie in memory: bytes, and where the cells of each row are in them.
import { has } from './byte-class.ts';

const doubled = (numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
};

/** The rows that were completed last, see `CellScanner`, and the beginning of the next one. */
export class ScannedRows {
  /** The bytes that the offsets below count in; valid up to the row that is not complete yet. */
  bytes: Buffer = Buffer.alloc(64);
  /** Offset in the stream of the first of {@link bytes}. */
  base = 0;
  /** Offset behind the last of them. */
  end = 0;
  starts = new Int32Array(1024);
  ends = new Int32Array(1024);
  marks = new Int32Array(1024);
  rows = 0;
  /** See the class; one entry more than {@link rows}. */
  rowCells = new Int32Array(256);
  rowStarts = new Int32Array(256);
  rowLines = new Int32Array(256).fill(1, 0, 1);
  /** Cells so far, with those of the row that is not complete yet. */
  protected cells = 0;

  firstCell(row: number): number {
    return this.rowCells[row] ?? 0;
  }

  width(row: number): number {
    return this.firstCell(row + 1) - this.firstCell(row);
  }

  lineOf(row: number): number {
    return this.rowLines[row] ?? 1;
  }

  startOf(row: number): number {
    return this.rowStarts[row] ?? 0;
  }

  outerStart(cell: number): number {
    return (this.starts[cell] ?? 0) - (this.isQuoted(cell) ? 1 : 0);
  }

  outerEnd(cell: number): number {
    return (this.ends[cell] ?? 0) + (this.isQuoted(cell) ? 1 : 0);
  }

  isQuoted(cell: number): boolean {
    return ((this.marks[cell] ?? 0) & has.quotes) !== 0;
  }

  isEmpty(cell: number): boolean {
    return this.starts[cell] === this.ends[cell];
  }

  /** Forgets the complete rows; returns by how many bytes everything has moved. */
  protected dropRows(): number {
    const from = this.rowStarts[this.rows] ?? 0;
    const firstCell = this.rowCells[this.rows] ?? 0;
    this.rowLines[0] = this.rowLines[this.rows] ?? 1;
    this.rows = 0;
    this.rowCells[0] = 0;
    this.rowStarts[0] = 0;
    if (from === 0) return 0;
    this.bytes.copyWithin(0, from, this.end + 1); // with the sentinel, see `append`
    this.base += from;
    this.end -= from;
    for (let cell = firstCell; cell < this.cells; cell++) {
      this.starts[cell - firstCell] = (this.starts[cell] ?? 0) - from;
      this.ends[cell - firstCell] = (this.ends[cell] ?? 0) - from;
      this.marks[cell - firstCell] = this.marks[cell] ?? 0;
    }
    this.cells -= firstCell;
    return from;
  }

  protected append(chunk: Uint8Array): void {
    const needed = this.end + chunk.length + 1;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(this.bytes.length * 2, needed * 2)));
      this.bytes.copy(larger, 0, 0, this.end);
      this.bytes = larger;
    }
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
    this.bytes[this.end] = 10; // a sentinel, so that inner loops need not check for the end
  }

  protected addCell(start: number, end: number, mark: number): void {
    const cell = this.cells++;
    if (cell === this.starts.length) {
      this.starts = doubled(this.starts);
      this.ends = doubled(this.ends);
      this.marks = doubled(this.marks);
    }
    this.starts[cell] = start;
    this.ends[cell] = end;
    this.marks[cell] = mark;
  }

  protected addRow(): void {
    this.rows += 1;
    if (this.rows + 1 >= this.rowCells.length) {
      this.rowCells = doubled(this.rowCells);
      this.rowStarts = doubled(this.rowStarts);
      this.rowLines = doubled(this.rowLines);
    }
    this.rowCells[this.rows] = this.cells;
  }
}

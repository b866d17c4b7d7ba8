// Rows on their way from a source to a table.

/** One row. */
export interface Row {
  /** Line of the source on which it begins (of a workbook its row, of JSON its number), from 1. */
  line: number;
  cells: string[];
  /** Cells as they were read, where rejected rows are written down. */
  raw?: string[];
}

/** A table in passing: its columns are known, its rows come in batches. */
export interface Table {
  columns: string[];
  batches: AsyncIterable<Row[]>;
}

/** What is refused for its size. */
export interface Limits {
  /** Largest table, bytes, also of what an archive unfolds to. */
  bytes: number;
  /** Largest row, bytes. */
  rowBytes: number;
  /** Most columns. */
  columns: number;
  /** Most bytes that one compressed byte may become, once {@link Limits.freeBytes} came out. */
  ratio: number;
  freeBytes: number;
}

// Rows on their way from a source to a table.
import type { TableFaultError } from '../../model/errors.ts';

/** One row. */
export interface Row {
  /** Line of the source on which it begins (of a workbook its row, of JSON its number), from 1. */
  line: number;
  cells: string[];
  /** Cells as they were read, where rejected rows are written down. */
  raw?: string[];
  /** What is wrong with it as text: quotes that do not fit, a size beyond the limit. */
  fault?: TableFaultError;
}

/** A table in passing: its columns are known, its rows come in batches. */
export interface Table {
  columns: string[];
  batches: AsyncIterable<Row[]>;
  /** Closes what is open, also when no batch was ever asked for. Idempotent. */
  close?(): Promise<unknown>;
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

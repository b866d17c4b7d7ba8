// The contract of a step that works row by row, and what such steps share.
import type { BadRows, Violation } from '../bad-rows.ts';
import { ambiguousColumn, noColumn, type Row } from '../row.ts';

/** A step of the recipe, compiled for the columns before it, that works on one row at a time. */
export interface RowStep {
  columns: string[];
  /** Changes the row in place; false drops it. */
  apply(row: Row): boolean;
  summary(): string;
  close?(): void;
}

export interface StepTools {
  bad: BadRows;
  /** A unique path for a temporary file beside the table. */
  scratch(name: string): string;
  /** Largest row. */
  rowBytes: number;
  /** Longest time for a batch of rows, milliseconds, when it is not the default. */
  batchMs?: number;
  /** Called for each row that a module reads or yields: it is not stuck. */
  alive?(): void;
}

/** The place of a column; throws when there is none or several of that name. */
export const placeOf = (step: string, columns: string[], name: string): number => {
  const at = columns.indexOf(name);
  if (at === -1) throw noColumn(step, name, columns);
  if (columns.includes(name, at + 1)) throw ambiguousColumn(step, name);
  return at;
};

/** A violation in one column. */
export const inColumn = (columns: string[], at: number, message: string): Violation => ({
  column: columns[at] ?? '',
  at: at + 1,
  message,
});

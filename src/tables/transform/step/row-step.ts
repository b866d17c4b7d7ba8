// A step of the recipe once its columns are known.
import type { BadRows, Violation } from '../bad-rows.ts';
import { ambiguousColumn, noColumn, type Row } from '../row.ts';

/** A step that looks at one row at a time. */
export interface RowStep {
  /** Columns behind it. */
  columns: string[];
  /** Changes the row in place; false: the row is gone. */
  apply(row: Row): boolean;
  /** What it did, for the job log. */
  summary(): string;
  close?(): void;
}

/** What steps are made with. */
export interface StepTools {
  bad: BadRows;
  /** A path of its own for a file beside the table that is made. */
  scratch(name: string): string;
  /** Longest time for a batch of rows, milliseconds, where it is another than the usual one. */
  batchMs?: number;
  /** Told of each row that a module takes or gives: it is not stuck. */
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

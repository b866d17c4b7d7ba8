// The contract of a step that works row by row, and what such steps share.
import { TableStepError } from '../../../model/errors.ts';
import type { Step } from '../../../model/recipe/steps.ts';
import { noColumn, type Row, shown } from '../row.ts';

/** What is wrong with a row. */
export interface Violation {
  /** Name of the column; null where the row as a whole is meant. */
  column: string | null;
  /** Its number in the row, from 1. */
  at: number | null;
  message: string;
}

/** Rows that a step dropped, and those that it found bad. */
export interface StepCount {
  dropped: number;
  rejected: number;
}

/** A step of the recipe, compiled for the columns before it, that works on one row at a time. */
export interface RowStep {
  columns: string[];
  /** Changes the row in place; false drops it, violations make it a bad row. */
  apply(row: Row): boolean | Violation[];
  summary(count: StepCount): string;
  close?(): void;
}

export interface StepTools {
  /** A unique path for a temporary file beside the table. */
  scratch(name: string): string;
  rowBytes: number;
  /** Longest time for a batch of rows, milliseconds, when it is not the default. */
  batchMs?: number;
  /** Called for each row that a module reads or yields: it is not stuck. */
  alive?(): void;
}

/** By step: compiles it for the columns before it. */
export type StepMakers<Key extends keyof Step> = {
  [K in Key]: (columns: string[], wanted: NonNullable<Step[K]>, tools: StepTools) => RowStep;
};

/** The place of a column; throws when there is none or several of that name. */
export const placeOf = (step: string, columns: string[], name: string): number => {
  const at = columns.indexOf(name);
  if (at === -1) throw noColumn(step, name, columns);
  if (!columns.includes(name, at + 1)) return at;
  throw new TableStepError(`step ${step}: several columns are called ${shown(name)}`, {
    hint: 'give the columns unique names first, with `header: {names: [...]}`',
  });
};

export const inColumn = (columns: string[], at: number, message: string): Violation => ({
  column: columns[at] ?? '',
  at: at + 1,
  message,
});

export const inRow = (message: string): Violation => ({ column: null, at: null, message });

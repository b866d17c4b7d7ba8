// A row on its way through the steps, what a step is, and the faults of rows and of steps.
import { errorMessage, type TableFaultError, TableInputError, TableStepError } from '../../model/errors.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { countText, listed } from '../../util/plural.ts';
import { faultOf } from '../scan/fault-kinds.ts';

export interface Row {
  /** Line of the source on which it begins (of a workbook its row, of JSON its number), from 1. */
  line: number;
  cells: string[];
  raw?: string[];
  /** A fault of its text: misplaced quotes, a size beyond the limit. */
  fault?: TableFaultError;
}

/** A table as a stream: its columns are known, its rows come in batches. */
export interface Table {
  columns: string[];
  /** True where the columns have their names from the source itself, so that no row can be the header. */
  isNamed?: boolean;
  /** Of a workbook: the sheet, the row of the header, and the empty columns before the table. */
  sheet?: { name: string; header: number; indent: number };
  batches: AsyncIterable<Row[]>;
  /** Closes what is open, also when no batch was requested. Idempotent. */
  close?(): Promise<unknown>;
}

export async function* inBatches(rows: AsyncIterable<Row> | Iterable<Row>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  for await (const row of rows) {
    if (batch.push(row) < 500) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** What is said about the making of a table, a line each. */
export interface MakingReport {
  notes: string[];
  /** What was fixed; no row contents. */
  fixes: string[];
  /** What of the source may be missing. */
  warnings: string[];
}

export interface Limits {
  /** Largest table, bytes, also when unpacked from an archive. */
  tableBytes: number;
  rowBytes: number;
}

/** Most columns; and how many times as large as its source a table may be, once it has more than so many bytes. */
export const [columnLimit, mostGrowth, freeBytes] = [4096, 250, 64 * 1024 * 1024];

/** Text of a cell or name for a message: one line, not long. */
export const shown = (text: string): string => {
  const flat = text.replaceAll(/\s+/g, ' ');
  return JSON.stringify(flat.length > 40 ? `${flat.slice(0, 39)}…` : flat);
};

/** A table that is out of all proportion to its source: many empty cells, or one text many times. */
export const outgrown = (): TableInputError =>
  new TableInputError(`the table would be more than ${mostGrowth} times as large as the file`, {
    hint: 'look for rows that are empty but for a few cells, for one text in very many cells, and for steps that repeat text',
  });

export const tooLarge = (what: string, limits: Limits): TableInputError =>
  new TableInputError(`${what} holds more than the limit of ${countText(Math.round(limits.tableBytes / 1e6))} MB`, {
    hint: 'split the file, or raise limits.table in the configuration',
  });

export const damaged = (what: string, cause: unknown): TableInputError =>
  new TableInputError(`${what} is damaged: ${errorMessage(cause)}`, {
    hint: 'copy or export the file again in full',
    cause,
  });

export const oversizeRow = (line: number, { rowBytes }: Pick<Limits, 'rowBytes'>): TableFaultError =>
  faultOf('row-oversize', { line }, { limit: rowBytes, isMade: true });

export const tooManyColumns = (count: number): TableInputError =>
  new TableInputError(`the header has ${countText(count)} columns, more than the limit of ${countText(columnLimit)}`, {
    line: 1,
    hint: 'portals cannot store such a table; turn columns into rows, or split the file',
  });

export const noHeader = (line: number, sheet?: string): TableFaultError =>
  faultOf('empty-file', { line, sheet }, { isBelow: true });

/** A sound source that is not one table. */
export class NotOneTable extends TableInputError {
  /** Several tables, and rows that are no table yet, may be meant as one; `unread`: what may be one and is not read. */
  readonly holds: 'several' | 'rows' | 'unread' | 'nothing';
  override readonly name = 'TableInputError'; // what it is outside of this thread

  constructor(message: string, holds: NotOneTable['holds'], details: ConstructorParameters<typeof TableInputError>[1]) {
    super(message, details);
    this.holds = holds;
  }
}

export const noColumn = (step: string, name: string, columns: string[]): TableStepError => {
  const known = listed(columns.map(shown), 20);
  return new TableStepError(`step ${step}: there is no column ${shown(name)}; there are ${known}`, {
    hint: 'names are compared letter by letter; earlier steps may have renamed or dropped the column',
  });
};

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

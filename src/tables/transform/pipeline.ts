// Runs the rows of a table through the steps of its recipe.
import { createContext, Script } from 'node:vm';
import { TableStepError } from '../../model/errors.ts';
import type { TableRecipe } from '../../model/recipe/recipe.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { plural } from '../../util/plural.ts';
import { faultOf } from '../scan/fault-kinds.ts';
import type { Row, Table } from './row.ts';
import {
  castStep,
  computedStep,
  constantStep,
  dropStep,
  fillStep,
  renameStep,
  replaceStep,
  selectStep,
} from './step/cells.ts';
import { pluginStage } from './step/plugin.ts';
import type { RowStep, StepTools } from './step/row-step.ts';
import { dedupeStep, filterStep, sortStage, splitStep } from './step/rows.ts';
import { schemaStep } from './step/schema.ts';

/** Work was stopped because it took too long. */
class OutOfTime extends Error {}

/** Longest time for a batch of rows, milliseconds; a usual batch takes a few. */
const mostBatchMs = 20_000;

const context = createContext({ work: (): void => undefined });
const script = new Script('work()');

/**
 * Returns the result of `work`; throws {@link OutOfTime} when it takes longer than `ms`. Only V8 itself can interrupt a
 * regular expression, and does so for scripts with a timeout, so the work runs inside one.
 */
const withinTime = <T>(ms: number, work: () => T): T => {
  const done: T[] = [];
  context.work = (): void => {
    done.push(work());
  };
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    if (isTimeout(error)) throw new OutOfTime(`not done after ${ms} ms`);
    throw error;
  }
  return done[0] as T; // the work has ended, so its result is there
};

/** The error comes from the other context, so `instanceof Error` would be false. */
const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/** A table after all steps. */
export interface Pipeline extends Omit<Table, 'close'> {
  /** What the steps did, a line each; complete once all rows were read. */
  summary(): string[];
  rowsRead(): number;
  close(): void;
}

/** Chains the steps of a recipe, and then its schema, to a table. */
export const pipelineOf = async (
  table: Table,
  { steps, schema }: Pick<TableRecipe, 'steps' | 'schema'>,
  tools: StepTools,
): Promise<Pipeline> => {
  const parts: Pick<RowStep, 'summary' | 'close'>[] = [];
  const close = (): void => {
    for (const part of parts) part.close?.();
  };
  let rowsRead = 0;
  let here: Table = {
    columns: table.columns,
    batches: soundRows(table, tools, (rows) => {
      rowsRead += rows;
    }),
  };
  let pending: RowStep[] = [];
  const flush = (): void => {
    if (pending.length === 0) return;
    here = { columns: pending.at(-1)?.columns ?? here.columns, batches: through(here.batches, pending, tools) };
    pending = [];
  };
  const add = (step: RowStep): void => {
    pending.push(step);
    parts.push(step);
  };
  try {
    for (const step of steps) {
      const columns = pending.at(-1)?.columns ?? here.columns;
      const byRow = rowStepOf(step, columns, tools);
      if (byRow !== null) add(byRow);
      else if (step.sort !== undefined || step.transform !== undefined) {
        flush();
        const stage =
          step.sort === undefined
            ? await pluginStage(here, step.transform ?? '', tools)
            : sortStage(here, step.sort, tools);
        here = { columns: stage.columns, batches: stage.batches };
        parts.push(stage);
      }
    }
    if (schema !== null) add(schemaStep(pending.at(-1)?.columns ?? here.columns, schema, tools));
    flush();
  } catch (error) {
    close();
    throw error;
  }
  return { ...here, summary: () => parts.map((part) => part.summary()), rowsRead: () => rowsRead, close };
};

const rowStepOf = (step: Step, columns: string[], tools: StepTools): RowStep | null => {
  const { select, drop, rename, filter, cast, replace, fill, dedupe, constant, computed, split } = step;
  if (select !== undefined) return selectStep(columns, select);
  if (drop !== undefined) return dropStep(columns, drop);
  if (rename !== undefined) return renameStep(columns, rename);
  if (filter !== undefined) return filterStep(columns, filter, tools);
  if (cast !== undefined) return castStep(columns, cast, tools);
  if (replace !== undefined) return replaceStep(columns, replace);
  if (fill !== undefined) return fillStep(columns, fill);
  if (dedupe !== undefined) return dedupeStep(columns, dedupe, tools);
  if (split !== undefined) return splitStep(columns, split, tools);
  if (constant !== undefined) return constantStep(columns, constant);
  return computed === undefined ? null : computedStep(columns, computed, tools);
};

/** Rejects faulty and ragged rows, and keeps the cells as they were read where rejected rows are written. */
async function* soundRows(
  { columns, batches }: Table,
  { bad }: StepTools,
  count: (rows: number) => void,
): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    count(batch.length);
    let sound: Row[] = [];
    for (const row of batch) {
      const message = wrongWith(row, columns.length);
      if (message === null) {
        if (bad.wantsRaw) row.raw = row.cells.slice();
        sound.push(row);
        continue;
      }
      if (row.fault !== undefined && bad.allowsNone) throw row.fault;
      // The rows above go first, so that bad rows are reported in order.
      if (sound.length > 0) yield sound;
      sound = [];
      bad.reject(row, [{ column: null, at: null, message }]);
    }
    if (sound.length > 0) yield sound;
  }
}

const wrongWith = ({ cells, fault }: Row, width: number): string | null => {
  if (fault !== undefined) return fault.what;
  return cells.length === width ? null : `the row has ${plural(cells.length, 'cell')}, the header has ${width}`;
};

async function* through(
  batches: AsyncIterable<Row[]>,
  steps: readonly RowStep[],
  tools: StepTools,
): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    const kept = keptOf(batch, steps, tools);
    if (kept.length > 0) yield kept;
  }
}

const keptOf = (batch: Row[], steps: readonly RowStep[], { batchMs = mostBatchMs, rowBytes }: StepTools): Row[] => {
  let line = 0;
  const apply = (step: RowStep, row: Row): boolean => {
    const isKept = step.apply(row);
    // At once, for texts may double with each step.
    const at = row.cells.findIndex(({ length }) => length > rowBytes);
    if (at < 0) return isKept;
    throw faultOf('row-oversize', { line, column: at + 1 }, { limit: rowBytes, isMade: true });
  };
  const keep = (row: Row): boolean => {
    line = row.line;
    return steps.every((step) => apply(step, row));
  };
  try {
    return withinTime(batchMs, () => batch.filter(keep));
  } catch (error) {
    if (error instanceof RangeError && error.message === 'Invalid string length')
      throw faultOf('row-oversize', { line }, { limit: rowBytes, isMade: true });
    if (!(error instanceof OutOfTime)) throw error;
    throw new TableStepError(`line ${line}: a step does not finish here`, {
      hint: 'look for a regular expression with nested repetition, such as `(a+)+`, and simplify it',
      cause: error,
    });
  }
};

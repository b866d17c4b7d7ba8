// Runs the rows of a table through the steps of its recipe.
import { createContext, Script } from 'node:vm';
import { TableStepError } from '../../model/errors.ts';
import type { TableRecipe } from '../../model/recipe/recipe.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { recordOf } from '../../util/json.ts';
import { plural } from '../../util/plural.ts';
import { faultOf } from '../scan/fault-kinds.ts';
import type { badRowsOf } from './bad-rows.ts';
import { inRow, oversizeRow, type Row, type RowStep, type StepCount, type StepTools, type Table } from './row.ts';
import { cellSteps } from './step/cells.ts';
import { pluginStage } from './step/plugin.ts';
import { rowSteps, sortStage } from './step/rows.ts';
import { schemaStep } from './step/schema.ts';

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
  context.work = (): void => void done.push(work());
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    const { code } = recordOf(error); // it comes from the other context, so that it is no `Error` of this one
    throw code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new OutOfTime(`not done after ${ms} ms`) : error;
  }
  return done[0] as T; // the work has ended, so its result is there
};

export interface Pipeline extends Omit<Table, 'close'> {
  /** What the steps did, a line each; complete once all rows were read. */
  summary(): string[];
  rowsRead(): number;
  close(): Promise<void>;
}

interface Counted {
  step: RowStep;
  count: StepCount;
}

type Tools = StepTools & { bad: ReturnType<typeof badRowsOf> };

export const pipelineOf = async (
  table: Table,
  { steps, schema }: Pick<TableRecipe, 'steps' | 'schema'>,
  tools: Tools,
): Promise<Pipeline> => {
  const parts: { summary(): string; close(): unknown }[] = [];
  /** From the last one on, as each takes its rows from the one before. */
  const close = async (): Promise<void> => {
    for (const part of parts.toReversed()) await part.close();
  };
  const read = { rows: 0 };
  let here: Table = { columns: table.columns, batches: soundRows(table, tools, read) };
  let pending: Counted[] = [];
  const flush = (): void => {
    if (pending.length > 0) here = { ...here, batches: through(here.batches, pending, tools) };
    pending = [];
  };
  const add = (step: RowStep): void => {
    const counted = { step, count: { dropped: 0, rejected: 0 } };
    pending.push(counted);
    here = { ...here, columns: step.columns };
    parts.push({ summary: () => step.summary(counted.count), close: () => step.close?.() });
  };
  try {
    for (const step of steps) {
      const { sort, transform } = step;
      if (sort === undefined && transform === undefined)
        for (const made of rowStepsOf(step, here.columns, tools)) add(made);
      else {
        flush();
        const stage =
          sort === undefined ? await pluginStage(here, transform ?? '', tools) : sortStage(here, sort, tools);
        here = { columns: stage.columns, batches: stage.batches };
        parts.push(stage);
      }
    }
    if (schema !== null) add(schemaStep(here.columns, schema, tools));
    flush();
  } catch (error) {
    await close();
    throw error;
  }
  return { ...here, summary: () => parts.map((part) => part.summary()), rowsRead: () => read.rows, close };
};

type Maker = (columns: string[], wanted: unknown, tools: StepTools) => RowStep;

const makers = new Map<string, unknown>(Object.entries({ ...cellSteps, ...rowSteps })) as Map<string, Maker>; // by the schema of steps

/** The step by its only key; none for those that say how the file is read. */
const rowStepsOf = (step: Step, columns: string[], tools: StepTools): RowStep[] =>
  Object.entries(step).flatMap(([key, wanted]) => makers.get(key)?.(columns, wanted, tools) ?? []);

/** Rejects faulty and ragged rows, and keeps the cells as they were read where rejected rows are written. */
async function* soundRows({ columns, batches }: Table, { bad }: Tools, read: { rows: number }): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    read.rows += batch.length;
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
      bad.reject(row, [inRow(message)]);
    }
    if (sound.length > 0) yield sound;
  }
}

const wrongWith = ({ cells, fault }: Row, width: number): string | null => {
  if (fault !== undefined) return fault.what;
  return cells.length === width ? null : `the row has ${plural(cells.length, 'cell')}, the header has ${width}`;
};

async function* through(batches: AsyncIterable<Row[]>, steps: Counted[], tools: Tools): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    const kept = keptOf(batch, steps, tools);
    if (kept.length > 0) yield kept;
  }
}

const keptOf = (batch: Row[], steps: Counted[], { bad, batchMs = mostBatchMs, rowBytes }: Tools): Row[] => {
  let line = 0;
  const apply = ({ step, count }: Counted, row: Row): boolean => {
    const result = step.apply(row);
    if (result === false) count.dropped++;
    else if (result !== true) {
      count.rejected++;
      bad.reject(row, result);
    }
    // At once, for texts may double with each step.
    const at = row.cells.findIndex(({ length }) => length > rowBytes);
    if (at < 0) return result === true;
    throw faultOf('row-oversize', { line, column: at + 1 }, { limit: rowBytes, isMade: true });
  };
  const keep = (row: Row): boolean => {
    line = row.line;
    return steps.every((step) => apply(step, row));
  };
  try {
    return withinTime(batchMs, () => batch.filter(keep));
  } catch (error) {
    if (error instanceof RangeError && error.message === 'Invalid string length') throw oversizeRow(line, { rowBytes });
    if (!(error instanceof OutOfTime)) throw error;
    throw new TableStepError(`line ${line}: a step does not finish here`, {
      hint: 'look for a regular expression with nested repetition, such as `(a+)+`, and simplify it',
      cause: error,
    });
  }
};

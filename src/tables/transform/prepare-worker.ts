// Worker-thread entry: converts a source to canonical CSV by its recipe.
import { rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isFullCode, missingSource, StateFullError } from '../../model/errors.ts';
import { isConvertible, isTabular } from '../../model/recipe/recipe.ts';
import { sweepAttempts } from '../../util/files.ts';
import { beat, type CancelFlag, type Cancellable, isCancelled } from '../../util/worker-pool.ts';
import type { CheckOptions, TableReport } from '../check.ts';
import { fixSafely } from '../fix/fix-worker.ts';
import { sheetPlaces } from '../inspect/sheet-places.ts';
import { portalDelimiter } from '../scan/dialect.ts';
import { type Answer, answerOf } from '../thread-answer.ts';
import { badRowsOf, CsvFile, csvLine } from './bad-rows.ts';
import { openSource, type SourceTask, textPaths } from './input/open-source.ts';
import { type Pipeline, pipelineOf } from './pipeline.ts';
import {
  freeBytes,
  type MakingReport,
  mostGrowth,
  NotOneTable,
  outgrown,
  oversizeRow,
  type Row,
  type Table,
  tooLarge,
} from './row.ts';

export interface PrepareTask extends SourceTask {
  rejects: string;
}

export interface MadeTable extends MakingReport, Pick<TableReport, 'bytes' | 'sha256' | 'columns'> {
  kind: 'table';
  rowsIn: number;
  rowsOut: number;
  rejected: { rows: number; examples: string[] };
  reading: Pick<CheckOptions, 'delimiter' | 'skipRows' | 'sheet'>;
}

/** What is made of a source: a table, or nothing, as it may be published as it is. */
export type Made = MadeTable | { kind: 'as-is'; why: string; warnings?: string[] };

export const prepareFile = (task: Cancellable<PrepareTask>): Promise<Answer<Made>> =>
  answerOf(
    async () => {
      try {
        return await prepare(task);
      } catch (error) {
        if (!(error instanceof NotOneTable) || task.recipe.asked) throw error;
        const { message: why, hint, holds } = error;
        // Who has files fixed expects tables, so that a source with rows that is none is refused then.
        if (task.recipe.mend !== undefined && (holds === 'several' || holds === 'rows')) throw error;
        const warning = `${why}; it is published as a file, without rows: ${hint}`;
        return { kind: 'as-is', why, ...(holds !== 'nothing' && { warnings: [warning] }) };
      } finally {
        // Who cancelled has swept already.
        if (isCancelled(task.cancelled)) await sweepAttempts(dirname(task.into), basename(task.into, '.csv'));
      }
    },
    (error) => {
      if (!isFullCode(error.code)) return missingSource(task.path, error);
      return new StateFullError(`the table of ${task.path} could not be written: ${error.message}`, {
        hint: 'free space on the disk of the state folder; sluice retries by itself',
      });
    },
  );

const prepare = async (task: Cancellable<PrepareTask>): Promise<Made> => {
  beat(task.cancelled);
  const { recipe, name } = task;
  if (!recipe.asked && !isConvertible(name)) return isTabular(name) ? fixed(task) : { kind: 'as-is', why: 'no table' };
  const report: MakingReport = { notes: [], fixes: [], warnings: [] };
  const table = await openSource({ ...task, report });
  try {
    return { kind: 'table', ...report, ...(await make(task, table, report)) };
  } finally {
    await table.close?.();
    for (const path of textPaths(task.into)) rmSync(path, { force: true });
  }
};

const fixed = ({ path, into, limits, cancelled }: Cancellable<PrepareTask>): Made => {
  const text = fixSafely({ path, rowBytes: limits.rowBytes, cancelled }, into);
  if (text === null) return { kind: 'as-is', why: 'nothing to fix' };
  const { fixes, report, inspection } = text;
  const { rows, columns, delimiter, fix } = inspection;
  const names = columns.slice(0, columns.length - fix.emptyTail).map(({ name }) => name);
  const facts = { columns: names, rowsIn: rows, rowsOut: rows, rejected: { rows: 0, examples: [] } };
  const reading = { delimiter: portalDelimiter(delimiter), skipRows: 0 };
  return { kind: 'table', ...report, ...facts, notes: [], fixes, warnings: [], reading };
};

const make = async (
  task: Cancellable<PrepareTask>,
  table: Table,
  { notes }: MakingReport,
): Promise<Omit<MadeTable, 'kind' | 'fixes' | 'warnings'>> => {
  const { recipe, into, rejects, limits } = task;
  const bad = badRowsOf(recipe, table, rejects);
  const keepsPlaces = recipe.steps.flatMap(Object.keys).every((key) => placeKeepers.includes(key));
  const sheet = keepsPlaces ? (table.sheet ?? null) : null;
  const places = sheet === null ? null : sheetPlaces(sheet);
  const mostBytes = Math.max(freeBytes, statSync(task.path).size * mostGrowth);
  const setsHeader = recipe.steps.some(({ skipRows, header }) => skipRows !== undefined || header?.row !== undefined);
  let scratches = 0;
  const scratch = (name: string): string => `${into}.${name}-${++scratches}`;
  const file = new CsvFile(into);
  let pipeline: Pipeline | null = null;
  try {
    const batches = beating(within(table.batches, mostBytes), task.cancelled);
    const tools = { bad, scratch, rowBytes: limits.rowBytes, alive: () => beat(task.cancelled) };
    pipeline = await pipelineOf({ ...table, batches }, recipe, tools);
    const header = csvLine(pipeline.columns);
    file.write(header);
    places?.add(sheet?.header ?? 1, header);
    let rowsOut = 0;
    for await (const batch of beating(pipeline.batches, task.cancelled)) {
      for (const { line, cells } of batch) {
        const text = csvLine(cells);
        if (text.length > limits.rowBytes) throw oversizeRow(line, limits);
        file.write(text);
        places?.add(line, text);
      }
      rowsOut += batch.length;
      if (file.bytes > limits.tableBytes) throw tooLarge('the table', limits);
      if (file.bytes > mostBytes) throw outgrown();
    }
    const rowsIn = pipeline.rowsRead();
    bad.end(rowsIn);
    const { rows, examples } = bad.count;
    return {
      ...file.end(),
      columns: pipeline.columns,
      rowsIn,
      rowsOut,
      rejected: { rows, examples },
      notes: [...notes, ...pipeline.summary()],
      reading: {
        delimiter: ',',
        ...(setsHeader || table.isNamed ? { skipRows: 0 } : {}),
        ...(places === null ? {} : { sheet: places.end(rows > 0) }),
      },
    };
  } finally {
    await pipeline?.close();
    bad.close();
    file.close();
  }
};

/** Steps that leave each row and cell in its place. */
const placeKeepers = ['skipRows', 'header', 'cast', 'replace', 'fill'];

/** Throws where rows are larger together than any real source of their size: many empty cells, or one text many times. */
async function* within(batches: AsyncIterable<Row[]>, most: number): AsyncGenerator<Row[]> {
  let bytes = 0;
  for await (const batch of batches) {
    for (const { cells } of batch) for (const cell of cells) bytes += cell.length + 1;
    if (bytes > most) throw outgrown();
    yield batch;
  }
}

async function* beating(batches: AsyncIterable<Row[]>, flag: CancelFlag): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    beat(flag);
    yield batch;
  }
}

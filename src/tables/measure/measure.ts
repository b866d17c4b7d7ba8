// What the columns of tables hold, measured in one pass in a worker thread.
import type { Cancellable } from '../../util/worker-pool.ts';
import type { CheckTask } from '../inspect/inspect-file.ts';
import { defaultRowBytes } from '../scan/dialect.ts';
import { type Answer, answerOfFile, inThreads } from '../thread-answer.ts';
import { openDelimited } from '../transform/input/delimited.ts';

type MeasureTask = Pick<CheckTask, 'path' | 'encoding' | 'skipRows'>;

/** A column: what all of its values are, how many cells have none, and between which they lie (numbers, ISO dates and years). */
export interface MeasuredColumn {
  name: string;
  kind: 'number' | 'year' | 'date' | 'text' | 'empty';
  empty: number;
  least: string | null;
  most: string | null;
}

export interface MeasuredTable {
  rows: number;
  columns: MeasuredColumn[];
}

/** Measures a table of text. Throws a TableFaultError for the first fault of it, a SourceMissingError when it cannot be read. */
export const measureTable = inThreads<MeasureTask, MeasuredTable>({
  file: 'measure',
  of: import.meta.url,
  name: 'measureFile',
  threads: 1,
});

const number = /^-?(?:0|[1-9]\d{0,17})(?:\.\d+)?$/;
const date =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const year = /^(?:1[5-9]|20)\d\d$/;

const take = (column: MeasuredColumn, cell: string): void => {
  if (cell === '') column.empty += 1;
  if (cell === '' || column.kind === 'text') return;
  const kind = date.test(cell) ? 'date' : year.test(cell) ? 'year' : number.test(cell) ? 'number' : 'text';
  const known = column.kind === 'empty' ? kind : column.kind;
  const areNumbers = known !== 'date' && kind !== 'date' && kind !== 'text';
  column.kind = known === kind ? kind : areNumbers ? 'number' : 'text';
  const { least, most } = column;
  const isLess = (a: string, b: string): boolean => (kind === 'date' ? a < b : Number(a) < Number(b));
  column.least = least === null || isLess(cell, least) ? cell : least;
  column.most = most === null || isLess(most, cell) ? cell : most;
  if (column.kind === 'text') Object.assign(column, { least: null, most: null });
};

/** Worker-thread entry. */
export const measureFile = (task: Cancellable<MeasureTask>): Promise<Answer<MeasuredTable>> =>
  answerOfFile(task.path, async () => {
    const encoding = task.encoding === 'utf-8' ? undefined : task.encoding;
    const table = await openDelimited({ ...task, encoding, rowBytes: defaultRowBytes }, []);
    const columns = table.columns.map((name): MeasuredColumn => {
      return { name, kind: 'empty', empty: 0, least: null, most: null };
    });
    let rows = 0;
    try {
      for await (const batch of table.batches)
        for (const { cells, fault } of batch) {
          if (fault !== undefined) throw fault;
          rows += 1;
          for (const [at, column] of columns.entries()) take(column, cells[at] ?? '');
        }
    } finally {
      await table.close?.();
    }
    return { rows, columns };
  });

// What the columns of tables hold, measured in a worker thread.
import { WorkerPool } from '../../util/worker-pool.ts';
import { type Answer, answered } from '../thread-answer.ts';
import type { MeasuredTable, MeasureTask } from './measure-worker.ts';

export type { MeasuredColumn, MeasuredTable } from './measure-worker.ts';

const pool = new WorkerPool<MeasureTask, Answer<MeasuredTable>>({
  file: 'measure-worker',
  of: import.meta.url,
  name: 'measureFile',
  threads: 1,
});

/** Measures a table of text. Throws a TableFaultError for the first fault of it, a SourceMissingError when it cannot be read. */
export const measureTable = async (task: MeasureTask, signal: AbortSignal): Promise<MeasuredTable> =>
  answered(await pool.run(task, signal));

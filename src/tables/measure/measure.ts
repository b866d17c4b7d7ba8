// What the columns of tables hold, measured in a worker thread.
import { WorkerPool } from '../../util/worker-pool.ts';
import { defaultRowBytes } from '../scan/dialect.ts';
import { type Answer, answered } from '../thread-answer.ts';
import { limitsOf } from '../transform/prepare.ts';
import type { MeasuredTable, MeasureTask } from './measure-worker.ts';

export type { MeasuredColumn, MeasuredTable } from './measure-worker.ts';

const pool = new WorkerPool<MeasureTask, Answer<MeasuredTable>>({
  file: 'measure-worker',
  of: import.meta.url,
  name: 'measureFile',
  threads: 1,
});

const limits = limitsOf({ maxBytes: Number.MAX_SAFE_INTEGER, rowBytes: defaultRowBytes });

/** Measures a table of text. Throws a TableFaultError for the first fault of it, a SourceMissingError when it cannot be read. */
export const measureTable = async (task: Omit<MeasureTask, 'limits'>, signal: AbortSignal): Promise<MeasuredTable> =>
  answered(await pool.run({ ...task, limits }, signal));

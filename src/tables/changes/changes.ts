// What changed between two versions of a table, found in a worker thread.
import type { RowChanges } from '../../model/row-changes.ts';
import { WorkerPool } from '../../util/worker-pool.ts';
import { type Answer, answered } from '../thread-answer.ts';
import type { CompareTask } from './compare-versions.ts';

const pool = new WorkerPool<CompareTask, Answer<RowChanges>>({
  file: 'compare-versions',
  of: import.meta.url,
  name: 'compareFiles',
  threads: 1,
});

/** Compares sound versions; throws a SourceMissingError when one cannot be read, the signal's reason when it is aborted. */
export const rowChanges = async (task: CompareTask, signal?: AbortSignal): Promise<RowChanges> =>
  answered(await pool.run(task, signal));

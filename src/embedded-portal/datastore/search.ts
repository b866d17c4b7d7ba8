// Answers searches over imported tables without holding up the event loop.
import { WorkerPool } from '../../util/worker-pool.ts';
import {
  type AnswerBudget,
  planSearch,
  type SearchAnswer,
  type SearchWish,
  searchAnswerOf,
  searchRefused,
} from './query.ts';
import type { TablePointer } from './records.ts';
import type { SearchRows, SearchTask } from './search-worker.ts';

const timeLimitMs = 30_000;

const pool = new WorkerPool<SearchTask, SearchRows>({
  file: 'search-worker',
  of: import.meta.url,
  name: 'searchRows',
  threads: 2,
});

/**
 * Searches one table. Rows that do not fit into the budget are left out, and `limit` then says how many came. Throws a
 * Refusal: 400 for a wish that cannot be met, 413 where nothing is left of the budget, 503 when it takes over 30 s.
 */
export const searchTable = async (
  table: TablePointer & { path: string },
  { resourceUuid, budget, ...wish }: SearchWish & { resourceUuid: string; budget: AnswerBudget },
): Promise<SearchAnswer> => {
  const { fields, limit, rows, count } = planSearch(table, wish);
  if (budget.left <= 0) throw searchRefused(413, 'The answer is too large; ask for less at once.');
  const tooLong = AbortSignal.timeout(timeLimitMs);
  const found = await pool
    .run({ path: table.path, rows, count, most: budget.left }, tooLong)
    .catch((error: unknown) => {
      throw tooLong.aborted ? searchRefused(503, 'The search took too long.') : error;
    });
  budget.left -= found.length;
  return searchAnswerOf({
    success: true,
    columns: fields,
    resourceUuid,
    limit: found.isCut ? found.records.length : limit,
    total: found.total ?? table.rows,
    records: found.records,
  });
};

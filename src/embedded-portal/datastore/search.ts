// Answers searches over imported tables without holding up the event loop.
import { statSync } from 'node:fs';
import { WorkerPool } from '../../util/worker-pool.ts';
import {
  type AnswerBudget,
  planSearch,
  type SearchAnswer,
  type SearchPlan,
  type SearchWish,
  searchAnswerOf,
  searchRefused,
} from './query.ts';
import type { TablePointer } from './records.ts';
import { runSearch, type SearchRows, type SearchTask } from './search-worker.ts';
import type { TableFiles } from './table-files.ts';

/** A search that looks at more values, or a larger file, than this goes to a worker thread. */
const cheapScan = { values: 20_000, bytes: 4_000_000 };

const timeLimitMs = 30_000;

const pool = new WorkerPool<SearchTask, SearchRows>({
  file: 'search-worker',
  of: import.meta.url,
  name: 'searchTable',
  threads: 2,
});

/** Runs searches: by key at once, scans of large tables in a worker thread. */
export class TableSearch {
  readonly #files: TableFiles;

  constructor(files: TableFiles) {
    this.#files = files;
  }

  /**
   * Searches one table. Rows that do not fit into the budget are left out, and `limit` then says how many came. Throws a
   * Refusal: 400 for a wish that cannot be met, 413 where nothing is left of the budget, 503 when it takes over 30 s.
   */
  async search(
    table: TablePointer,
    { resourceUuid, budget, ...wish }: SearchWish & { resourceUuid: string; budget: AnswerBudget },
  ): Promise<SearchAnswer> {
    const plan = planSearch(table, wish);
    if (budget.left <= 0) throw searchRefused(413, 'The answer is too large; ask for less at once.');
    const { records, total, length, isCut } = await this.#rows(table, plan, budget.left);
    budget.left -= length;
    return searchAnswerOf({
      success: true,
      columns: plan.fields,
      resourceUuid,
      limit: isCut ? records.length : plan.limit,
      total: total ?? table.rows,
      records,
    });
  }

  async #rows(table: TablePointer, plan: SearchPlan, most: number): Promise<SearchRows> {
    const { rows, count, isByKey } = plan;
    if (isByKey || this.#isCheap(table)) {
      return runSearch(this.#files.connection(table.file), { rows, count, most });
    }
    return this.#files.lease(table.file, async (path) => {
      const tooLong = AbortSignal.timeout(timeLimitMs);
      return pool.run({ path, rows, count, most }, tooLong).catch((error: unknown) => {
        throw tooLong.aborted ? searchRefused(503, 'The search took too long.') : error;
      });
    });
  }

  #isCheap({ file, rows, columns }: TablePointer): boolean {
    return rows * columns.length <= cheapScan.values && statSync(this.#files.path(file)).size <= cheapScan.bytes;
  }
}

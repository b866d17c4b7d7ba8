// Worker-thread entry: searches that look at every row of a large table.
import type { DatabaseSync } from 'node:sqlite';
import type { Statement } from './query.ts';
import { openTable } from './table-files.ts';

/** A search as it is asked for across the thread border. */
export interface SearchTask {
  path: string;
  rows: Statement;
  count: Statement | null;
}

/** Records in the order asked for; `total` is null where it was not counted. */
export interface SearchRows {
  records: Record<string, unknown>[];
  total: number | null;
}

/** Runs the statements of a search on an open table. */
export const runSearch = (db: DatabaseSync, { rows, count }: Omit<SearchTask, 'path'>): SearchRows => ({
  records: db
    .prepare(rows.sql)
    .all(...rows.parameters)
    .map((row) => ({ ...row })),
  total: count === null ? null : Number(db.prepare(count.sql).get(...count.parameters)?.total),
});

/** Opens the table, searches, closes it. */
export const searchTable = ({ path, rows, count }: SearchTask): SearchRows => {
  const db = openTable(path);
  try {
    return runSearch(db, { rows, count });
  } finally {
    db.close();
  }
};

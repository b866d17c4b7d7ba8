// Worker-thread entry: runs the statements of a search on a table.
import { type Statement, takeWithin } from './query.ts';
import { openTable } from './table-files.ts';

export interface SearchTask {
  path: string;
  rows: Statement;
  count: Statement | null;
  /** Most characters of the records. */
  most: number;
}

/** Records in the order asked for; `total` is null where it was not counted. */
export const searchRows = ({ path, rows, count, most }: SearchTask) => {
  using db = openTable(path);
  const found = Iterator.from(db.prepare(rows.sql).iterate(...rows.parameters)).map((row) => ({ ...row }));
  return {
    ...takeWithin(found, most),
    total: count === null ? null : Number(db.prepare(count.sql).get(...count.parameters)?.total),
  };
};

export type SearchRows = ReturnType<typeof searchRows>;

// The step `sort`: on disk, so that memory stays flat.
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Step } from '../../../model/recipe/steps.ts';
import type { Row, Table } from '../row.ts';
import { many, placeOf, type StepTools } from './row-step.ts';

/** A stage that needs more than one row at a time. */
export interface Stage extends Omit<Table, 'close'> {
  tell: () => string;
  close: () => void;
}

const batchRows = 1000;

/** Sorts by columns; rows that are equal in them stay in their order, cells that are no numbers come behind those that are. */
export const sortStage = (table: Table, wanted: NonNullable<Step['sort']>, { scratch }: StepTools): Stage => {
  const keys = wanted.map((key) => {
    const { column, as = 'text', order = 'up' } = typeof key === 'string' ? { column: key } : key;
    return { at: placeOf('sort', table.columns, column), as, order };
  });
  const path = scratch('sort');
  let rows = 0;
  let database: DatabaseSync | null = null;
  const close = (): void => {
    database?.close();
    database = null;
    rmSync(path, { force: true });
  };
  async function* sorted(): AsyncGenerator<Row[]> {
    database = new DatabaseSync(path);
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000');
    const columns = keys.map(({ as }, index) => `k${index} ${as === 'number' ? 'REAL' : 'TEXT'}`).join(', ');
    database.exec(`CREATE TABLE rows (seq INTEGER PRIMARY KEY, line INTEGER, row TEXT, ${columns}); BEGIN`);
    const insert = database.prepare(`INSERT INTO rows VALUES (?, ?, ?, ${keys.map(() => '?').join(', ')})`);
    for await (const batch of table.batches) {
      for (const { line, cells, raw } of batch) {
        const values = keys.map(({ at, as }) => (as === 'number' ? numberOrNull(cells[at] ?? '') : (cells[at] ?? '')));
        insert.run(rows++, line, JSON.stringify(raw === undefined ? [cells] : [cells, raw]), ...values);
      }
    }
    const order = keys.map(({ order: direction }, index) => {
      return `k${index} IS NULL, k${index} ${direction === 'down' ? 'DESC' : 'ASC'}`;
    });
    const select = database.prepare(`SELECT line, row FROM rows ORDER BY ${order.join(', ')}, seq`);
    let next: Row[] = [];
    for (const { line, row } of select.iterate()) {
      const [cells, raw] = JSON.parse(String(row)) as [string[], string[]?]; // written above
      next.push({ line: Number(line), cells, ...(raw === undefined ? {} : { raw }) });
      if (next.length < batchRows) continue;
      yield next;
      next = [];
    }
    if (next.length > 0) yield next;
    close();
  }
  return { columns: table.columns, batches: sorted(), tell: () => `sort: ${many(rows, 'row')} sorted`, close };
};

const numberOrNull = (cell: string): number | null => {
  const value = cell.trim() === '' ? Number.NaN : Number(cell);
  return Number.isFinite(value) ? value : null;
};

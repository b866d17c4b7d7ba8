// Steps that leave rows out or order them: filter, dedupe and sort; on disk where memory would grow.
import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { TableStepError } from '../../../model/errors.ts';
import { compileExpression } from '../../../model/recipe/expression.ts';
import { isTrue, NoValue } from '../../../model/recipe/expression-values.ts';
import type { Step } from '../../../model/recipe/steps.ts';
import { plural } from '../../../util/plural.ts';
import { DatabaseSync } from '../../../util/sqlite.ts';
import { inBatches, inColumn, inRow, placeOf, type Row, type StepMakers, type StepTools, type Table } from '../row.ts';

const plainLength = 40;

/** Equal for equal parts. Of a hash 128 bits: among a thousand million keys the chance of two alike is below 1 in 10^20. */
const keyOf = (parts: readonly string[]): string => {
  const text = parts.map((part) => `${part.length}:${part}`).join('');
  return text.length <= plainLength ? text : `#${hash('sha256', text, 'hex').slice(0, 32)}`;
};

/** A database that nobody reads after a crash, so it is written without a journal. */
const scratchDatabase = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000');
  return database;
};

export type SeenKeys = ReturnType<typeof seenKeysAt>;

/** `path`: a file for the keys; must not exist. */
export const seenKeysAt = (path: string) => {
  const database = scratchDatabase(path);
  database.exec('CREATE TABLE seen (key TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN');
  const insert = database.prepare('INSERT OR IGNORE INTO seen VALUES (?)');
  /** Adds a key; true when it is new. */
  const add = (parts: readonly string[]): boolean => insert.run(keyOf(parts)).changes === 1;
  /** Forgets all keys and removes the file. Idempotent. */
  const close = (): void => {
    if (database.isOpen) database.close();
    rmSync(path, { force: true });
  };
  return { add, close };
};

/** A stage that needs more than one row at a time. */
export interface Stage extends Omit<Table, 'close'> {
  summary: () => string;
  close: () => unknown;
}

/** Sorts by columns; the sort is stable, and in a column of numbers other cells come last. */
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
  async function* sorted(): AsyncGenerator<Row> {
    database = scratchDatabase(path);
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
    for (const { line, row } of select.iterate()) {
      const [cells, raw] = JSON.parse(String(row)) as [string[], string[]?]; // written above
      yield { line: Number(line), cells, ...(raw === undefined ? {} : { raw }) };
    }
    close();
  }
  return {
    columns: table.columns,
    batches: inBatches(sorted()),
    summary: () => `sort: ${plural(rows, 'row')} sorted`,
    close,
  };
};

const numberOrNull = (cell: string): number | null => {
  const value = cell.trim() === '' ? Number.NaN : Number(cell);
  return Number.isFinite(value) ? value : null;
};

export const rowSteps: StepMakers<'filter' | 'split' | 'dedupe'> = {
  filter: (columns, text) => {
    const holds = compileExpression(text, (name) => placeOf('filter', columns, name));
    return {
      columns,
      apply: ({ cells }) => {
        try {
          return isTrue(holds(cells));
        } catch (error) {
          if (!(error instanceof NoValue)) throw error;
          return [inRow(`filter: ${error.message}`)];
        }
      },
      summary: ({ dropped }) => `filter ${text}: ${plural(dropped, 'row')} dropped`,
    };
  },
  /** Keeps the rows with one value in a column; rows with a value of no resource are bad rows. */
  split: (columns, { by, values, only }) => {
    if (only === undefined) {
      throw new TableStepError('step split: the resources cannot be distinguished', {
        hint: '`split` is only possible in `table` of a resource below `datasets`',
      });
    }
    const at = placeOf('split', columns, by);
    const others = new Set(Array.isArray(values) ? values.map(String) : Object.keys(values));
    return {
      columns,
      apply: ({ cells }) => {
        const cell = cells[at] ?? '';
        if (cell === String(only)) return true;
        return others.has(cell) ? false : [inColumn(columns, at, 'is not one of the values of split')];
      },
      summary: ({ dropped }) => `split by ${by}: ${plural(dropped, 'row')} of other resources left out`,
    };
  },
  /** Keeps the first of the rows that agree in the named columns. */
  dedupe: (columns, names, { scratch }) => {
    const places = names.map((name) => placeOf('dedupe', columns, name));
    const seen = seenKeysAt(scratch('dedupe'));
    return {
      columns,
      apply: ({ cells }) => seen.add(places.map((at) => cells[at] ?? '')),
      summary: ({ dropped }) => `dedupe by ${names.join(', ')}: ${plural(dropped, 'row')} dropped`,
      close: () => seen.close(),
    };
  },
};

// Statements as functions, prepared once; the types say what a statement takes and returns.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

type Values = SQLInputValue[];

/** Makes functions of statements: what each returns is what its SELECT names, as its caller says. */
export const statementsOf = (db: DatabaseSync) => {
  const all = <Row>(sql: string) => {
    const statement = db.prepare(sql);
    return (values: Values): Row[] => statement.all(...values).map((row) => ({ ...row }) as Row);
  };
  return {
    /** Every row. */
    rows: <Row, V extends Values = []>(sql: string) => {
      const run = all<Row>(sql);
      return (...values: V): Row[] => run(values);
    },
    /** The first row, or null. */
    row: <Row, V extends Values>(sql: string) => {
      const statement = db.prepare(sql);
      return (...values: V): Row | null => {
        const row = statement.get(...values);
        return row === undefined ? null : ({ ...row } as Row);
      };
    },
    /** The one column of every row. */
    column: <Value, V extends Values = []>(sql: string) => {
      const run = all<Record<string, Value>>(sql);
      return (...values: V): Value[] => run(values).flatMap((row) => Object.values(row));
    },
    /** The one column of the first row, or null. */
    value: <Value, V extends Values = []>(sql: string) => {
      const statement = db.prepare(sql);
      return (...values: V): Value | null =>
        Object.values((statement.get(...values) ?? {}) as Record<string, Value>)[0] ?? null;
    },
    /** The number that the statement counts. */
    count: <V extends Values = []>(sql: string) => {
      const statement = db.prepare(sql);
      return (...values: V): number => Number(Object.values(statement.get(...values) ?? {})[0] ?? 0);
    },
    /** Changes something, inside a write; returns how many rows changed, and the id of one that was added. */
    change: <V extends Values = []>(sql: string) => {
      const statement = db.prepare(sql);
      return (...values: V): { changes: number; id: number } => {
        const { changes, lastInsertRowid } = statement.run(...values);
        return { changes: Number(changes), id: Number(lastInsertRowid) };
      };
    },
  };
};

/** Adds rows with some columns; returns the id. */
export const inserter = <Row extends Readonly<Record<string, SQLInputValue>>>(
  db: DatabaseSync,
  table: string,
  columns: readonly (keyof Row & string)[],
) => {
  const places = columns.map(() => '?').join(', ');
  const statement = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`);
  return (row: Row): number => Number(statement.run(...columns.map((name) => row[name] ?? null)).lastInsertRowid);
};

/** Changes some columns of the row with an id. */
export const updater = <Row extends Readonly<Record<string, SQLInputValue>>>(
  db: DatabaseSync,
  { table, id, columns }: { table: string; id: string; columns: readonly (keyof Row & string)[] },
) => {
  const statement = db.prepare(
    `UPDATE ${table} SET ${columns.map((name) => `${name} = ?`).join(', ')} WHERE ${id} = ?`,
  );
  return (of: SQLInputValue, row: Row): void => void statement.run(...columns.map((name) => row[name] ?? null), of);
};

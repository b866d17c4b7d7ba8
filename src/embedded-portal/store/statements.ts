// SQL as tagged templates: values are bound, and each template is prepared once.
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** A template whose values are bound; or a text with a `?` for each of them. */
type Sql = TemplateStringsArray | string;

/** What of a row is written, column by column. */
type Columns<Row> = { readonly [Name in keyof Row]: SQLInputValue };

/** Makes the tags of a database: what each returns is what its SELECT names, as its caller says. */
export const statementsOf = (db: DatabaseSync) => {
  const known = new Map<Sql, { statement: StatementSync; names: string[] }>();
  const prepare = (sql: Sql) => {
    const statement = db.prepare(typeof sql === 'string' ? sql : sql.join('?'));
    statement.setReturnArrays(true); // half the time of null-prototype objects
    const made = { statement, names: statement.columns().map(({ name }) => name) };
    known.set(sql, made);
    return made;
  };
  const prepared = (sql: Sql) => known.get(sql) ?? prepare(sql);
  const read = (sql: Sql, values: SQLInputValue[]) => {
    const { statement, names } = prepared(sql);
    return { names, found: statement.all(...values) as unknown as SQLOutputValue[][] }; // as it was told to return them
  };
  const rows = <Row>(sql: Sql, ...values: SQLInputValue[]): Row[] => {
    const { names, found } = read(sql, values);
    return found.map((values) => {
      const row: Record<string, SQLOutputValue | undefined> = {};
      for (let at = 0; at < names.length; at++) row[names[at] ?? ''] = values[at];
      return row as Row;
    });
  };
  /** The one column of every row. */
  const column = <Value>(sql: Sql, ...values: SQLInputValue[]): Value[] =>
    read(sql, values).found.map(([value]) => value as Value);
  /** Changes something, inside a write; returns how many rows changed, and the id of one that was added. */
  const run = (sql: Sql, ...values: SQLInputValue[]): { changes: number; id: number } => {
    const { changes, lastInsertRowid } = prepared(sql).statement.run(...values);
    return { changes: Number(changes), id: Number(lastInsertRowid) };
  };
  return {
    rows,
    column,
    run,
    row: <Row>(sql: Sql, ...values: SQLInputValue[]): Row | null => rows<Row>(sql, ...values)[0] ?? null,
    /** The one column of the first row, or null. */
    value: <Value>(sql: Sql, ...values: SQLInputValue[]): Value | null => column<Value>(sql, ...values)[0] ?? null,
    count: (sql: Sql, ...values: SQLInputValue[]): number => column<number>(sql, ...values)[0] ?? 0,
    insert: <Row extends Columns<Row>>(table: string, row: Row): number => {
      const names = Object.keys(row);
      const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
      return run(text, ...Object.values<SQLInputValue>(row)).id;
    },
    update: <Row extends Columns<Row>>(table: string, [key, value]: [string, SQLInputValue], row: Row): void => {
      const changes = Object.keys(row).map((name) => `${name} = ?`);
      run(`UPDATE ${table} SET ${changes.join(', ')} WHERE ${key} = ?`, ...Object.values<SQLInputValue>(row), value);
    },
  };
};

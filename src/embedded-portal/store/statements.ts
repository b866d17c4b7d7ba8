// The statements of a table by name, prepared once.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** A prepared statement for each text. */
export type Statements<T> = { readonly [K in keyof T]: StatementSync };

/** Prepares every statement of `texts`. */
export const prepareAll = <T extends Readonly<Record<string, string>>>(db: DatabaseSync, texts: T): Statements<T> =>
  Object.fromEntries(Object.entries(texts).map(([name, sql]) => [name, db.prepare(sql)])) as Statements<T>; // the same keys

/** `INSERT` of some columns; {@link valuesOf} gives the parameters. */
export const insertInto = (table: string, columns: readonly string[]): string =>
  `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;

/** What a row holds in some columns, in their order. Binding by name takes half as long again. */
export const valuesOf = (row: Readonly<Record<string, SQLInputValue>>, columns: readonly string[]): SQLInputValue[] =>
  columns.map((name) => row[name] ?? null);

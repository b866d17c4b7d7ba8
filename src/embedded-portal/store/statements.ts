// The statements of a table by name, prepared once.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A prepared statement for each text. */
export type Statements<T> = { readonly [K in keyof T]: StatementSync };

/** Prepares every statement of `texts`. */
export const prepareAll = <T extends Readonly<Record<string, string>>>(db: DatabaseSync, texts: T): Statements<T> =>
  Object.fromEntries(Object.entries(texts).map(([name, sql]) => [name, db.prepare(sql)])) as Statements<T>; // the same keys

/** `INSERT` of named columns from an object that has exactly these. */
export const insertInto = (table: string, columns: readonly string[]): string =>
  `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((name) => `:${name}`).join(', ')})`;

// Vocabulary terms: tags, formats, topics.
import type { DatabaseSync } from 'node:sqlite';
import { prepareAll, type Statements } from './statements.ts';

/** A term. */
export interface Term {
  tid: number;
  vocabulary: string;
  name: string;
}

const toTerm = (row: Record<string, unknown>): Term => ({ ...row }) as unknown as Term; // the columns of the table

const statements = {
  byTid: 'SELECT * FROM term WHERE tid = ?',
  byName: 'SELECT * FROM term WHERE vocabulary = ? AND name = ? ORDER BY tid',
  all: 'SELECT * FROM term ORDER BY tid',
  names: 'SELECT t.name FROM json_each(?) j JOIN term t ON t.tid = j.value ORDER BY j.key',
  insert: 'INSERT INTO term (tid, vocabulary, name) VALUES (:tid, :vocabulary, :name)',
};

/** The terms every new store has: the topics and the commonest formats. */
export const defaultTerms: Omit<Term, 'tid'>[] = [
  ...['Transportation', 'Education', 'Finance and Budgeting', 'Health Care', 'Public Safety', 'City Planning'].map(
    (name) => ({ vocabulary: 'dkan_topics', name }),
  ),
  { vocabulary: 'format', name: 'csv' },
  { vocabulary: 'format', name: 'zip' },
];

/** The term table. */
export class Terms {
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
  }

  /** The term with that tid, or null. */
  byTid(tid: number): Term | null {
    const row = this.#sql.byTid.get(tid);
    return row === undefined ? null : toTerm(row);
  }

  /** The first term of that name in a vocabulary, whatever its case, or null. */
  byName(vocabulary: string, name: string): Term | null {
    const row = this.#sql.byName.get(vocabulary, name);
    return row === undefined ? null : toTerm(row);
  }

  /** The names of terms, in the order of `tids`; unknown ones are left out. */
  names(tids: readonly number[]): string[] {
    return this.#sql.names.all(JSON.stringify(tids)).map((row) => String(row.name));
  }

  /** Every term. */
  all(): Term[] {
    return this.#sql.all.all().map(toTerm);
  }

  /** Adds a term (`tid` null: the next one) and returns its tid; to be called inside a write. */
  add(term: { tid: number | null; vocabulary: string; name: string }): number {
    return Number(this.#sql.insert.run(term).lastInsertRowid);
  }
}

// Vocabulary terms: tags, formats, topics.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Machine names of the vocabularies. */
export type Vocabulary = 'tags' | 'format' | 'dkan_topics';

/** A term. */
export interface Term {
  tid: number;
  vocabulary: string;
  name: string;
}

const toTerm = (row: Record<string, unknown>): Term => ({
  tid: Number(row.tid),
  vocabulary: String(row.vocabulary),
  name: String(row.name),
});

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
  readonly #byTid: StatementSync;
  readonly #byName: StatementSync;
  readonly #insert: StatementSync;
  readonly #all: StatementSync;

  constructor(db: DatabaseSync) {
    this.#byTid = db.prepare('SELECT * FROM term WHERE tid = ?');
    this.#byName = db.prepare('SELECT * FROM term WHERE vocabulary = ? AND name = ? ORDER BY tid');
    this.#all = db.prepare('SELECT * FROM term ORDER BY tid');
    this.#insert = db.prepare('INSERT INTO term (tid, vocabulary, name) VALUES (?, ?, ?)');
  }

  /** The term with that tid, or null. */
  byTid(tid: number): Term | null {
    const row = this.#byTid.get(tid);
    return row === undefined ? null : toTerm(row);
  }

  /** The first term of that name in a vocabulary, whatever its case, or null. */
  byName(vocabulary: string, name: string): Term | null {
    const row = this.#byName.get(vocabulary, name);
    return row === undefined ? null : toTerm(row);
  }

  /** Every term. */
  all(): Term[] {
    return this.#all.all().map(toTerm);
  }

  /** Adds a term (`tid` null: the next one) and returns its tid; to be called inside a write. */
  add(term: { tid: number | null; vocabulary: string; name: string }): number {
    return Number(this.#insert.run(term.tid, term.vocabulary, term.name).lastInsertRowid);
  }
}

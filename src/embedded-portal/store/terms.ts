// Vocabulary terms: tags, formats, topics.
import type { DatabaseSync } from 'node:sqlite';
import { statementsOf } from './statements.ts';

export interface Term {
  tid: number;
  vocabulary: string;
  name: string;
}

/** The terms every new store has: the topics and the commonest formats. */
export const defaultTerms = Object.entries({
  dkan_topics: 'Transportation, Education, Finance and Budgeting, Health Care, Public Safety, City Planning'.split(
    ', ',
  ),
  format: ['csv', 'zip'],
}).flatMap(([vocabulary, names]) => names.map((name) => ({ vocabulary, name })));

export const openTerms = (db: DatabaseSync) => {
  const { row, rows, insert } = statementsOf(db);
  return {
    byTid: (tid: number) => row<Term>`SELECT * FROM term WHERE tid = ${tid}`,
    /** The first term of that name in a vocabulary, whatever its case. */
    byName: (vocabulary: string, name: string) =>
      row<Term>`SELECT * FROM term WHERE vocabulary = ${vocabulary} AND name = ${name} ORDER BY tid LIMIT 1`,
    all: () => rows<Term>`SELECT * FROM term ORDER BY tid`,
    /** Adds a term (`tid` null: the next one) and returns its tid; to be called inside a write. */
    add: ({ tid, vocabulary, name }: Omit<Term, 'tid'> & { tid: number | null }): number =>
      insert('term', { tid, vocabulary, name }),
  };
};

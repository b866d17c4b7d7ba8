// Terms by name: the API accepts ids only, so the ids of all names seen on a portal are remembered.

import { type FieldItem, itemsOfField, type NamedTerm, type Vocabulary } from '../dataset-api/fields.ts';
import type { NodeFields } from '../model/wish.ts';
import type { Traits } from './traits.ts';

/** Ids of the vocabularies of a default installation, seen on three releases. */
const usualVocabularies: Readonly<Record<Vocabulary, string>> = { format: '1', tags: '2', dkan_topics: '3' };

/**
 * Where ids are remembered, by `<vocabulary> <name>`: a term id, or `new <uuid> <time> <field> <index> <count>` while a node
 * that makes the term is being written.
 */
export interface TermStore {
  read(): Promise<Readonly<Record<string, string>>>;
  write(terms: Readonly<Record<string, string>>): Promise<void>;
}

/** What a person stated about the terms of a portal. */
export interface StatedTerms {
  vocabularies: Partial<Record<Vocabulary, string>>;
  /** Term ids by name. */
  terms: Partial<Record<Vocabulary, Readonly<Record<string, string>>>>;
}

/** A name without an id, and where it is in the fields. */
export interface NewTerm {
  field: string;
  /** Position among the items of the field. */
  index: number;
  /** How many items the field has. */
  count: number;
  vocabulary: Vocabulary;
  name: string;
}

/** Fields with the ids of their terms. */
export interface ResolvedTerms {
  /** Known terms as `{tid, name}`, new ones as the portal makes them. */
  fields: NodeFields;
  fresh: NewTerm[];
}

/** How long a node that makes a term may take before the name counts as unmade, milliseconds. */
const makingMs = 60_000;

/** How long a write may still take effect after it failed without a reply of the portal, milliseconds. */
const failedMs = 5_000;

/** The terms of one portal. */
export class Terms {
  readonly #store: TermStore;
  readonly #stated: StatedTerms;
  readonly #traits: Traits;
  #known: Promise<Readonly<Record<string, string>>> | null = null;

  constructor(store: TermStore, stated: StatedTerms, traits: Traits) {
    this.#store = store;
    this.#stated = stated;
    this.#traits = traits;
  }

  /** Puts ids in the place of names; `afresh` reads again what other workers have learned. */
  async resolve(fields: NodeFields, afresh = false): Promise<ResolvedTerms> {
    if (!Object.values(fields).some((value) => itemsOfField(value)?.some(isNamed))) return { fields, fresh: [] };
    if (afresh) this.#known = null;
    const known = await this.#read();
    const fresh: NewTerm[] = [];
    const resolved = Object.entries(fields).map(([field, value]) => {
      const items = itemsOfField(value);
      if (!items?.some(isNamed)) return [field, value];
      const count = items.length;
      const und = items.map((item, index) => {
        if (!isNamed(item)) return item;
        const { name, vocabulary_machine_name: vocabulary } = item;
        const tid = this.#idOf(known, vocabulary, name);
        if (tid !== null) return { tid, name };
        fresh.push({ field, index, count, vocabulary, name });
        return { ...item, vid: this.vocabularyId(vocabulary) };
      });
      return [field, { und }];
    });
    return { fields: Object.fromEntries(resolved), fresh };
  }

  /** Id of a vocabulary: stated, seen to be right, or that of a default installation. */
  vocabularyId(vocabulary: Vocabulary): string {
    const seen = this.#traits.get('vocabularies')?.[vocabulary];
    return this.#stated.vocabularies[vocabulary] ?? seen ?? usualVocabularies[vocabulary];
  }

  /** True where the id of a vocabulary is configured, or terms of ours were seen in it. */
  isProven(vocabulary: Vocabulary): boolean {
    const id = this.vocabularyId(vocabulary);
    return this.#stated.vocabularies[vocabulary] === id || this.#traits.get('vocabularies')?.[vocabulary] === id;
  }

  /** Remembers that terms of the vocabulary are visible under its id. */
  prove(vocabulary: Vocabulary): void {
    const vocabularies = { ...this.#traits.get('vocabularies'), [vocabulary]: this.vocabularyId(vocabulary) };
    this.#traits.learn({ vocabularies });
  }

  /**
   * Notes, durably, that the node with this uuid is about to make these terms; `isFailed`: its write failed, and may have
   * taken effect.
   */
  async announce(fresh: readonly NewTerm[], uuid: string, isFailed = false): Promise<void> {
    const since = Date.now() - (isFailed ? makingMs - failedMs : 0);
    const textOf = ({ field, index, count }: NewTerm): string => `new ${uuid} ${since} ${field} ${index} ${count}`;
    await this.#write(Object.fromEntries(fresh.map((term) => [keyOf(term.vocabulary, term.name), textOf(term)])));
  }

  /** Another node that was just about to make one of these terms, with the place of the term in it; or null. */
  async makerOf(fresh: readonly NewTerm[], uuid: string): Promise<{ uuid: string; term: NewTerm } | null> {
    const known = await this.#read();
    for (const { vocabulary, name } of fresh) {
      const text = known[keyOf(vocabulary, name)] ?? '';
      const [state, maker = '', since = '0', field = '', index = '0', count = '0'] = text.split(' ');
      if (state !== 'new' || maker === uuid || Date.now() - Number(since) > makingMs) continue;
      return { uuid: maker, term: { field, index: Number(index), count: Number(count), vocabulary, name } };
    }
    return null;
  }

  /**
   * Learns the ids of new terms from the node that was written with them: they are in the order in which they were sent.
   * Returns those that could not be told apart, because the node holds another number of terms.
   */
  async learn(fresh: readonly NewTerm[], node: Readonly<Record<string, unknown>>): Promise<NewTerm[]> {
    const learnt: Record<string, string> = {};
    const unclear: NewTerm[] = [];
    for (const term of fresh) {
      const { field, index, count, vocabulary, name } = term;
      const items = itemsOfField(node[field]) ?? [];
      const tid = items.length === count ? items[index]?.tid : undefined;
      if (tid === undefined) unclear.push(term);
      else learnt[keyOf(vocabulary, name)] = String(tid);
    }
    await this.#write(learnt);
    return unclear;
  }

  /** Remembers ids that were seen. */
  async remember(vocabulary: Vocabulary, tids: Readonly<Record<string, string>>): Promise<void> {
    await this.#write(Object.fromEntries(Object.entries(tids).map(([name, tid]) => [keyOf(vocabulary, name), tid])));
  }

  /** Id of a term; null where it is not known. */
  async idOf(vocabulary: Vocabulary, name: string): Promise<string | null> {
    return this.#idOf(await this.#read(), vocabulary, name);
  }

  /** Forgets every id that was learned, of terms and vocabularies. */
  async forgetAll(): Promise<void> {
    await this.#forget(Object.keys(await this.#read()));
    this.#traits.learn({ vocabularies: {}, surveyed: false });
  }

  /** Forgets the ids that were learned of the terms that fields name, and returns them by key for {@link restore}. */
  async forget(fields: NodeFields): Promise<Record<string, string>> {
    const known = await this.#read();
    const forgotten: Record<string, string> = {};
    for (const item of Object.values(fields).flatMap((value) => itemsOfField(value) ?? [])) {
      if (!isNamed(item)) continue;
      const key = keyOf(item.vocabulary_machine_name, item.name);
      const state = known[key];
      if (isId(state)) forgotten[key] = state;
    }
    await this.#forget(Object.keys(forgotten));
    return forgotten;
  }

  /** Remembers again what {@link forget} forgot. */
  restore(forgotten: Readonly<Record<string, string>>): Promise<void> {
    return this.#write(forgotten);
  }

  /** Takes back that these terms are about to be made. */
  async withdraw(fresh: readonly NewTerm[]): Promise<void> {
    await this.#forget(fresh.map(({ vocabulary, name }) => keyOf(vocabulary, name)));
  }

  /** Number of known terms by vocabulary. */
  async counts(): Promise<Partial<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const [key, state] of Object.entries(await this.#store.read())) {
      const [vocabulary = ''] = key.split(' ', 1);
      if (isId(state)) counts[vocabulary] = (counts[vocabulary] ?? 0) + 1;
    }
    return counts;
  }

  #idOf(known: Readonly<Record<string, string>>, vocabulary: Vocabulary, name: string): string | null {
    const stated = this.#stated.terms[vocabulary];
    if (stated && Object.hasOwn(stated, name)) return stated[name] ?? null;
    const state = known[keyOf(vocabulary, name)];
    return isId(state) ? state : null;
  }

  #read(): Promise<Readonly<Record<string, string>>> {
    this.#known ??= this.#store.read();
    this.#known.catch(() => {
      this.#known = null;
    });
    return this.#known;
  }

  #forget(keys: readonly string[]): Promise<void> {
    return this.#write(Object.fromEntries(keys.map((key) => [key, 'unknown'])));
  }

  async #write(terms: Readonly<Record<string, string>>): Promise<void> {
    if (Object.keys(terms).length === 0) return;
    await this.#store.write(terms);
    this.#known = null;
  }
}

/** True for the id of a term, unlike the note that it is being made or is no longer known. */
const isId = (state: string | undefined): state is string => /^\d+$/.test(state ?? '');

const keyOf = (vocabulary: string, name: string): string => `${vocabulary} ${name}`;

/** True for an item that names a term of a vocabulary we know. */
const isNamed = (item: FieldItem): item is FieldItem & NamedTerm =>
  item.tid === 'autocreate' &&
  typeof item.name === 'string' &&
  typeof item.vocabulary_machine_name === 'string' &&
  Object.hasOwn(usualVocabularies, item.vocabulary_machine_name);

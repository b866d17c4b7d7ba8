// Terms by name: the API accepts ids only, so the portal is asked for the ids of a name once, and they are remembered.

import { type FieldItem, itemsOfField, type NamedTerm, type Vocabulary } from '../dataset-api/fields.ts';
import type { NodeFields } from '../model/wish.ts';
import type { Traits } from './traits.ts';

/** Ids of the vocabularies of a default installation, seen on three releases. */
const usualVocabularies: Readonly<Record<Vocabulary, string>> = { format: '1', tags: '2', dkan_topics: '3' };

/**
 * Where ids are remembered, by `<vocabulary> <name>`: those of all terms of that name, the oldest first, separated by commas;
 * or `new <uuid> <time> <field> <index> <count>` while a node that makes the term is being written.
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

/** Ids of the terms of a name on the portal, the oldest first; null where it does not say. */
type TermFinder = (vocabulary: Vocabulary, name: string, signal: AbortSignal) => Promise<string[] | null>;

/** A node as read, or its fields. */
type Fields = Readonly<Record<string, unknown>>;

/** How long a node that makes a term may take before the name counts as unmade, milliseconds. */
const makingMs = 60_000;

/** How long a write may still take effect after it failed without a reply of the portal, milliseconds. */
const failedMs = 5_000;

/** The terms of one portal. */
export class Terms {
  readonly #store: TermStore;
  readonly #stated: StatedTerms;
  readonly #traits: Traits;
  readonly #find: TermFinder;
  #known: Promise<Readonly<Record<string, string>>> | null = null;

  constructor(store: TermStore, stated: StatedTerms, traits: Traits, find: TermFinder = async () => null) {
    this.#store = store;
    this.#stated = stated;
    this.#traits = traits;
    this.#find = find;
  }

  /**
   * Puts ids in the place of names, as far as they are known; of several terms of one name the one that `node` holds, else the
   * oldest. `afresh`: reads again what other workers have learned.
   */
  async resolve(
    fields: NodeFields,
    { node = {}, afresh = false }: { node?: Fields; afresh?: boolean } = {},
  ): Promise<ResolvedTerms> {
    const named = namedIn(fields);
    if (named.length === 0) return { fields, fresh: [] };
    if (afresh) this.#known = null;
    const known = await this.#read();
    const fresh: NewTerm[] = [];
    const resolved = { ...fields };
    for (const term of named) {
      const { field, index, vocabulary, name } = term;
      const ids = this.#idsOf(known, term);
      if (ids.length === 0) fresh.push(term);
      const tid = ids.find((id) => tidsIn(node[field]).includes(id)) ?? ids[0];
      const und = [...(itemsOfField(resolved[field]) ?? [])];
      und[index] = tid === undefined ? { ...und[index], vid: this.vocabularyId(vocabulary) } : { tid, name };
      resolved[field] = { und };
    }
    return { fields: resolved, fresh };
  }

  /**
   * Like {@link resolve}, and asks the portal for unknown names; where `node` holds a term that is none of those wanted, also for
   * those that it does not hold: others may have created a name again.
   */
  async find(fields: NodeFields, signal: AbortSignal, node: Fields = {}): Promise<ResolvedTerms> {
    const named = namedIn(fields);
    const known = named.length === 0 ? {} : await this.#read();
    const isStrange = (field: string): boolean => {
      const ids = named.flatMap((term) => (term.field === field ? this.#idsOf(known, term) : []));
      const wanted = [...ids, ...tidsIn(fields[field])];
      return tidsIn(node[field]).some((tid) => !wanted.includes(tid));
    };
    const found: Record<string, string> = {};
    for (const term of named) {
      const ids = this.#idsOf(known, term);
      const isHeld = ids.some((id) => tidsIn(node[term.field]).includes(id));
      if (ids.length > 0 && (isHeld || !isStrange(term.field))) continue;
      const seen = await this.#find(term.vocabulary, term.name, signal);
      if (seen !== null && (seen.length > 0 || ids.length > 0)) found[keyOf(term)] = seen.join() || 'unknown';
    }
    await this.#write(found);
    return this.resolve(fields, { node });
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

  /** Remembers the id of a vocabulary, or that terms of it are visible under the one that is assumed. */
  prove(vocabulary: Vocabulary, id = this.vocabularyId(vocabulary)): void {
    this.#traits.learn({ vocabularies: { ...this.#traits.get('vocabularies'), [vocabulary]: id } });
  }

  /**
   * Notes, durably, that the node with this uuid is about to make these terms; `isFailed`: its write failed, and may have
   * taken effect.
   */
  async announce(fresh: readonly NewTerm[], uuid: string, isFailed = false): Promise<void> {
    const since = Date.now() - (isFailed ? makingMs - failedMs : 0);
    const textOf = ({ field, index, count }: NewTerm): string => `new ${uuid} ${since} ${field} ${index} ${count}`;
    await this.#write(Object.fromEntries(fresh.map((term) => [keyOf(term), textOf(term)])));
  }

  /** Another node that was just about to make one of these terms, with the place of the term in it; or null. */
  async makerOf(fresh: readonly NewTerm[], uuid: string): Promise<{ uuid: string; term: NewTerm } | null> {
    const known = await this.#read();
    for (const { vocabulary, name } of fresh) {
      const text = known[keyOf({ vocabulary, name })] ?? '';
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
  async learn(fresh: readonly NewTerm[], node: Fields): Promise<NewTerm[]> {
    const learnt: Record<string, string> = {};
    const unclear: NewTerm[] = [];
    for (const term of fresh) {
      const { field, index, count } = term;
      const items = itemsOfField(node[field]) ?? [];
      const tid = items.length === count ? items[index]?.tid : undefined;
      if (tid === undefined) unclear.push(term);
      else learnt[keyOf(term)] = String(tid);
    }
    await this.#write(learnt);
    return unclear;
  }

  /** Forgets every id that was learned, of terms and vocabularies. */
  async forgetAll(): Promise<void> {
    await this.#forget(Object.keys(await this.#read()));
    this.#traits.learn({ vocabularies: {} });
  }

  /** Forgets the ids that were learned of the terms that fields name, and returns them by key for {@link restore}. */
  async forget(fields: NodeFields): Promise<Record<string, string>> {
    const known = await this.#read();
    const forgotten = Object.fromEntries(
      namedIn(fields).flatMap((term) => {
        const ids = idsIn(known[keyOf(term)]);
        return ids.length === 0 ? [] : [[keyOf(term), ids.join()]];
      }),
    );
    await this.#forget(Object.keys(forgotten));
    return forgotten;
  }

  /** Remembers again what {@link forget} forgot. */
  restore(forgotten: Readonly<Record<string, string>>): Promise<void> {
    return this.#write(forgotten);
  }

  /** Takes back that these terms are about to be made. */
  async withdraw(fresh: readonly NewTerm[]): Promise<void> {
    await this.#forget(fresh.map(keyOf));
  }

  #idsOf(known: Readonly<Record<string, string>>, term: NamedPlace): string[] {
    const stated = this.#stated.terms[term.vocabulary];
    if (stated && Object.hasOwn(stated, term.name)) return idsIn(stated[term.name]);
    return idsIn(known[keyOf(term)]);
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

/** Ids of terms; none in a note that a term is being made or no longer known. */
const idsIn = (state: string | undefined): string[] =>
  /^\d+(?:,\d+)*$/.test(state ?? '') ? (state ?? '').split(',') : [];

type NamedPlace = Pick<NewTerm, 'vocabulary' | 'name'>;

const keyOf = ({ vocabulary, name }: NamedPlace): string => `${vocabulary} ${name}`;

const tidsIn = (value: unknown): string[] => (itemsOfField(value) ?? []).map(({ tid }) => String(tid));

/** The terms that fields name, and where. */
const namedIn = (fields: NodeFields): NewTerm[] =>
  Object.entries(fields).flatMap(([field, value]) => {
    const items = itemsOfField(value) ?? [];
    return items.flatMap((item, index) => {
      if (!isNamed(item)) return [];
      return [{ field, index, count: items.length, vocabulary: item.vocabulary_machine_name, name: item.name }];
    });
  });

/** True for an item that names a term of a vocabulary we know. */
const isNamed = (item: FieldItem): item is FieldItem & NamedTerm =>
  item.tid === 'autocreate' &&
  typeof item.name === 'string' &&
  typeof item.vocabulary_machine_name === 'string' &&
  Object.hasOwn(usualVocabularies, item.vocabulary_machine_name);

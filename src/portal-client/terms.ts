// Terms by name: the API accepts ids only, so the portal is asked for the ids of a name once, and they are remembered.
import { type FieldItem, itemsOfField, type NamedTerm, tidsOf, type Vocabulary } from '../dataset-api/fields.ts';
import type { NodeFields } from '../model/wish.ts';
import type { StatedTerms, TermStore, Traits } from './settings.ts';
import type { Suggestions } from './suggestions.ts';

/** Ids of the vocabularies of a default installation, seen on three releases. */
const usualVocabularies: Readonly<Record<Vocabulary, string>> = { format: '1', tags: '2', dkan_topics: '3' };

/** A name without an id, and where it is in the fields: `index` among the `count` items of the field. */
export type NewTerm = ReturnType<typeof namedIn>[number];

type Lookups = Pick<Suggestions, 'termsNamed' | 'vocabularyId'>;

/** A node as read, or its fields. */
type Fields = Readonly<Record<string, unknown>>;

export interface ResolveOptions {
  /** The node as it is: of several terms of one name the one that it holds counts, else the oldest. */
  node?: Fields | undefined;
  /** True: what other workers have learned is read again. */
  isAfresh?: boolean;
}

export const termsOf = (store: TermStore, stated: StatedTerms, traits: Traits, lookups: Lookups) => {
  let remembered: Promise<Readonly<Record<string, string>>> | null = null;
  /** Puts ids in the place of names: known terms as `{tid, name}`, fresh ones as the portal makes them. */
  const resolve = async (fields: NodeFields, { node = {}, isAfresh = false }: ResolveOptions = {}) => {
    const named = namedIn(fields);
    if (named.length === 0) return { fields, fresh: [] };
    const known = await read(isAfresh);
    const fresh = named.filter((term) => idsOf(known, term).length === 0);
    const resolved = { ...fields };
    for (const term of named) {
      const { field, index, vocabulary, name } = term;
      const ids = idsOf(known, term);
      const tid = ids.find((id) => tidsOf(node, field).includes(id)) ?? ids[0];
      const und = [...(itemsOfField(resolved[field]) ?? [])];
      und[index] = tid === undefined ? { ...und[index], vid: vocabularyId(vocabulary) } : { tid, name };
      resolved[field] = { und };
    }
    return { fields: resolved, fresh };
  };
  /**
   * Like {@link resolve}, and asks the portal for unknown names; where `node` holds a term that is none of those wanted, also for
   * those that it does not hold: others may have created a name again. `isDoubted`: asks for all names.
   */
  const find = async (
    fields: NodeFields,
    signal: AbortSignal,
    { node = {}, isAfresh = false, isDoubted = false }: ResolveOptions & { isDoubted?: boolean } = {},
  ) => {
    const named = namedIn(fields);
    const known = named.length === 0 ? {} : await read(isAfresh);
    const isStrange = (field: string): boolean => {
      const ids = named.flatMap((term) => (term.field === field ? idsOf(known, term) : []));
      const wanted = [...ids, ...tidsOf(fields, field)];
      return tidsOf(node, field).some((tid) => !wanted.includes(tid));
    };
    const found: Record<string, string> = {};
    for (const term of named) {
      const ids = idsOf(known, term);
      const isHeld = ids.some((id) => tidsOf(node, term.field).includes(id));
      if (!isDoubted && ids.length > 0 && (isHeld || !isStrange(term.field))) continue;
      const seen = await lookups.termsNamed(term.vocabulary, term.name, signal);
      if (seen !== null && (seen.length > 0 || ids.length > 0)) found[keyOf(term)] = seen.join() || unknown;
    }
    await write(found);
    return resolve(fields, { node });
  };
  /** Learns the ids of the vocabularies of unknown names, where the portal tells them. */
  const findVocabularies = async (fields: NodeFields, signal: AbortSignal): Promise<void> => {
    const { fresh } = await resolve(fields);
    for (const vocabulary of new Set(fresh.map((term) => term.vocabulary))) {
      const id = isProven(vocabulary) ? null : await lookups.vocabularyId(vocabulary, signal);
      if (id !== null) prove(vocabulary, id);
    }
  };
  /** Id of a vocabulary: stated, seen to be right, or that of a default installation. */
  const vocabularyId = (vocabulary: Vocabulary): string => {
    const seen = traits.get('vocabularies')?.[vocabulary];
    return stated.vocabularies[vocabulary] ?? seen ?? usualVocabularies[vocabulary];
  };
  /** True where the id of a vocabulary is configured, or terms of ours were seen in it. */
  const isProven = (vocabulary: Vocabulary): boolean => {
    const id = vocabularyId(vocabulary);
    return stated.vocabularies[vocabulary] === id || traits.get('vocabularies')?.[vocabulary] === id;
  };
  /** Remembers the id of a vocabulary, or that terms of it are visible under the one that is assumed. */
  const prove = (vocabulary: Vocabulary, id = vocabularyId(vocabulary)): void => {
    traits.learn({ vocabularies: { ...traits.get('vocabularies'), [vocabulary]: id } });
  };
  /** Learns the ids of new terms from the node that was written with them, where it has as many: they are in the order sent. */
  const learn = async (fresh: readonly NewTerm[], node: Fields): Promise<void> => {
    const learnt: Record<string, string> = {};
    for (const term of fresh) {
      const tids = tidsOf(node, term.field);
      const tid = tids.length === term.count ? tids[term.index] : undefined;
      if (tid !== undefined) learnt[keyOf(term)] = tid;
    }
    await write(learnt);
  };
  /** Forgets every id that was learned, of terms and vocabularies. */
  const forgetAll = async (): Promise<void> => {
    await write(Object.fromEntries(Object.keys(await read()).map((key) => [key, unknown])));
    traits.learn({ vocabularies: {} });
  };
  const idsOf = (known: Readonly<Record<string, string>>, term: NewTerm): string[] => {
    const ids = stated.terms[term.vocabulary];
    if (ids && Object.hasOwn(ids, term.name)) return idsIn(ids[term.name]);
    return idsIn(known[keyOf(term)]);
  };
  const read = (isAfresh = false): Promise<Readonly<Record<string, string>>> => {
    const known = (isAfresh ? null : remembered) ?? store.read();
    remembered = known;
    known.catch(() => {
      remembered = null;
    });
    return known;
  };
  const write = async (terms: Readonly<Record<string, string>>): Promise<void> => {
    if (Object.keys(terms).length === 0) return;
    await store.write(terms);
    remembered = null;
  };
  return { resolve, find, findVocabularies, vocabularyId, isProven, prove, learn, forgetAll };
};

/** Stands for ids that the portal no longer has: a store only adds. */
const unknown = 'unknown';

const idsIn = (state: string | undefined): string[] =>
  /^\d+(?:,\d+)*$/.test(state ?? '') ? (state ?? '').split(',') : [];

const keyOf = ({ vocabulary, name }: NewTerm): string => `${vocabulary} ${name}`;

const namedIn = (fields: NodeFields) =>
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

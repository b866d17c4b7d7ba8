// Ids of terms by name: what is put in the place of names, what is learned, and who is making a term just now.
import { describe, expect, it } from 'vitest';
import { type StatedTerms, type TermStore, traitsOf } from '../../src/portal-client/settings.ts';
import { type NewTerm, termsOf } from '../../src/portal-client/terms.ts';

const calm = new AbortController().signal;
const nothing: StatedTerms = { vocabularies: {}, terms: {} };

/** A store as workers share it. */
const memory = (known: Record<string, string> = {}): TermStore & { known: Record<string, string>; reads: number } => {
  const store = {
    known,
    reads: 0,
    read: async () => {
      store.reads += 1;
      return { ...known };
    },
    write: async (terms: Readonly<Record<string, string>>) => void Object.assign(known, terms),
  };
  return store;
};

const termsWith = (store: TermStore, stated: Partial<StatedTerms> = {}, traits = traitsOf({}, () => undefined)) =>
  askedOf(store, null, stated, traits).terms;

/** Terms of a portal that answers with these ids by name, and the names that it was asked for; null: it does not answer. */
const askedOf = (
  store: TermStore,
  onPortal: Record<string, string[]> | null,
  stated: Partial<StatedTerms> = {},
  traits = traitsOf({}, () => undefined),
) => {
  const asked: string[] = [];
  const lookups = {
    termsNamed: async (vocabulary: string, name: string) => {
      asked.push(`${vocabulary} ${name}`);
      return onPortal && (onPortal[name] ?? []);
    },
    vocabularyId: async (vocabulary: string) => onPortal?.[`id of ${vocabulary}`]?.[0] ?? null,
  };
  return { asked, terms: termsOf(store, { ...nothing, ...stated }, traits, lookups) };
};

const named = (name: string, vocabulary = 'tags') => ({
  tid: 'autocreate',
  name,
  vocabulary_machine_name: vocabulary,
});
const tags = (...names: string[]) => ({ field_tags: { und: names.map((name) => named(name)) } });
const newTag = (name: string, index = 0, count = 1): NewTerm => ({
  field: 'field_tags',
  index,
  count,
  vocabulary: 'tags',
  name,
});

describe('names in fields', () => {
  it('become ids where these are known, and are reported with their place where they are not', async () => {
    const terms = termsWith(memory({ 'tags budget': '17', 'format budget': '5' }));
    const other = { body: { und: [{ value: 'x' }] }, field_author: 'me' };
    expect(await terms.resolve({ ...other, ...tags('budget', 'trees') })).toEqual({
      fields: {
        ...other,
        field_tags: {
          und: [
            { tid: '17', name: 'budget' },
            { ...named('trees'), vid: '2' },
          ],
        },
      },
      fresh: [newTag('trees', 1, 2)],
    });
  });

  it('are searched for in their own vocabulary', async () => {
    const terms = termsWith(memory({ 'tags csv': '17', 'format csv': '5' }));
    const fields = { field_format: { und: [named('csv', 'format')] } };
    expect((await terms.resolve(fields)).fields).toEqual({ field_format: { und: [{ tid: '5', name: 'csv' }] } });
  });

  it('stay as they are in vocabularies that are not ours, and ids that were given are not touched', async () => {
    const store = memory();
    const fields = { field_tags: { und: [{ tid: '9' }] }, field_x: { und: [named('a', 'other')] } };
    expect(await termsWith(store).resolve(fields)).toEqual({ fields, fresh: [] });
    expect(store.reads).toBe(0);
  });

  it('have the id that somebody stated, whatever was learned', async () => {
    const stated = { terms: { tags: { budget: '99' } } };
    const { fields } = await termsWith(memory({ 'tags budget': '17' }), stated).resolve(tags('budget'));
    expect(fields).toEqual({ field_tags: { und: [{ tid: '99', name: 'budget' }] } });
  });

  it('may be called as what every object has', async () => {
    const { fresh } = await termsWith(memory(), { terms: { tags: {} } }).resolve(tags('constructor', 'toString'));
    expect(fresh.map(({ name }) => name)).toEqual(['constructor', 'toString']);
  });

  it('that another worker has learned meanwhile are known after a fresh look', async () => {
    const store = memory();
    const terms = termsWith(store);
    expect((await terms.resolve(tags('budget'))).fresh).toHaveLength(1);
    await store.write({ 'tags budget': '17' });
    expect((await terms.resolve(tags('budget'))).fresh).toHaveLength(1);
    expect((await terms.resolve(tags('budget'), { isAfresh: true })).fresh).toEqual([]);
    expect(store.reads).toBe(2);
  });
});

describe('the id of a vocabulary', () => {
  it('is stated, else seen, else that of a usual installation', () => {
    const seen = traitsOf({ vocabularies: { tags: '7', format: '6' } }, () => undefined);
    const terms = termsWith(memory(), { vocabularies: { tags: '8' } }, seen);
    expect((['tags', 'format', 'dkan_topics'] as const).map((name) => terms.vocabularyId(name))).toEqual([
      '8',
      '6',
      '3',
    ]);
    expect((['tags', 'format', 'dkan_topics'] as const).map((name) => terms.isProven(name))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('is proven once terms were seen under it, which is told', () => {
    const learnt: unknown[] = [];
    const terms = termsWith(
      memory(),
      {},
      traitsOf({ vocabularies: { format: '6' } }, (traits) => learnt.push(traits)),
    );
    expect(terms.isProven('tags')).toBe(false);
    terms.prove('tags');
    expect(terms.isProven('tags')).toBe(true);
    expect(learnt).toEqual([{ vocabularies: { format: '6', tags: '2' } }]);
  });

  it('goes with a new term', async () => {
    const { fields } = await termsWith(memory(), { vocabularies: { tags: '8' } }).resolve(tags('trees'));
    expect(fields).toEqual({ field_tags: { und: [{ ...named('trees'), vid: '8' }] } });
  });
});

describe('ids of new terms', () => {
  it('are learned from the order of the node that was written with them', async () => {
    const store = memory({ 'tags b': '17' });
    const terms = termsWith(store);
    const { fresh } = await terms.resolve(tags('a', 'b', 'c'));
    const node = { field_tags: { und: [{ tid: '20' }, { tid: '17' }, { tid: 21 }] } };
    await terms.learn(fresh, node);
    expect(store.known).toEqual({ 'tags a': '20', 'tags b': '17', 'tags c': '21' });
    expect((await terms.resolve(tags('a', 'c'))).fresh).toEqual([]);
  });

  it('are not learned where the node holds another number of terms, or none', async () => {
    const store = memory();
    const terms = termsWith(store);
    const { fresh } = await terms.resolve(tags('a', 'b'));
    await terms.learn(fresh, { field_tags: { und: [{ tid: '20' }] } });
    await terms.learn(fresh, {});
    expect(store.known).toEqual({});
  });
});

describe('names that are not known', () => {
  it('are asked for once and remembered; a new one stays new', async () => {
    const store = memory({ 'tags budget': '17' });
    const { terms, asked } = askedOf(store, { trees: ['5'] });
    const { fields, fresh } = await terms.find(tags('budget', 'trees', 'ponds'), calm);
    expect(fields.field_tags).toMatchObject({ und: [{ tid: '17' }, { tid: '5' }, { tid: 'autocreate' }] });
    expect([fresh.map(({ name }) => name), asked]).toEqual([['ponds'], ['tags trees', 'tags ponds']]);
    await terms.find(tags('trees'), calm);
    expect([asked.length, store.known['tags trees']]).toEqual([2, '5']);
  });

  it('stay unknown where the portal does not say, and what is known stays', async () => {
    const store = memory({ 'tags budget': '17' });
    const { terms } = askedOf(store, null);
    const { fresh } = await terms.find(tags('budget', 'trees'), calm, {
      node: { field_tags: { und: [{ tid: '3' }] } },
    });
    expect([fresh.map(({ name }) => name), store.known]).toEqual([['trees'], { 'tags budget': '17' }]);
  });
});

describe('several terms of one name', () => {
  const node = { field_tags: { und: [{ tid: 78 }] } };

  it('are equal: the one that the node holds counts, else the oldest', async () => {
    const { terms } = askedOf(memory(), { economy: ['12', '78'] });
    expect((await terms.find(tags('economy'), calm)).fields).toEqual({
      field_tags: { und: [{ tid: '12', name: 'economy' }] },
    });
    expect((await terms.resolve(tags('economy'), { node })).fields).toEqual({
      field_tags: { und: [{ tid: '78', name: 'economy' }] },
    });
  });

  it('that others created meanwhile are found where a node holds a term that is not known', async () => {
    const { terms, asked } = askedOf(memory({ 'tags economy': '12', 'tags city': '4' }), { economy: ['12', '78'] });
    const both = { field_tags: { und: [{ tid: '4' }, { tid: '78' }] } };
    const { fields } = await terms.find(tags('city', 'economy'), calm, { node: both });
    expect(fields.field_tags).toMatchObject({ und: [{ tid: '4' }, { tid: '78' }] });
    await terms.find(tags('city', 'economy'), calm, { node: both });
    expect(asked).toEqual(['tags economy']);
  });

  it('that the portal no longer has are forgotten', async () => {
    const store = memory({ 'tags economy': '12' });
    const { fresh } = await askedOf(store, {}).terms.find(tags('economy'), calm, { node });
    expect(fresh.map(({ name }) => name)).toEqual(['economy']);
  });
});

it('ids of vocabularies are asked for before a name is created in them', async () => {
  const { terms } = askedOf(memory({ 'format csv': '3' }), { 'id of tags': ['4'], 'id of format': ['9'] });
  await terms.findVocabularies({ ...tags('new'), field_format: { und: [named('csv', 'format')] } }, calm);
  expect([terms.vocabularyId('tags'), terms.isProven('tags'), terms.vocabularyId('format')]).toEqual(['4', true, '1']);
});

it('all names are asked for where their ids are doubted', async () => {
  const store = memory({ 'tags economy': '12', 'tags city': '4', 'tags gone': '5' });
  const { terms } = askedOf(store, { economy: ['90'], city: ['4'] });
  const { fresh } = await terms.find(tags('economy', 'city', 'gone'), calm, { isDoubted: true });
  expect([store.known['tags economy'], store.known['tags city'], fresh.map(({ name }) => name)]).toEqual([
    '90',
    '4',
    ['gone'],
  ]);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SearchWish } from '../../../src/embedded-portal/datastore/query.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { type OpenDatastore, openDatastore, uniform } from './open-datastore.ts';

let d: OpenDatastore;

beforeAll(async () => {
  d = openDatastore(tempDir());
  await d.attach('1', 'name,age\nAnn,30\nBob,41\nCid,5\n');
  await d.attach('2', 'place,note\n"Adams County, NE",100%\nAdams County,a_b\nNE,"O\'Hara; DROP"\n');
});

afterAll(() => d.close());

const search = async (nid: string, wish: SearchWish) =>
  (await d.datastore.search({ nid, resourceUuid: '18560a1e-c7cf-4306-85fd-398721eb6eda', ...wish })).result;

const names = async (wish: SearchWish): Promise<unknown[]> => (await search('1', wish)).records.map(({ name }) => name);

const refusal = async (wish: SearchWish): Promise<{ status: number; message: string; details: { body: unknown } }> =>
  search('1', wish).then(
    () => expect.unreachable('the search was answered'),
    (error) => error,
  );

describe('a search answers as recorded', () => {
  it('with help, fields, limit, total and records in the order of the file', async () => {
    const answer = await d.datastore.search({ nid: '1', resourceUuid: '18560a1e-c7cf-4306-85fd-398721eb6eda' });
    expect(JSON.stringify(answer)).toBe(
      '{"help":"Search a datastore table. :param resource_id: id or alias of the data that is going to be selected.","success":true,"result":{"fields":[{"id":"name","type":"text"},{"id":"age","type":"text"},{"id":"entry_id","type":"serial"}],"resource_id":["18560a1e-c7cf-4306-85fd-398721eb6eda"],"limit":10,"total":3,"records":[{"name":"Ann","age":"30","entry_id":"1"},{"name":"Bob","age":"41","entry_id":"2"},{"name":"Cid","age":"5","entry_id":"3"}]}}',
    );
  });

  it.each([
    ['limit=1', { limit: '1' }, ['Ann'], 1, 3],
    ['limit=0 (all)', { limit: '0' }, ['Ann', 'Bob', 'Cid'], 0, 3],
    ['offset=1', { offset: '1' }, ['Bob', 'Cid'], 10, 3],
    ['limit=1&offset=1', { limit: '1', offset: '1' }, ['Bob'], 1, 3],
    ['an offset behind the end', { offset: '9' }, [], 10, 3],
    ['filters[name]=Ann', { filters: { name: 'Ann' } }, ['Ann'], 10, 1],
    ['filters[name]=Ann,Cid', { filters: { name: 'Ann,Cid' } }, ['Ann', 'Cid'], 10, 2],
    ['filters[name][]=…', { filters: { name: ['Bob', 'Cid'] } }, ['Bob', 'Cid'], 10, 2],
    ['two filters', { filters: { name: 'Ann,Cid', age: '5' } }, ['Cid'], 10, 1],
    ['filters[entry_id]=2', { filters: { entry_id: '2' } }, ['Bob'], 10, 1],
    ['query=Ann', { q: 'Ann' }, ['Ann'], 10, 1],
    ['two words', { q: 'bo 41' }, ['Bob'], 10, 1],
    ['sort[age]=desc (as text)', { sort: { age: 'desc' } }, ['Cid', 'Bob', 'Ann'], 10, 3],
    ['sort=age desc', { sort: 'age desc' }, ['Cid', 'Bob', 'Ann'], 10, 3],
    ['sort with limit and offset', { sort: { age: 'desc' }, limit: '1', offset: '1' }, ['Bob'], 1, 3],
  ])('%s', async (_, wish, found, limit, total) => {
    expect(await names(wish)).toEqual(found);
    expect(await search('1', wish)).toMatchObject({ limit, total });
  });

  it('of words as query, too', async () => {
    expect(await names({ query: 'bo 41' })).toEqual(['Bob']);
  });

  it('for groups of rows, with what is computed of each, and counts the groups', async () => {
    await d.attach('3', 'city,kind,amount\nOslo,tree,3\nBergen,tree,4.5\nOslo,bench,1\n');
    const all = { group_by: 'city', sum: 'amount', avg: ['amount'], min: 'kind', max: 'kind', count: 'kind,amount' };
    expect(await search('3', all)).toMatchObject({
      fields: [{ id: 'city', type: 'text' }],
      total: 2,
      records: [
        {
          city: 'Bergen',
          sum_amount: 4.5,
          avg_amount: 4.5,
          min_kind: 'tree',
          max_kind: 'tree',
          count_kind: 1,
          count_amount: 1,
        },
        {
          city: 'Oslo',
          sum_amount: 4,
          avg_amount: 2,
          min_kind: 'bench',
          max_kind: 'tree',
          count_kind: 2,
          count_amount: 2,
        },
      ],
    });
    const first = { ...all, sort: { sum_amount: 'asc' }, limit: '1', filters: { kind: 'tree' } };
    expect(await search('3', first)).toMatchObject({ total: 2, records: [{ city: 'Oslo', sum_amount: 3 }] });
    const both = { group_by: ['city', 'kind'], fields: 'kind', limit: '1', offset: '1' };
    expect(await search('3', both)).toMatchObject({ total: 3, records: [{ kind: 'bench' }] });
    expect((await search('3', both)).records).toEqual([{ kind: 'bench' }]);
  });

  it('for all rows at once where nothing is grouped, and counts the rows', async () => {
    const { total, records } = await search('1', { sum: 'age', count: 'name', filters: { name: 'Ann,Bob' } });
    expect([total, records]).toEqual([2, [{ sum_age: 71, count_name: 2 }]]);
    expect(await search('1', { max: 'name' })).toMatchObject({ total: 3, records: [{ max_name: 'Cid' }] });
  });

  it.each<[SearchWish, string]>([
    [{ group_by: 'bogus' }, 'group_by: there is no column bogus.'],
    [{ sum: 'bogus' }, 'sum: there is no column bogus.'],
    [{ group_by: 'name', fields: 'age' }, 'fields: there is no column age.'],
    [{ group_by: 'name', sort: { age: 'asc' } }, 'sort: there is no column age.'],
    [{ limit: '-1' }, 'limit must be a whole number.'],
    [{ filters: { bogus: '1' } }, 'filters: there is no column bogus.'],
  ])('%j is refused', async (wish, words) => {
    expect(await refusal(wish)).toMatchObject({ status: 400, message: words });
  });

  it.each([[['name']], ['name'], ['name,']])('fields=%j names the columns of the answer', async (fields) => {
    const { fields: shown, records } = await search('1', { fields });
    expect(shown).toEqual([{ id: 'name', type: 'text' }]);
    expect(records).toEqual([{ name: 'Ann' }, { name: 'Bob' }, { name: 'Cid' }]);
  });

  it('takes a value with a comma in it as one value too', async () => {
    const { records } = await search('2', { filters: { place: 'Adams County, NE' } });
    expect(records.map(({ place }) => place)).toContain('Adams County, NE');
  });

  it.each([
    ['100%', 1],
    ['a_b', 1],
    ['%', 1],
    ["O'Hara;", 1],
    ['\\', 0],
  ])('takes every character of a word as itself: %j', async (q, total) => {
    expect((await search('2', { q })).total).toBe(total);
  });
});

describe('a search that cannot be made is refused by name and holds no SQL', () => {
  it.each([
    ['limit=abc', { limit: 'abc' }, 'limit'],
    ['limit=-1', { limit: '-1' }, 'limit'],
    ['offset=1e9', { offset: '1e9' }, 'offset'],
    ['an unknown field', { fields: ['nope'] }, 'nope'],
    ['an unknown filter', { filters: { 'name" OR 1=1 --': 'x' } }, 'name'],
    ['filters that are no mapping', { filters: 'name' }, 'filters'],
    ['an object as value', { filters: { name: { gt: 1 } } }, 'filters'],
    ['an unknown column to sort by', { sort: { nope: 'asc' } }, 'nope'],
    ['a sort direction that is none', { sort: { name: 'asc; DROP TABLE data' } }, 'asc or desc'],
    ['too many words', { q: 'x '.repeat(21) }, 'words'],
  ])('%s', async (_, wish, word) => {
    const { status, message, details } = await refusal(wish);
    expect(status).toBe(400);
    expect(message).toContain(word);
    expect(details.body).toEqual({ sql: '', error: { message: `Caught exception: ${message}` } });
  });

  it('where nothing is imported', async () => {
    await expect(search('77', {})).rejects.toMatchObject({ status: 404 });
  });
});

describe('a search over a large table', () => {
  it('answers from the old table or the new one, while one replaces the other', async () => {
    await d.attach('3', uniform(60_000, 'old'));
    const filters = { a: 'old' };
    const [before, during] = await Promise.all([
      search('3', { filters, limit: '2', sort: { b: 'desc' } }),
      search('3', { q: 'old', limit: '1', offset: '59999' }),
      d.attach('3', uniform(10, 'new')),
    ]);
    const empty = { total: 0, records: [] };
    const first = { total: 60_000, records: [{ entry_id: '1' }, { entry_id: '2' }] };
    expect(before).toMatchObject(before.total === 0 ? empty : first);
    expect(during).toMatchObject(during.total === 0 ? empty : { total: 60_000, records: [{ entry_id: '60000' }] });
    expect(await search('3', { filters })).toMatchObject({ total: 0 });
    expect(d.tables()).toHaveLength(3);
  });

  it('refuses more records at once than one answer may hold', async () => {
    await d.attach('4', uniform(10_050, 'x'));
    const all = await search('4', { limit: '0' });
    expect(all).toMatchObject({ limit: 0, total: 10_050 });
    expect(all.records).toHaveLength(10_000);
    expect(await search('4', { limit: '20000' })).toMatchObject({ limit: 10_000 });
  });

  it('finds a word in a table of 1,500 columns', async () => {
    const columns = Array.from({ length: 1500 }, (_, i) => `c${i}`);
    await d.attach('5', `${columns.join(',')}\n${columns.map((c) => `v${c}`).join(',')}\n`);
    expect((await search('5', { q: 'vc1499' })).total).toBe(1);
    expect((await search('5', { q: 'nothing' })).total).toBe(0);
  });
});

describe('the first rows of a table that was just imported', () => {
  const text = `name,age,note\n${Array.from({ length: 25 }, (_, row) => `Ann ${row},${row},"ü, ""q""\n"`).join('\n')}\n`;
  const wishes: SearchWish[] = [
    {},
    { limit: '1' },
    { limit: '3', offset: '7' },
    { limit: '10', offset: '1' },
    { limit: '0' },
    { offset: '25' },
    { fields: 'age,entry_id', limit: '2' },
    { limit: '2', sort: 'age desc' },
    { limit: '2', filters: { age: '3' } },
  ];
  const answers = (from: OpenDatastore, nid: string) =>
    Promise.all(wishes.map((wish) => from.datastore.search({ nid, resourceUuid: 'u', ...wish })));

  it('are those of its file, whatever is requested', async () => {
    const dir = tempDir();
    const first = openDatastore(dir);
    await first.attach('1', text);
    await first.attach('2', 'a\n1\n\n');
    const [long, short] = [await answers(first, '1'), await first.rows('2')];
    await first.close();
    const again = openDatastore(dir);
    expect(long).toEqual(await answers(again, '1'));
    expect(short).toEqual(await again.rows('2'));
    await again.close();
  });

  it('are read from the file where they are long', async () => {
    const own = openDatastore(tempDir());
    await own.attach('1', uniform(12, 'x'.repeat(1500)));
    expect(await own.rows('1')).toHaveLength(12);
    expect((await own.datastore.search({ nid: '1', resourceUuid: 'u', limit: 2 })).result.records).toMatchObject([
      { a: 'x'.repeat(1500), entry_id: '1' },
      { b: 'x'.repeat(1500), entry_id: '2' },
    ]);
    await own.close();
  });
});

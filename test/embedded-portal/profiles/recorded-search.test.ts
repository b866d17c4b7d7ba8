// The datastore search of deployed portals: what the queries of public clients come to.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../../support/portal.ts';

interface Answer {
  sql?: string;
  success?: boolean;
  error?: { message: string };
  result?: { total: number; limit: number; fields: { id: string }[]; records: Record<string, string | null>[] };
}

const table = 'City,Kind,Amount\nOslo,tree,3\nbergen,tree,4.5\nOslo,bench,\nOslo,Tree,10\n';

let portal: TestPortal;
let admin: Caller;

const imported = async (content: string): Promise<string> => {
  const nid = await admin.create({ type: 'resource', title: 'Table' });
  await admin.attach(nid, { name: 'table.csv', content });
  await admin.send('POST', `/api/dataset/datastore/${nid}/import`);
  return String((await admin.read(nid)).uuid);
};

const searcher =
  (uuid: string, caller?: Caller) =>
  async (query = ''): Promise<Answer> =>
    (
      await (caller ?? portal.anonymous).send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&${query}`)
    ).json();

describe('a search of 7.18', () => {
  let search: (query?: string) => Promise<Answer>;

  beforeAll(async () => {
    portal = await startTestPortal({ profile: 'dkan-7.18' });
    admin = await portal.as('admin');
    search = searcher(await imported(table));
  });

  const records = async (query: string): Promise<Record<string, string | null>[]> =>
    (await search(query)).result?.records ?? [];

  it.each([
    ['filters[city][]=oslo&filters[city][]=Bergen', ['1', '2', '3', '4']],
    ['filters[city]=oslo,x', ['1', '3', '4']],
    ['filters[City]=Oslo&filters[kind]=TREE', ['1', '4']],
    ['filters[t][city]=Bergen', ['2']],
    ['query=REE', ['1', '2', '4']],
    ['sort[kind]=desc&sort[entry_id]=desc', ['4', '2', '1', '3']],
    ['sort[kind]=DESC', ['1', '2', '3', '4']],
    ['sort=kind', ['1', '2', '3', '4']],
    ['bogus=1', ['1', '2', '3', '4']],
  ])('%s finds the rows %j', async (query, ids) => {
    const { result } = await search(query);
    expect(result?.records.map(({ entry_id }) => entry_id)).toEqual(ids);
    expect(result?.total).toBe(ids.length);
  });

  it('computes for each group, and counts the groups', async () => {
    const query = 'fields[]=city&group_by=city&sum=amount&avg=amount&min=amount&max=kind&count[]=amount&count[]=kind';
    const { result } = await search(query);
    expect(result?.total).toBe(2);
    expect(result?.records).toEqual([
      {
        city: 'bergen',
        sum_amount: '4.5',
        avg_amount: '4.5',
        min_amount: '4.5',
        max_kind: 'tree',
        count_amount: '1',
        count_kind: '1',
      },
      {
        city: 'Oslo',
        sum_amount: '13',
        avg_amount: `${13 / 3}`,
        min_amount: '',
        max_kind: 'Tree',
        count_amount: '3',
        count_kind: '3',
      },
    ]);
    expect(result?.fields).toEqual([{ id: 'city', type: 'text' }]);
  });

  it('shows the columns of the first row of each group', async () => {
    expect(await records('group_by[]=city&group_by[]=kind&limit=1&offset=1')).toEqual([
      { city: 'Oslo', kind: 'bench', amount: '', entry_id: '3' },
    ]);
  });

  it('computes over all rows without a group, and counts these', async () => {
    const { result } = await search('sum[t]=amount&filters[city]=oslo');
    expect(result?.total).toBe(3);
    expect(result?.records).toEqual([{ city: 'Oslo', kind: 'tree', amount: '3', entry_id: '1', sum_amount: '13' }]);
  });

  it.each([
    ['filters[bogus]=1', "SQLSTATE[42S22]: Column not found: 1054 Unknown column 'bogus' in 'WHERE'"],
    ['fields[]=bogus', "SQLSTATE[42S22]: Column not found: 1054 Unknown column 't.bogus' in 'SELECT'"],
    ['sum=bogus', "SQLSTATE[42S22]: Column not found: 1054 Unknown column 'bogus' in 'SELECT'"],
    ['group_by=bogus', "SQLSTATE[42S22]: Column not found: 1054 Unknown column 't.bogus' in 'GROUP BY'"],
    ['sort[bogus]=asc', "SQLSTATE[42S22]: Column not found: 1054 Unknown column 't.bogus' in 'ORDER BY'"],
    ['limit=-1', "right syntax to use near '-1 OFFSET 0' at line 4"],
    ['offset=-1', "right syntax to use near '-1' at line 4"],
  ])('%s is an error in 200', async (query, words) => {
    const { error, result } = await search(query);
    expect([error?.message, result]).toEqual([expect.stringMatching(/^Caught exception: SQLSTATE/), undefined]);
    expect(error?.message).toContain(words);
  });

  it('tells the statement that failed', async () => {
    expect((await search("filters[bogus][]=a&filters[bogus][]=o'n&group_by=city&sum=amount&limit=0")).sql).toMatch(
      /^SELECT t\.\*, sum\(amount\) AS sum_amount\nFROM \n\{dkan_datastore_\d+\} t\nWHERE {2}\(bogus IN {2}\('a', 'o''n'\)\) \nGROUP BY t\.city\nLIMIT 100 OFFSET 0$/,
    );
  });

  it('tells where a resource has no file', async () => {
    const nid = await admin.create({ type: 'resource', title: 'Empty' });
    const { uuid } = await admin.read(nid);
    expect(await searcher(String(uuid))()).toEqual({
      sql: '',
      error: { message: `Caught exception: Node ${nid} doesn't have a proper file path.` },
    });
  });

  it('sends 100 rows at most, and for limit=0, but more to administrators', async () => {
    const uuid = await imported(`a\n${'x\n'.repeat(150)}`);
    const numbers = async (query: string, caller?: Caller): Promise<unknown[]> => {
      const { result } = await searcher(uuid, caller)(query);
      return [result?.limit, result?.total, result?.records.length];
    };
    expect(await numbers('limit=1')).toEqual([1, 150, 1]);
    expect(await numbers('limit=0')).toEqual([0, 150, 100]);
    expect(await numbers('limit=120', await portal.as('creator'))).toEqual([120, 150, 100]);
    expect(await numbers('limit=120', admin)).toEqual([120, 150, 120]);
    expect(await numbers('limit=0', admin)).toEqual([0, 150, 100]);
    expect(await numbers('limit=100&offset=140')).toEqual([100, 150, 10]);
  });
});

// Specification, sections 4.3 and 8: list nodes.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;
let admin: Caller;

type Row = Record<string, string>;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
  admin = await portal.as('admin');
  for (let number = 1; number <= 26; number += 1) {
    await admin.create({
      type: number % 2 === 1 ? 'dataset' : 'resource',
      title: `Node ${String(number).padStart(2, '0')}`,
      status: number === 5 || number === 6 ? 0 : 1,
      created: 1_600_000_000 + number,
      sticky: number === 3 ? 1 : 0,
      uuid: `00000000-0000-4000-8000-0000000000${String(number).padStart(2, '0')}`,
    });
  }
});

const list = async (query: string, caller: Caller = portal.anonymous): Promise<Row[]> => {
  const reply = await caller.send('GET', `/api/dataset/node?${query}`);
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.json<Row[]>();
};

const nids = async (query: string, caller?: Caller): Promise<string[]> =>
  (await list(query, caller)).map((row) => row.nid ?? '');

describe('List nodes', () => {
  it('is a list of node objects: rows hold what a read shows, and the uri', async () => {
    for (const nid of ['1', '2']) {
      const node = await portal.anonymous.read(nid);
      expect(await list(`parameters[nid]=${nid}`)).toEqual([{ ...node, uri: `${portal.url}/api/dataset/node/${nid}` }]);
    }
  });

  it('returns only the fields that were requested, any that a read shows', async () => {
    expect(await list('fields=title,nid&parameters[nid]=2')).toEqual([{ title: 'Node 02', nid: '2' }]);
    const uri = `${portal.url}/api/dataset/node/2`;
    expect(await list('fields=title,uri&parameters[nid]=2')).toEqual([{ title: 'Node 02', uri }]);
    for (const nid of ['1', '2']) {
      const node = await portal.anonymous.read(nid);
      for (const [name, value] of Object.entries(node)) {
        expect(await list(`fields=nid,${name}&parameters[nid]=${nid}`)).toEqual([{ nid, [name]: value }]);
      }
    }
  });

  it('leaves a field out where the type of a node has none', async () => {
    expect(await list('fields=nid,field_license,field_upload&parameters[nid]=1,2')).toEqual([
      { nid: '2', field_upload: [] },
      { nid: '1', field_license: { und: [expect.objectContaining({ value: 'notspecified' })] } },
    ]);
  });

  it('orders by sticky, then the newest first', async () => {
    expect((await nids('fields=nid')).slice(0, 4)).toEqual(['3', '26', '25', '24']);
  });

  it('has 20 records per page by default, pages counted from zero', async () => {
    expect(await nids('fields=nid')).toHaveLength(20);
    expect(await nids('fields=nid&page=1')).toEqual(['7', '4', '2', '1']);
    expect(await nids('fields=nid&page=2')).toEqual([]);
  });

  it('never has more than 20 records per page, whoever asks', async () => {
    expect(await nids('fields=nid&pagesize=100')).toHaveLength(20);
    expect(await nids('fields=nid&pagesize=100', creator)).toHaveLength(20);
    expect(await nids('fields=nid&pagesize=100', admin)).toHaveLength(20);
  });

  it('a page size of 0 is an empty list', async () => {
    expect(await list('pagesize=0')).toEqual([]);
  });

  it.each([
    ['parameters[type]=resource&parameters[status]=1&pagesize=2&fields=nid', ['26', '24']],
    ['parameters[vid]=7&fields=nid', ['7']],
    ['parameters[nid]=7,8&fields=nid', ['8', '7']],
    ['parameters%5Bnid%5D=7%2C8&fields=nid', ['8', '7']],
    ['parameters[title]=node+07&fields=nid', ['7']],
    [
      'parameters[uuid]=00000000-0000-4000-8000-000000000007,00000000-0000-4000-8000-000000000009&fields=nid',
      ['9', '7'],
    ],
    ['parameters[nid]=7abc&fields=nid', ['7']],
    ['parameters[nid]=7%20or%201=1&fields=nid', ['7']],
    ["parameters[title]=a'b&fields=nid", []],
    ['parameters[created]=1600000007&fields=nid', ['7']],
  ])('%s filters by equality', async (query, expected) => {
    expect(await nids(query)).toEqual(expected);
  });

  it('filters by several columns at once', async () => {
    expect(await nids('parameters[type]=dataset&parameters[nid]=7,8&fields=nid')).toEqual(['7']);
  });

  it.each([
    ['options[orderby][nid]=ASC&pagesize=3&fields=nid', ['1', '2', '3']],
    ['options[orderby][nid]=DESC&pagesize=1&fields=nid', ['26']],
    ['options[orderby][type]=ASC&options[orderby][title]=DESC&pagesize=2&fields=nid', ['25', '23']],
  ])('%s orders', async (query, expected) => {
    expect(await nids(query)).toEqual(expected);
  });

  it('hides what is not published, except from those who administer nodes', async () => {
    expect(await nids('parameters[nid]=5&fields=nid')).toEqual([]);
    expect(await nids('parameters[nid]=5&fields=nid', creator)).toEqual([]);
    expect(await nids('parameters[status]=0&fields=nid', admin)).toEqual(['6', '5']);
  });

  it.each([
    'fields=nid,bogus',
    'fields=field_bogus',
    'fields=',
    'fields[]=nid',
    'parameters[bogus]=1',
    'parameters[field_tags]=1',
    'parameters[nid][]=7',
    'options[orderby][bogus]=ASC',
    'page=-1',
    'pagesize=-1',
    'page[]=1',
    'page=abc',
    'pagesize=',
    'pagesize=abc',
    'type=resource',
    'parameters=type',
  ])('%s is refused with 406 and a reason that shows no SQL', async (query) => {
    const reply = await portal.anonymous.send('GET', `/api/dataset/node?${query}`);
    expect(reply.status).toBe(406);
    expect(reply.json<string[]>()[0]).toMatch(/^Invalid query provided/);
    expect(reply.text).not.toMatch(/SQLSTATE|SELECT n\.|sqlite/i);
  });

  it('takes a filter that is written parameter[…], as one example has it', async () => {
    expect(await nids('parameter[type]=resource&fields=nid&pagesize=2')).toEqual(['26', '24']);
  });
});

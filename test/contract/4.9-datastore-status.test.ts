// Specification, sections 4.9 and 2.7: datastore status; and configuration and search beside it.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';
import { anyFormat, createTable, datastorePath as path } from './support/table-resource.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

describe('Datastore status', () => {
  it('is YAML text, not JSON, with the keys of 2.7', async () => {
    const { nid } = await createTable(creator);
    const reply = await creator.send('GET', path(nid), anyFormat);
    expect(reply.headers['content-type']).toBe('text/yaml;charset=UTF-8');
    expect(reply.text.replaceAll(/["']/g, '')).toMatch(
      /^---\nclass: .+\nstorage: 1\ndata_import: 2\nconfigurable_properties:\n {4}delimiter: .+\n {4}quote: .*\n {4}escape: .+\n {4}trailing_delimiter: false\n/,
    );
  });

  it.each(['', '*/*', 'application/json', 'application/xml', 'text/html', 'image/png', 'odd'])(
    'is YAML for Accept "%s"',
    async (accept) => {
      const { nid } = await createTable(creator);
      const reply = await creator.send('GET', path(nid), { headers: { accept } });
      expect([reply.status, reply.headers['content-type']]).toEqual([200, 'text/yaml;charset=UTF-8']);
      expect(reply.text).toMatch(/^---\nclass:/);
    },
  );

  it('has the format of a suffix in the path', async () => {
    const { nid } = await createTable(creator);
    expect((await creator.send('GET', path(nid, '.json'))).json()).toEqual({
      class: expect.any(String),
      storage: 1,
      data_import: 2,
      configurable_properties: { delimiter: ',', quote: '"', escape: '\\', trailing_delimiter: false },
    });
    expect((await creator.send('GET', path(nid, '.xml'))).text).toContain('<storage>1</storage>');
  });

  it('exists only for resources with a CSV or TSV file', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'No datastore' });
    const { nid } = await createTable(creator, { name: 'doc.pdf', content: '%PDF' });
    for (const id of [dataset, nid]) {
      const reply = await creator.send('GET', path(id));
      expect([reply.status, reply.json()]).toEqual([403, ['Access denied for user creator']]);
    }
    expect((await creator.send('GET', path('9999'))).json()).toEqual(['Node 9999 could not be found']);
  });

  it('is for those who manage datastores and may edit the node', async () => {
    const { nid } = await createTable(creator);
    expect((await portal.anonymous.send('GET', path(nid))).status).toBe(403);
    for (const name of ['plain', 'creator2'])
      expect((await (await portal.as(name)).send('GET', path(nid))).status).toBe(403);
    for (const name of ['editor', 'manager', 'administrator', 'admin']) {
      expect((await (await portal.as(name)).send('GET', path(nid))).status).toBe(200);
    }
  });
});

describe('Datastore configuration', () => {
  it('is changed by PUT and used by the next import', async () => {
    const { nid, uuid } = await createTable(creator, { name: 'semi.csv', content: 'a;b\n1;2\n' });
    const body = { manager: '', configuration: { delimiter: ';' } };
    expect((await creator.send('PUT', path(nid), { body })).status).toBe(200);
    expect((await creator.send('GET', path(nid, '.json'))).json()).toMatchObject({
      data_import: 3,
      configurable_properties: { delimiter: ';' },
    });
    await creator.send('POST', path(nid, '/import'));
    const search = await portal.anonymous.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
    expect(search.json()).toMatchObject({ result: { records: [{ a: '1', b: '2', entry_id: '1' }] } });
  });

  it('cannot change the manager', async () => {
    const { nid } = await createTable(creator);
    expect((await creator.send('PUT', path(nid), { body: { manager: 'simple' } })).status).toBe(406);
  });
});

describe('Datastore search', () => {
  const search = async (query: string): Promise<Record<string, unknown>> =>
    (await portal.anonymous.send('GET', `/api/action/datastore/search.json?${query}`)).json();

  it('shows rows by resource_id, limit and offset, and the total', async () => {
    const { uuid } = await createTable(creator);
    expect(await search(`resource_id=${uuid}&limit=2&offset=1`)).toMatchObject({
      success: true,
      result: {
        resource_id: [uuid],
        limit: 2,
        total: 3,
        records: [
          { name: 'Bob', age: '41' },
          { name: 'Cid', age: '5' },
        ],
      },
    });
  });

  it('filters', async () => {
    const { uuid } = await createTable(creator);
    expect(await search(`resource_id=${uuid}&filters[name]=Ann`)).toMatchObject({ result: { total: 1 } });
  });

  it('tells what is wrong in the shape of such errors', async () => {
    expect(await search('')).toEqual({
      sql: '',
      error: { message: 'Caught exception: The resource_id is a required parameter.' },
    });
    expect(await search('resource_id=bogus')).toMatchObject({
      error: { message: 'Caught exception: uuid bogus not found.' },
    });
  });

  it('groups rows and computes, and refuses what it does not know', async () => {
    const { uuid } = await createTable(creator);
    expect(await search(`resource_id=${uuid}&filters[name][]=Ann&filters[name][]=Bob&sum=age`)).toMatchObject({
      result: { total: 2, records: [{ sum_age: 71 }] },
    });
    expect(await search(`resource_id=${uuid}&group_by=name&limit=1&_=17`)).toMatchObject({
      result: { total: 3, records: [{ name: 'Ann' }] },
    });
    expect(await search(`resource_id=${uuid}&distinct=true`)).toMatchObject({
      error: { message: 'Caught exception: There is no parameter distinct.' },
    });
  });

  it('shows nothing of a resource that the caller may not read', async () => {
    const { nid, uuid } = await createTable(creator);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { status: 0 } });
    expect(await search(`resource_id=${uuid}`)).toMatchObject({ error: {} });
    const own = await creator.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
    expect(own.json()).toMatchObject({ result: { total: 3 } });
  });
});

// What deployed portals tell beside the service: package_show and its kin, data.json, several searches in one body; and
// where the terms go that are made on the way.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../../support/portal.ts';

let portal: TestPortal;
let user: Caller;

beforeAll(async () => {
  portal = await startTestPortal({ profile: 'dkan-7.18', races: false });
  user = await portal.as('admin');
});

const tag = (name: string, vid?: string) => ({
  tid: 'autocreate',
  name,
  vocabulary_machine_name: 'tags',
  ...(vid === undefined ? {} : { vid }),
});

const datasetWith = async (und: object[]): Promise<Record<string, unknown>> =>
  user.read(await user.create({ type: 'dataset', title: 'Budget', uid: '1', field_tags: { und } }));

const get = async (path: string): Promise<unknown> => (await portal.anonymous.send('GET', path)).json<unknown>();

const tagsOf = async (uuid: unknown): Promise<unknown> => {
  const { result } = (await get(`/api/3/action/package_show?id=${uuid}`)) as { result: [{ tags: unknown }] };
  return result[0].tags;
};

describe('terms of 7.18', () => {
  it('go into the vocabulary of the number that is sent, whatever its name', async () => {
    const right = await datasetWith([tag('harbour', '2')]);
    const wrong = await datasetWith([tag('quay', '4')]);
    const none = await datasetWith([tag('pier')]);
    expect(await tagsOf(right.uuid)).toMatchObject([{ vocabulary_id: '2', name: 'harbour' }]);
    expect(await tagsOf(wrong.uuid)).toMatchObject([{ vocabulary_id: '4', name: 'quay' }]);
    expect(await tagsOf(none.uuid)).toMatchObject([{ vocabulary_id: '0', name: 'pier' }]);
    const { dataset } = (await get('/data.json')) as { dataset: { identifier: string; keyword: string[] }[] };
    const keywords = [right, wrong, none].map(({ uuid }) => dataset.find((one) => one.identifier === uuid)?.keyword);
    expect(keywords).toEqual([['harbour'], [''], ['']]);
  });

  it('are recreated for a name that exists, and kept for a number that does', async () => {
    const tidOf = (node: Record<string, unknown>): unknown =>
      (node.field_tags as { und: [{ tid: string }] }).und[0].tid;
    const once = tidOf(await datasetWith([tag('again', '2')]));
    expect(tidOf(await datasetWith([tag('again', '2')]))).not.toBe(once);
    expect(tidOf(await datasetWith([{ tid: once }]))).toBe(once);
  });
});

describe('the catalogue of 7.18', () => {
  it('shows a dataset with its resources', async () => {
    const nid = await user.create({ type: 'resource', title: 'Table', uid: '1' });
    await user.attach(nid, { name: 'table.csv', content: 'a\n1\n' });
    const field_resources = { und: [{ target_id: nid }] };
    const { uuid } = await user.read(await user.create({ type: 'dataset', title: 'Harbour table', field_resources }));
    expect(await get(`/api/3/action/package_show?id=${uuid}`)).toMatchObject({
      success: true,
      result: [
        { id: uuid, name: 'harbour-table', resources: [{ name: 'Table', mimetype: 'text/csv', size: '4 bytes' }] },
      ],
    });
    expect(await get('/api/3/action/package_list')).toMatchObject({
      result: expect.arrayContaining(['harbour-table']),
    });
  });

  it('answers 404 for a dataset that is not there, 400 without an id', async () => {
    const unknown = await portal.anonymous.send('GET', '/api/3/action/package_show?id=nope');
    expect([unknown.status, unknown.json()]).toMatchObject([404, { result: [{ __type: 'Query Error' }] }]);
    expect((await portal.anonymous.send('GET', '/api/3/action/package_show')).status).toBe(400);
    expect((await portal.anonymous.send('GET', '/api/3/action/tag_list')).status).toBe(404);
  });

  it('is made once for each state of the store, under the address that each client uses', async () => {
    const uuid = (await user.read(await user.create({ type: 'dataset', title: 'Before' }))).uuid;
    const lists = ['/data.json', '/api/3/action/current_package_list_with_resources'];
    const read = async (path: string, headers = {}) => (await portal.anonymous.send('GET', path, { headers })).text;
    const before = await Promise.all(lists.map((path) => read(path)));
    const db = new DatabaseSync(join(portal.server.dataDir, 'portal.db'));
    db.exec(`UPDATE revision SET title = 'Behind' WHERE title = 'Before'`); // not by the portal
    db.close();
    expect(await Promise.all(lists.map((path) => read(path)))).toEqual(before);
    const otherwise = await read('/data.json', { host: 'localhost:81' });
    expect(otherwise).toBe(before[0]?.replaceAll(new URL(portal.url).host, 'localhost:81'));
    expect(otherwise).toContain(String.raw`http:\/\/localhost:81\/dataset\/before`);
    await user.create({ type: 'dataset', title: 'After' });
    for (const path of lists) expect(await read(path)).toMatch(/Behind[\s\S]*After/);
    expect(await read(`/api/3/action/package_show?id=${uuid}`)).toContain('Behind');
  });

  it('lists groups', async () => {
    await user.create({ type: 'group', title: 'City Hall' });
    expect(await get('/api/3/action/group_list')).toMatchObject({ success: true, result: ['city-hall'] });
  });
});

it('7.18.16 sends to the first page who names none', async () => {
  const last = await startTestPortal({ profile: 'dkan-7.18.16' });
  const ask = (path: string) => last.anonymous.send('GET', path);
  const moved = await ask('/api/3/action/package_show?id=nope');
  expect([moved.status, moved.headers.location]).toEqual([302, `${last.url}/api/3/action/package_show?id=nope&page=0`]);
  expect((await ask('/data.json')).headers.location).toBe(`${last.url}/data.json?page=0`);
  expect((await ask('/data.json?page=0')).json()).toMatchObject({ '@type': 'dcat:Catalog', dataset: [] });
  expect((await ask('/api/3/action/package_show?id=nope&page=0')).status).toBe(404);
});

describe('several searches in one body', () => {
  const searches = async (body: object): Promise<unknown> => {
    const reply = await portal.anonymous.send('POST', '/api/action/datastore/search.json', { body });
    expect(reply.status).toBe(200);
    return reply.json<unknown>();
  };

  it('are answered by name, and the answer to the same body is kept', async () => {
    const nid = await user.create({ type: 'resource', title: 'Rows', uid: '1' });
    await user.attach(nid, { name: 'rows.csv', content: 'a\n1\n2\n' });
    await user.send('POST', `/api/dataset/datastore/${nid}/import`, { body: {} });
    const { uuid } = await user.read(nid);
    const body = { one: { resource_id: uuid, limit: 1 }, two: { resource_id: '00000000-0000-4000-8000-000000000000' } };
    const answer = await searches(body);
    expect(answer).toMatchObject({
      one: { result: { total: 2, records: [{ a: '1' }] } },
      two: { error: { message: expect.stringContaining('not found') } },
    });
    await user.send('DELETE', `/api/dataset/datastore/${nid}`, { body: {} });
    expect(await searches(body)).toEqual(answer);
    expect(await searches({ ...body, one: { resource_id: uuid, limit: 2 } })).toMatchObject({ one: { error: {} } });
  });

  it('that are none answer null', async () => {
    expect(await searches({})).toBeNull();
  });
});

it('a search of 7.14 ends in an error page', async () => {
  const form = await startTestPortal({ profile: 'dkan-7.14' });
  const reply = await form.anonymous.send('GET', '/api/action/datastore/search.json?resource_id=x');
  expect([reply.status, reply.text.startsWith('<!DOCTYPE html')]).toEqual([500, true]);
});

it('7.18.16 writes XML without what has a name', async () => {
  const last = await startTestPortal({ profile: 'dkan-7.18.16' });
  const admin = await last.as('admin');
  const nid = await admin.create({ type: 'dataset', title: 'x' });
  const text = async (path: string): Promise<string> => (await admin.send('GET', `/api/dataset/${path}`)).text;
  const head = '<?xml version="1.0" encoding="utf-8"?>\n';
  expect(await text(`node/${nid}.xml`)).toBe(`${head}<result is_array="true"/>\n`);
  expect(await text('node.xml')).toBe(`${head}<result is_array="true"><item is_array="true"/></result>\n`);
  expect(await text('node/9999.xml')).toBe(`${head}<result>Node 9999 could not be found</result>\n`);
});

it('7.18 stores the numbers of a geometry as PHP writes them', async () => {
  const wkt = 'POLYGON((13.0 52.50,13.10 52.5, 13 52, 13.0 52.50))';
  const nid = await user.create({ type: 'dataset', title: 'Area', field_spatial: { und: [{ wkt }] } });
  expect((await user.read(nid)).field_spatial).toMatchObject({
    und: [{ wkt: 'POLYGON ((13 52.5, 13.1 52.5, 13 52, 13 52.5))' }],
  });
});

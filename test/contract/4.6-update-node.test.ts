// Specification, sections 4.6 and 9: update a node.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const put = (nid: string, body: unknown, caller: Caller = creator): Promise<Reply> =>
  caller.send('PUT', `/api/dataset/node/${nid}`, { body });

const newDataset = (fields: Record<string, unknown> = {}): Promise<string> =>
  creator.create({ type: 'dataset', title: 'Before', ...fields });

describe('Update a node', () => {
  it('changes only what is sent and answers nid and uri', async () => {
    const nid = await newDataset({ field_author: { und: [{ value: 'Ann' }] }, log: 'first' });
    const before = await creator.read(nid);
    const reply = await put(nid, { title: 'After' });
    expect([reply.status, reply.json()]).toEqual([200, { nid, uri: `${portal.url}/api/dataset/node/${nid}` }]);
    const after = await creator.read(nid);
    expect(after).toMatchObject({
      title: 'After',
      field_author: before.field_author,
      uuid: before.uuid,
      created: before.created,
    });
    expect(after.path).toBe(`${portal.url}/dataset/after`);
  });

  it('makes a revision every time, also when nothing changes', async () => {
    const nid = await newDataset({ log: 'first' });
    const before = await creator.read(nid);
    for (const body of [{ title: 'Before' }, {}, { log: 'second' }]) await put(nid, body);
    const after = await creator.read(nid);
    expect(Number(after.vid)).toBeGreaterThanOrEqual(Number(before.vid) + 3);
    expect(after.vuuid).not.toBe(before.vuuid);
    expect(after.log).toBe('second');
  });

  it('notes who made the revision and leaves the author alone', async () => {
    const nid = await newDataset();
    await put(nid, { title: 'Edited' }, await portal.as('editor'));
    expect(await creator.read(nid)).toMatchObject({ uid: '3', revision_uid: '5' });
  });

  it.each([
    ['field_frequency', { und: { value: 'R/P1D' } }, { und: [{ value: 'R/P1D' }] }],
    [
      'field_license',
      { und: { select: { value: 'odc-by' } } },
      { und: [{ value: 'odc-by', format: null, safe_value: 'odc-by' }] },
    ],
    ['field_author', { und: [{ value: 'Bob' }] }, { und: [{ value: 'Bob', format: null, safe_value: 'Bob' }] }],
    ['field_author', [], []],
  ])('replaces %s sent as %j', async (name, value, expected) => {
    const nid = await newDataset({ field_author: { und: [{ value: 'Ann' }] } });
    await put(nid, { [name]: value });
    expect((await creator.read(nid))[name]).toEqual(expected);
  });

  it('takes the file off the resource with an empty field_upload, and its datastore goes too', async () => {
    const nid = await creator.create({ type: 'resource', title: 'Emptied' });
    await creator.attach(nid, { name: 'off.csv', content: 'a\n1\n' });
    expect((await put(nid, { field_upload: [] })).status).toBe(200);
    expect(await creator.read(nid)).toMatchObject({
      field_upload: [],
      field_datastore_status: { und: [{ value: '0' }] },
    });
    expect((await creator.send('GET', `/api/dataset/datastore/${nid}`)).status).toBe(403);
    expect((await portal.anonymous.send('GET', '/sites/default/files/off.csv')).status).toBe(404);
  });

  it('puts a file that exists on another resource by its fid, and imports it there', async () => {
    const first = await creator.create({ type: 'resource', title: 'First' });
    const { fid } = (await creator.attach(first, { name: 'shared.csv', content: 'a\n1\n' })).json<{ fid: string }>();
    const second = await creator.create({ type: 'resource', title: 'Second', field_upload: { und: [{ fid }] } });
    expect((await creator.send('GET', `/api/dataset/datastore/${second}.json`)).json()).toMatchObject({ storage: 1 });
    await creator.send('DELETE', `/api/dataset/node/${first}`);
    expect((await portal.anonymous.send('GET', '/sites/default/files/shared.csv')).text).toBe('a\n1\n');
  });

  it('accepts a node as it was read', async () => {
    const nid = await newDataset({ body: { und: [{ value: 'text' }] }, field_tags: { und: [{ name: 'kept' }] } });
    const before = await creator.read(nid);
    expect((await put(nid, before)).status).toBe(200);
    const after = await creator.read(nid);
    for (const name of ['title', 'uuid', 'created', 'uid', 'body', 'field_tags', 'field_license', 'path']) {
      expect(after[name]).toEqual(before[name]);
    }
  });

  it('attaches existing resources through the field_resources of the dataset', async () => {
    const one = await creator.create({ type: 'resource', title: 'One' });
    const two = await creator.create({ type: 'resource', title: 'Two' });
    const nid = await newDataset();
    await put(nid, { field_resources: { und: [{ target_id: `One (${one})` }, { target_id: two }] } });
    expect((await creator.read(nid)).field_resources).toEqual({ und: [{ target_id: one }, { target_id: two }] });
    expect((await creator.read(two)).field_dataset_ref).toEqual({ und: [{ target_id: nid }] });
    await put(nid, { field_resources: { und: [{ target_id: two }] } });
    expect((await creator.read(one)).field_dataset_ref).toEqual([]);
    expect((await creator.read(two)).field_dataset_ref).toEqual({ und: [{ target_id: nid }] });
  });

  it('keeps references in step from the side of the resource, without a revision of the dataset', async () => {
    const first = await newDataset();
    const second = await newDataset();
    const nid = await creator.create({
      type: 'resource',
      title: 'Moves',
      field_dataset_ref: { und: [{ target_id: first }] },
    });
    const before = await creator.read(first);
    await put(nid, { field_dataset_ref: { und: [{ target_id: second }] } });
    expect(await creator.read(first)).toMatchObject({ field_resources: [], vid: before.vid });
    expect((await creator.read(second)).field_resources).toEqual({ und: [{ target_id: nid }] });
    await put(nid, { field_dataset_ref: [] });
    expect((await creator.read(second)).field_resources).toEqual([]);
  });

  it('refuses another nid, uuid or type in the body, and changes neither node', async () => {
    const nid = await newDataset();
    const other = await newDataset({ title: 'Other' });
    const before = await creator.read(nid);
    for (const body of [
      { nid: other, title: 'x' },
      { uuid: '99999999-2222-4333-8444-555555555555', title: 'x' },
      { type: 'resource', title: 'x' },
    ]) {
      expect((await put(nid, body)).status).toBe(406);
    }
    expect(await creator.read(nid)).toEqual(before);
    expect((await creator.read(other)).title).toBe('Other');
    expect((await put(nid, { type: 'resource' })).json()).toEqual(['Node type cannot be changed']);
  });

  it('publishes and unpublishes', async () => {
    const nid = await newDataset();
    await put(nid, { status: 0 });
    expect((await portal.anonymous.send('GET', `/api/dataset/node/${nid}`)).status).toBe(403);
    await put(nid, { status: '1' });
    expect((await portal.anonymous.send('GET', `/api/dataset/node/${nid}`)).status).toBe(200);
  });

  it('takes form-encoded and multipart bodies too', async () => {
    const nid = await newDataset();
    const body = 'title=By+form&field_author[und][0][value]=Ann';
    await creator.send('PUT', `/api/dataset/node/${nid}`, {
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(await creator.read(nid)).toMatchObject({ title: 'By form', field_author: { und: [{ value: 'Ann' }] } });
  });

  it('is open to owners, editors, site managers and administrators only', async () => {
    const nid = await newDataset();
    for (const name of ['editor', 'manager', 'administrator', 'admin', 'creator']) {
      expect((await put(nid, { title: name }, await portal.as(name))).status).toBe(200);
    }
    for (const name of ['creator2', 'plain']) {
      expect((await put(nid, { title: name }, await portal.as(name))).json()).toEqual([
        `Access denied for user ${name}`,
      ]);
    }
  });

  it('of a node that does not exist is 404', async () => {
    expect((await put('9999', { title: 'x' })).json()).toEqual(['Node 9999 could not be found']);
  });

  it('refuses a body that is not what its type says, and changes nothing', async () => {
    const nid = await newDataset();
    const reply = await creator.send('PUT', `/api/dataset/node/${nid}`, {
      body: '{"title":',
      headers: { 'content-type': 'application/json' },
    });
    expect(reply.status).toBe(400);
    expect((await creator.read(nid)).title).toBe('Before');
  });
});
